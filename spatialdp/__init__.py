"""Publish spatial data under differential privacy.

    import spatialdp as sdp

    domain = sdp.Domain(bounds=(xmin, ymin, xmax, ymax), crs="EPSG:4326")
    release = sdp.Quadtree(height=8).release(points, domain, epsilon=1)
    release.answer(boxes)

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from spatialdp._version import __version__

if TYPE_CHECKING:  # the same names as in _HOMES, for type checkers and editors
    from spatialdp import datasets as datasets
    from spatialdp.domain import Domain as Domain
    from spatialdp.domain import Grid as Grid
    from spatialdp.errors import SpatialDPError as SpatialDPError
    from spatialdp.files import load as load
    from spatialdp.mechanisms import Flat as Flat
    from spatialdp.mechanisms import Fourier as Fourier
    from spatialdp.mechanisms import Hierarchy as Hierarchy
    from spatialdp.mechanisms import KdTree as KdTree
    from spatialdp.mechanisms import Quadtree as Quadtree
    from spatialdp.mechanisms import Tailored as Tailored
    from spatialdp.mechanisms import Wavelet as Wavelet
    from spatialdp.planning import epsilon_for as epsilon_for
    from spatialdp.planning import recommend as recommend
    from spatialdp.points import Points as Points
    from spatialdp.points import read_points as read_points
    from spatialdp.privacy.budget import Budget as Budget
    from spatialdp.privacy.noise import SeededNoise as SeededNoise
    from spatialdp.privacy.noise import SystemNoise as SystemNoise
    from spatialdp.privacy.statement import Privacy as Privacy
    from spatialdp.release import Release as Release

_HOMES = {
    "Budget": "privacy.budget",
    "Domain": "domain",
    "Flat": "mechanisms",
    "Fourier": "mechanisms",
    "Grid": "domain",
    "Hierarchy": "mechanisms",
    "KdTree": "mechanisms",
    "Points": "points",
    "Privacy": "privacy.statement",
    "Quadtree": "mechanisms",
    "Release": "release",
    "SeededNoise": "privacy.noise",
    "SpatialDPError": "errors",
    "SystemNoise": "privacy.noise",
    "Tailored": "mechanisms",
    "Wavelet": "mechanisms",
    "datasets": "datasets",
    "epsilon_for": "planning",
    "load": "files",
    "read_points": "points",
    "recommend": "planning",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'spatialdp' has no attribute {name!r}")
    home = import_module(f"spatialdp.{_HOMES[name]}")
    value = home if name == "datasets" else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
