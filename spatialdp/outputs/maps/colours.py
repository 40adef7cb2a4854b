"""Colours of a map: light is low and dark is high, so that a map reads the same in grey."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spatialdp.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import BoundaryNorm, ListedColormap, Normalize


__all__ = ["COLOURS", "ON_PAPER", "OUTSIDE", "SHADES", "Classes", "colour_scale", "log_ticks", "shades"]

OUTSIDE = "0.93"  # grey of what lies outside the region

COLOURS = "cividis"  # even in grey and for colour-blind readers
ON_PAPER = "YlGnBu"  # from light to dark, for colour-blind readers and grey prints too
SHADES = 64  # of it: as smooth to the eye as more


def shades(low: float, high: float, count: int) -> ListedColormap:
    """Some colours between two ends of the map's scale."""
    import matplotlib
    from matplotlib.colors import ListedColormap

    return ListedColormap(matplotlib.colormaps[ON_PAPER](np.linspace(low, high, count)))


def colour_scale(limits: tuple[float, float], *, log: bool) -> Normalize:
    """Linear, or linear in log(1 + count) so that zero and noise below it have a place."""
    from matplotlib.colors import FuncNorm, Normalize

    low, high = limits
    if not low < high:
        raise ParameterError(f"limits are {limits}; give (low, high) with low below high.")
    if not log:
        return Normalize(low, high)
    return FuncNorm((lambda v: np.sign(v) * np.log1p(np.abs(v)), lambda t: np.sign(t) * np.expm1(np.abs(t))), low, high)


def log_ticks(norm: Normalize) -> list[float]:
    """Round numbers within a colour scale, about evenly apart on it."""
    assert norm.vmin is not None
    assert norm.vmax is not None
    ticks = [0.0] if norm.vmin <= 0 <= norm.vmax else []
    for power in range(-3, 16):
        for digit in (1, 2, 5):
            value = digit * 10.0**power
            if norm.vmin <= value <= norm.vmax and (not ticks or norm(value) - norm(ticks[-1]) > 0.08):
                ticks.append(value)
    return ticks


@dataclass(frozen=True)
class Classes:
    """A colour scale of a few classes, divided at public breaks: easy to read, and small as a file."""

    breaks: tuple[float, ...]

    @property
    def colours(self) -> ListedColormap:
        """One colour below the first break, one above each."""
        import matplotlib
        from matplotlib.colors import ListedColormap

        shades = matplotlib.colormaps[COLOURS](np.linspace(0, 1, len(self.breaks) + 1))
        return ListedColormap([tuple(shade) for shade in shades])

    @property
    def norm(self) -> BoundaryNorm:
        """From values to classes."""
        from matplotlib.colors import BoundaryNorm

        return BoundaryNorm((-np.inf, *self.breaks, np.inf), len(self.breaks) + 1)

    def legend(self, ax: Axes, title: str, names: Sequence[str]) -> None:
        """Write the classes where the axes are."""
        from matplotlib.patches import Patch

        patches = [Patch(facecolor=self.colours(index), label=name) for index, name in enumerate(names)]
        ax.legend(handles=patches, title=title, loc="center", frameon=False, fontsize="large", title_fontsize="large")
