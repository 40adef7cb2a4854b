"""Why not just k-anonymise a map? Syntactic methods, their attacks, and the same attacks on private releases."""

from spatialdp.contrast.attacks.boxes import Homogeneity, PrintedCoordinates, homogeneity, printed_coordinates
from spatialdp.contrast.attacks.intersection import Intersection, advantage, coincidence, intersection, people_in_both
from spatialdp.contrast.attacks.minimality import Minimality, minimality
from spatialdp.contrast.attacks.noisy import Bounds, bounds, guesses_from_counts, known_others
from spatialdp.contrast.checks import Checks, Closeness, Distinct, Entropy, Folk, Recursive, smallest_recursive
from spatialdp.contrast.comparison import Comparison, compare
from spatialdp.contrast.figures import plot_attack, plot_boxes, plot_maps
from spatialdp.contrast.groups import BoxLocator, Groups
from spatialdp.contrast.identifiers import QuasiIdentifiers, Secrets
from spatialdp.contrast.incognito import Lattice, incognito
from spatialdp.contrast.mark import NOTE, NotPrivate
from spatialdp.contrast.mondrian import Mondrian
from spatialdp.contrast.taxonomies import Taxonomy

__all__ = [
    "NOTE",
    "Bounds",
    "BoxLocator",
    "Checks",
    "Closeness",
    "Comparison",
    "Distinct",
    "Entropy",
    "Folk",
    "Groups",
    "Homogeneity",
    "Intersection",
    "Lattice",
    "Minimality",
    "Mondrian",
    "NotPrivate",
    "PrintedCoordinates",
    "QuasiIdentifiers",
    "Recursive",
    "Secrets",
    "Taxonomy",
    "advantage",
    "bounds",
    "coincidence",
    "compare",
    "guesses_from_counts",
    "homogeneity",
    "incognito",
    "intersection",
    "known_others",
    "minimality",
    "people_in_both",
    "plot_attack",
    "plot_boxes",
    "plot_maps",
    "printed_coordinates",
    "smallest_recursive",
]
