"""Mechanisms, one file each, and the registry that the command line and the evaluator read."""

from spatialdp.mechanisms.base import Mechanism, Plan
from spatialdp.mechanisms.flat import Flat
from spatialdp.mechanisms.fourier import Fourier
from spatialdp.mechanisms.hierarchy import Hierarchy
from spatialdp.mechanisms.kdtree import KdTree
from spatialdp.mechanisms.quadtree import Quadtree
from spatialdp.mechanisms.tailored import Tailored
from spatialdp.mechanisms.uniform import Uniform
from spatialdp.mechanisms.wavelet import Wavelet

__all__ = [
    "MECHANISMS",
    "Flat",
    "Fourier",
    "Hierarchy",
    "KdTree",
    "Mechanism",
    "Plan",
    "Quadtree",
    "Tailored",
    "Uniform",
    "Wavelet",
]

MECHANISMS: dict[str, type[Mechanism]] = {
    mechanism.name: mechanism for mechanism in (Flat, Quadtree, KdTree, Hierarchy, Wavelet, Fourier, Tailored, Uniform)
}
