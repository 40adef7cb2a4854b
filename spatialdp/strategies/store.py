"""Optimised strategies that were found before: shipped with the package, or kept in the user's cache folder.

A stored strategy is a handful of public numbers, read without executing anything. It is checked against its own digest
and against what it should be for; whatever does not pass is ignored and found anew. Privacy does not rest on that: the
sensitivity is always computed from the weights in use.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spatialdp._support.atomic import write_all
from spatialdp.privacy.noise.laws import Law
from spatialdp.strategies.axis_workload import ALL_RANGES, AxisWorkload
from spatialdp.strategies.objective import mean_variance
from spatialdp.strategies.windows import optimised_windows
from spatialdp.transforms.matrices import WindowAxis

__all__ = [
    "SHIPPED_SIZES",
    "cache_folder",
    "keep",
    "kind_of",
    "load_axis",
    "load_weights",
    "save_axis",
    "save_weights",
    "stored_windows",
]

SHIPPED = Path(__file__).parent / "shipped"
SHIPPED_SIZES = (
    *(16, 20, 24, 32, 48, 50, 64, 96, 100, 128, 150, 160, 192, 200, 250, 256, 300, 320, 360, 384, 400, 500, 512),
    *(600, 640, 720, 750, 768, 800, 1000, 1024, 2000, 2048),
)

# Axes that are searched in well under a second.
_SHORT = 128

# Part of every digest: raise it when the optimiser finds something better, so that old files are found anew.
_VERSION = 2


@lru_cache(maxsize=64)
def stored_windows(size: int, workload: AxisWorkload, law: Law) -> WindowAxis:
    """`optimised_windows`, from the package, from the cache, or worked out now and put into the cache.

    Longer axes that do not ship start, for all ranges, from the shipped sizes below and above, without a search: that
    takes seconds. On shipped sizes it came within 1 % of the best that is known, mostly within 0.1 %.
    """
    kind = kind_of(law)
    name = file_name(size, workload, kind)
    for folder in (SHIPPED, cache_folder()):
        found = load_axis(folder / name, size, workload, kind)
        if found is not None:
            return found
    near = _neighbours(size, kind) if workload == ALL_RANGES else []
    axis = optimised_windows(size, workload, kind, near, search=not (near and _SHORT < size < SHIPPED_SIZES[-1]))
    keep(lambda folder: save_axis(folder / name, axis, workload, kind))
    return axis


def kind_of(law: Law) -> Law:
    """The law that matters for a strategy: both Laplace laws share theirs."""
    return Law.GAUSSIAN if law is Law.GAUSSIAN else Law.LAPLACE


def _neighbours(size: int, law: Law) -> list[WindowAxis]:
    """Shipped strategies for all ranges of the numbers of cells below and above; for Gaussian noise one is enough."""
    below = [shipped for shipped in SHIPPED_SIZES if shipped < size][-1:]
    above = [shipped for shipped in SHIPPED_SIZES if shipped > size][:1]
    closest = sorted((*below, *above), key=lambda shipped: abs(shipped - size))
    wanted = closest[:1] if law is Law.GAUSSIAN else closest
    read = (load_axis(SHIPPED / file_name(n, ALL_RANGES, law), n, ALL_RANGES, law) for n in wanted)
    return [axis for axis in read if axis is not None]


def keep(write: Callable[[Path], None]) -> None:
    """Write into the cache folder, if that can be."""
    with contextlib.suppress(OSError):
        cache_folder().mkdir(parents=True, exist_ok=True)
        write(cache_folder())


def cache_folder() -> Path:
    """Where strategies of this user are kept: below XDG_CACHE_HOME, or else ~/.cache."""
    stated = os.environ.get("XDG_CACHE_HOME", "")
    home = stated if os.path.isabs(stated) else os.path.expanduser("~/.cache")
    return Path(home) / "spatialdp" / "strategies"


def file_name(size: int, workload: AxisWorkload, law: Law) -> str:
    """Name of a strategy's file."""
    kind = workload.plain
    label = kind if isinstance(kind, str) else hashlib.sha256(json.dumps(kind).encode()).hexdigest()[:24]
    return f"{label}-{law}-{size}.npz"


def save_axis(path: Path, axis: WindowAxis, workload: AxisWorkload, law: Law) -> None:
    """Write a strategy, the whole file or nothing."""
    save_weights(path, axis, [workload.plain, str(law)])


def save_weights(path: Path, axis: WindowAxis, purpose: Any) -> None:
    """Write a strategy with what it is for, which can be any plain value."""
    weights = np.vstack([axis.diagonal, axis.windows]).astype("<i2")
    file = io.BytesIO()
    np.savez_compressed(file, weights=weights, digest=_digest(weights, purpose))
    write_all({path: file.getvalue()}, overwrite=True)


def load_axis(path: Path, size: int, workload: AxisWorkload, law: Law) -> WindowAxis | None:
    """Read a strategy; None if there is none, it is damaged, for something else, or worse than the cells alone."""
    axis = load_weights(path, size, [workload.plain, str(law)])
    if axis is None or mean_variance(axis, workload, law) > 1.0001 * float(np.trace(workload.gram(size))):
        return None
    return axis


def load_weights(path: Path, size: int, purpose: Any) -> WindowAxis | None:
    """Read what `save_weights` wrote; None if there is none, it is damaged or for something else."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            weights, digest = stored["weights"], stored["digest"]
        if weights.dtype != "<i2" or weights.shape[1:] != (size,):
            return None
        axis = WindowAxis(weights[0], weights[1:])
    except Exception:  # whatever a damaged file makes numpy say, it is not a strategy
        return None
    return axis if np.array_equal(digest, _digest(weights, purpose)) else None


def _digest(weights: npt.NDArray[np.int16], purpose: Any) -> npt.NDArray[np.uint8]:
    stated = json.dumps([_VERSION, purpose, weights.shape]).encode()
    return np.frombuffer(hashlib.sha256(stated + weights.tobytes()).digest(), dtype=np.uint8)
