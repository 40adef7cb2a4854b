"""Optimised strategies that were found before: shipped with the package, or kept in the user's cache folder.

A stored strategy is a handful of public numbers, read without executing anything. It is checked against its own digest
and against what it should be for; whatever does not pass is ignored and found anew. Privacy does not rest on that: the
sensitivity is always computed from the weights in use.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from spatialdp.axes import WindowAxis
from spatialdp.files import write_whole
from spatialdp.privacy.laws import Law
from spatialdp.strategies import AxisWorkload, mean_variance, optimised_windows

__all__ = ["SHIPPED_SIZES", "cache_folder", "load_axis", "save_axis", "stored_windows"]

SHIPPED = Path(__file__).parent / "_strategies"
SHIPPED_SIZES = (32, 64, 100, 128, 256, 512)

# Part of every digest: raise it when the optimiser finds something better, so that old files are found anew.
_VERSION = 1


@lru_cache(maxsize=64)
def stored_windows(size: int, workload: AxisWorkload, law: Law) -> WindowAxis:
    """`optimised_windows`, from the package, from the cache, or worked out now and put into the cache."""
    kind = Law.GAUSSIAN if law is Law.GAUSSIAN else Law.LAPLACE
    name = file_name(size, workload, kind)
    for folder in (SHIPPED, cache_folder()):
        found = load_axis(folder / name, size, workload, kind)
        if found is not None:
            return found
    axis = optimised_windows(size, workload, kind)
    with contextlib.suppress(OSError):
        cache_folder().mkdir(parents=True, exist_ok=True)
        save_axis(cache_folder() / name, axis, workload, kind)
    return axis


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
    weights = np.vstack([axis.diagonal, axis.windows]).astype("<i2")

    def write(partial: Path) -> None:
        with partial.open("wb") as file:
            np.savez_compressed(file, weights=weights, digest=_digest(weights, workload, law))

    write_whole(path, write, overwrite=True)


def load_axis(path: Path, size: int, workload: AxisWorkload, law: Law) -> WindowAxis | None:
    """Read a strategy; None if there is none, it is damaged, for something else, or worse than the cells alone."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            weights, digest = stored["weights"], stored["digest"]
        if weights.dtype != "<i2" or weights.shape[1:] != (size,):
            return None
        axis = WindowAxis(weights[0], weights[1:])
    except Exception:  # whatever a damaged file makes numpy say, it is not a strategy
        return None
    good = np.array_equal(digest, _digest(weights, workload, law))
    return axis if good and mean_variance(axis, workload, law) <= 1.0001 * _flat(size, workload) else None


def _flat(size: int, workload: AxisWorkload) -> float:
    return float(np.trace(workload.gram(size)))


def _digest(weights: npt.NDArray[np.int16], workload: AxisWorkload, law: Law) -> npt.NDArray[np.uint8]:
    stated = json.dumps([_VERSION, workload.plain, str(law), weights.shape]).encode()
    return np.frombuffer(hashlib.sha256(stated + weights.tobytes()).digest(), dtype=np.uint8)
