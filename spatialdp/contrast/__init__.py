"""Why not just k-anonymise a map? Syntactic methods, their attacks, and the same attacks on private releases."""

from spatialdp.contrast.checks import Checks, Closeness, Distinct, Entropy, Folk, Recursive
from spatialdp.contrast.groups import BoxLocator, Groups
from spatialdp.contrast.identifiers import QuasiIdentifiers, Secrets
from spatialdp.contrast.mondrian import Mondrian
from spatialdp.contrast.taxonomies import Taxonomy
