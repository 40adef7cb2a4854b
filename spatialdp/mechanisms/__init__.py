"""Mechanisms, the only way from records to a release; the command line and the evaluator read `MECHANISMS`."""

from spatialdp.mechanisms.adaptive.adaptive_tree import Adaptive
from spatialdp.mechanisms.adaptive.flows import Flows
from spatialdp.mechanisms.adaptive.kdtree import KdTree
from spatialdp.mechanisms.adaptive.networks.privbayes import PrivBayes
from spatialdp.mechanisms.adaptive.sparse import Sparse
from spatialdp.mechanisms.adaptive.trajectories import Trajectories
from spatialdp.mechanisms.base import Mechanism, Plan
from spatialdp.mechanisms.combined.sparse_map import SparseMap
from spatialdp.mechanisms.fixed.flat import Flat
from spatialdp.mechanisms.fixed.fourier import Fourier
from spatialdp.mechanisms.fixed.hierarchy import Hierarchy
from spatialdp.mechanisms.fixed.quadtree import Quadtree
from spatialdp.mechanisms.fixed.table import Table
from spatialdp.mechanisms.fixed.tailored import Tailored
from spatialdp.mechanisms.fixed.uniform import Uniform
from spatialdp.mechanisms.fixed.wavelet import Wavelet
from spatialdp.mechanisms.fixed.zonetree import ZoneTree
from spatialdp.mechanisms.prepared import PreparedRelease

__all__ = [
    "LISTS",
    "MECHANISMS",
    "ON_OTHER_FRAMES",
    "Adaptive",
    "Flat",
    "Flows",
    "Fourier",
    "Hierarchy",
    "KdTree",
    "Mechanism",
    "Plan",
    "PreparedRelease",
    "PrivBayes",
    "Quadtree",
    "Sparse",
    "SparseMap",
    "Table",
    "Tailored",
    "Trajectories",
    "Uniform",
    "Wavelet",
    "ZoneTree",
]

MECHANISMS: dict[str, type[Mechanism]] = {
    mechanism.name: mechanism
    for mechanism in (Adaptive, Flat, Quadtree, KdTree, Hierarchy, Wavelet, Fourier, Tailored, Uniform)
}

# Mechanisms that publish a list of few places, alone or over a map: most comparisons of maps do not apply to them.
LISTS: dict[str, type[Mechanism]] = {mechanism.name: mechanism for mechanism in (Sparse, SparseMap)}

# Mechanisms whose public frame is not a domain; they are asked for in other words, such as `--zones`.
ON_OTHER_FRAMES: dict[str, type[Mechanism]] = {mechanism.name: mechanism for mechanism in (ZoneTree, Table, PrivBayes)}

# Mechanisms whose records have two places; the command line releases them with a command of their own.
BETWEEN_PLACES: dict[str, type[Mechanism]] = {Flows.name: Flows}
