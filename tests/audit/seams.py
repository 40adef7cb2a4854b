"""How do tests see everything private? By replacing the few functions of the package that private numbers pass through.

A mechanism that goes around these functions is not audited: the replay notices, because the mechanism then draws noise
outside of a measurement.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import spatialdp.mechanisms  # noqa: F401 - loads all modules that must be patched
from spatialdp.records import points
from spatialdp.space.lattice import LATTICE


@contextlib.contextmanager
def everywhere(original: Callable[..., Any], replacement: Any) -> Iterator[None]:
    """Replace a function in every module of the package that imports it, under any name."""
    with contextlib.ExitStack() as patches:
        for name, module in list(sys.modules.items()):
            if name.split(".")[0] == "spatialdp" and module is not None:
                for known in [known for known, value in vars(module).items() if value is original]:
                    patches.enter_context(mock.patch.object(module, known, replacement))
        yield


@contextlib.contextmanager
def coarser_fine_grid(side: int = 256) -> Iterator[None]:
    """Let kd-trees of persons count on a grid of fewer cells than 4096 x 4096, which takes long to fill."""
    with mock.patch.multiple(points, FINE_SIDE=side, _FINE_WIDTH=LATTICE // side):
        yield
