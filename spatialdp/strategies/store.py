"""Where are optimised strategies stored, and when is a stored one used? In the package and in the user's cache folder.

A stored strategy is a few public numbers, read without executing anything. A file is checked against its own digest and
its purpose (the workload and the law); a file that does not pass is ignored, and the strategy is optimised again.
Privacy must not rest on that check: the sensitivity is always computed from the weights in use. If you improve the
optimiser, raise `_VERSION`, so that old files are not used.
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
    "load_axis",
    "load_weights",
    "save_axis",
    "save_weights",
    "stored_windows",
    "strategy_law",
    "write_to_cache",
]

SHIPPED = Path(__file__).parent / "shipped"
SHIPPED_SIZES = (
    *(16, 20, 24, 32, 48, 50, 64, 96, 100, 128, 150, 160, 192, 200, 250, 256, 300, 320, 360, 384, 400, 500, 512),
    *(600, 640, 720, 750, 768, 800, 1000, 1024, 2000, 2048),
)

# Axes of up to this many cells are searched in well under a second.
_SHORT = 128

# Part of every digest: raise it when the optimiser finds better strategies, so that old files are not used.
_VERSION = 2


@lru_cache(maxsize=64)
def stored_windows(size: int, workload: AxisWorkload, law: Law) -> WindowAxis:
    """The strategy of `optimised_windows`: read from the package or the cache, or optimised now and cached.

    Longer axes of a size that does not ship start, for all ranges, from the shipped sizes below and
    above, without a search: that takes seconds. Tried on shipped sizes, the result came within 1 % of
    the best strategy that is known, mostly within 0.1 %.
    """
    family = strategy_law(law)
    name = file_name(size, workload, family)
    for folder in (SHIPPED, cache_folder()):
        stored = load_axis(folder / name, size, workload, family)
        if stored is not None:
            return stored
    near = _neighbours(size, family) if workload == ALL_RANGES else []
    axis = optimised_windows(size, workload, family, near, search=not (near and _SHORT < size < SHIPPED_SIZES[-1]))
    write_to_cache(lambda folder: save_axis(folder / name, axis, workload, family))
    return axis


def strategy_law(law: Law) -> Law:
    """The law for which strategies are stored: both Laplace laws share their strategies."""
    return Law.GAUSSIAN if law is Law.GAUSSIAN else Law.LAPLACE


def _neighbours(size: int, law: Law) -> list[WindowAxis]:
    """Shipped strategies for all ranges, of the sizes just below and above; for Gaussian noise the closer one."""
    below = [shipped for shipped in SHIPPED_SIZES if shipped < size][-1:]
    above = [shipped for shipped in SHIPPED_SIZES if shipped > size][:1]
    closest = sorted((*below, *above), key=lambda shipped: abs(shipped - size))
    sizes = closest[:1] if law is Law.GAUSSIAN else closest
    axes = (load_axis(SHIPPED / file_name(n, ALL_RANGES, law), n, ALL_RANGES, law) for n in sizes)
    return [axis for axis in axes if axis is not None]


def write_to_cache(write: Callable[[Path], None]) -> None:
    """Call `write` with the cache folder; a folder that cannot be written is ignored."""
    with contextlib.suppress(OSError):
        cache_folder().mkdir(parents=True, exist_ok=True)
        write(cache_folder())


def cache_folder() -> Path:
    """The folder of this user's strategies: below XDG_CACHE_HOME if that is an absolute path, or else ~/.cache."""
    variable = os.environ.get("XDG_CACHE_HOME", "")
    home = variable if os.path.isabs(variable) else os.path.expanduser("~/.cache")
    return Path(home) / "spatialdp" / "strategies"


def file_name(size: int, workload: AxisWorkload, law: Law) -> str:
    """Name of the file in which the strategy for a workload and a law is stored."""
    queries = workload.plain
    label = queries if isinstance(queries, str) else hashlib.sha256(json.dumps(queries).encode()).hexdigest()[:24]
    return f"{label}-{law}-{size}.npz"


def save_axis(path: Path, axis: WindowAxis, workload: AxisWorkload, law: Law) -> None:
    """Write the strategy for a workload and a law: the whole file or nothing."""
    save_weights(path, axis, [workload.plain, str(law)])


def save_weights(path: Path, axis: WindowAxis, purpose: Any) -> None:
    """Write a strategy, with a digest of its weights and its purpose; the purpose can be any plain value."""
    weights = np.vstack([axis.diagonal, axis.windows]).astype("<i2")
    file = io.BytesIO()
    np.savez_compressed(file, weights=weights, digest=_digest(weights, purpose))
    write_all({path: file.getvalue()}, overwrite=True)


def load_axis(path: Path, size: int, workload: AxisWorkload, law: Law) -> WindowAxis | None:
    """Read the strategy for a workload and a law.

    Returns None if the file is missing, damaged or for another purpose, or if the strategy is worse
    than measuring the cells alone.
    """
    axis = load_weights(path, size, [workload.plain, str(law)])
    if axis is None or mean_variance(axis, workload, law) > 1.0001 * float(np.trace(workload.gram(size))):
        return None
    return axis


def load_weights(path: Path, size: int, purpose: Any) -> WindowAxis | None:
    """Read a strategy that `save_weights` wrote; None if the file is missing, damaged or for another purpose."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            weights, digest = stored["weights"], stored["digest"]
        if weights.dtype != "<i2" or weights.shape[1:] != (size,):
            return None
        axis = WindowAxis(weights[0], weights[1:])
    except Exception:  # numpy raises errors of many kinds for damaged files
        return None
    return axis if np.array_equal(digest, _digest(weights, purpose)) else None


def _digest(weights: npt.NDArray[np.int16], purpose: Any) -> npt.NDArray[np.uint8]:
    header = json.dumps([_VERSION, purpose, weights.shape]).encode()
    return np.frombuffer(hashlib.sha256(header + weights.tobytes()).digest(), dtype=np.uint8)
