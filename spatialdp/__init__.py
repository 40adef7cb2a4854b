"""Publish spatial data under differential privacy.

import spatialdp as sdp

domain = sdp.Domain(bounds=(xmin, ymin, xmax, ymax), crs="EPSG:4326")
release = sdp.Flat(shape=(256, 256)).release(points, domain, epsilon=1)
release.answer(boxes)
"""

from spatialdp import datasets
from spatialdp._version import __version__
from spatialdp.domain import Domain, Grid
from spatialdp.errors import SpatialDPError
from spatialdp.files import load
from spatialdp.mechanisms import Flat, Fourier, Hierarchy, KdTree, Quadtree, Tailored, Wavelet
from spatialdp.planning import epsilon_for, recommend
from spatialdp.points import Points
from spatialdp.privacy.budget import Budget
from spatialdp.privacy.noise import SeededNoise, SystemNoise
from spatialdp.privacy.statement import Privacy
from spatialdp.release import Release

__all__ = [
    "Budget",
    "Domain",
    "Flat",
    "Fourier",
    "Grid",
    "Hierarchy",
    "KdTree",
    "Points",
    "Privacy",
    "Quadtree",
    "Release",
    "SeededNoise",
    "SpatialDPError",
    "SystemNoise",
    "Tailored",
    "Wavelet",
    "__version__",
    "datasets",
    "epsilon_for",
    "load",
    "recommend",
]
