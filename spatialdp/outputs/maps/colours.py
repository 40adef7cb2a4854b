"""Which colour does a number get on a map? Light for low values and dark for high ones.

The order from light to dark survives printing in grey, and colour-blind readers can distinguish the colours.
Colour scales come from public limits or from released values, never from records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spatialdp.errors import ParameterError
from spatialdp.wording import either, parameter, quoted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import BoundaryNorm, ListedColormap, Normalize


__all__ = ["COLOURS", "ON_PAPER", "OUTSIDE", "SHADES", "Classes", "colour_scale", "log_ticks", "shades"]

OUTSIDE = "0.93"  # light grey for everything outside the region

COLOURS = "cividis"  # changes evenly, in grey and for colour-blind readers too
ON_PAPER = "YlGnBu"  # from light to dark, for colour-blind readers and grey prints too
SHADES = 64  # colours of a continuous scale: more look no smoother


def shades(low: float, high: float, count: int) -> ListedColormap:
    """Return `count` colours of the palette for paper, from the share `low` to the share `high` of its length."""
    import matplotlib
    from matplotlib.colors import ListedColormap

    return ListedColormap(matplotlib.colormaps[ON_PAPER](np.linspace(low, high, count)))


def colour_scale(limits: tuple[float, float], *, log: bool) -> Normalize:
    """Return a colour scale, linear or logarithmic.

    The logarithmic scale is linear in log(1 + |value|), with the sign of the value, so that zero and negative estimates
    have a colour too.
    """
    from matplotlib.colors import FuncNorm, Normalize

    low, high = limits
    if not low < high:
        raise ParameterError(
            f"{parameter('limits')} are {quoted(limits)}; give {either('(low, high)', 'LOW,HIGH')} with low below high."
        )
    if not log:
        return Normalize(low, high)
    return FuncNorm((lambda v: np.sign(v) * np.log1p(np.abs(v)), lambda t: np.sign(t) * np.expm1(np.abs(t))), low, high)


def log_ticks(norm: Normalize) -> list[float]:
    """Return round numbers for the ticks of a logarithmic colour scale, at roughly even distances."""
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
    """A colour scale of a few classes with public breaks: easy to read, and small as a file."""

    breaks: tuple[float, ...]

    @property
    def colours(self) -> ListedColormap:
        """One colour for each class: below the first break, between two breaks, and above the last one."""
        import matplotlib
        from matplotlib.colors import ListedColormap

        palette = matplotlib.colormaps[COLOURS](np.linspace(0, 1, len(self.breaks) + 1))
        return ListedColormap([tuple(colour) for colour in palette])

    @property
    def norm(self) -> BoundaryNorm:
        """The map from values to classes."""
        from matplotlib.colors import BoundaryNorm

        return BoundaryNorm((-np.inf, *self.breaks, np.inf), len(self.breaks) + 1)

    def legend(self, ax: Axes, title: str, names: Sequence[str]) -> None:
        """Draw the legend of the classes in the middle of some axes."""
        from matplotlib.patches import Patch

        patches = [Patch(facecolor=self.colours(index), label=name) for index, name in enumerate(names)]
        ax.legend(handles=patches, title=title, loc="center", frameon=False, fontsize="large", title_fontsize="large")
