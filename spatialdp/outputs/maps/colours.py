"""Which colour does a number get on a map? Light for low values and dark for high ones, in pictures and on pages alike.

The order from light to dark survives printing in grey, and colour-blind readers can distinguish the colours. Estimates
that may be noise alone fade to `NOISE_PAPER` under thin lines of `NOISE_INK`. Colour scales come from public limits or
from released values, never from records.

The explorer's page takes its colours from here, and ``assets/colours.mjs`` repeats the formula of `colour_scale`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialdp.errors import ParameterError
from spatialdp.wording import either, parameter, quoted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import BoundaryNorm, Colormap, ListedColormap, Normalize


__all__ = [
    "COLOURS",
    "NOISE_INK",
    "NOISE_PAPER",
    "OUTSIDE",
    "SHADES",
    "SOFT",
    "UNCERTAINTIES",
    "VEIL",
    "Classes",
    "colour_scale",
    "log_ticks",
    "palette",
    "shades",
    "uncertainty_colours",
]

OUTSIDE = "0.93"  # light grey for everything outside the region

COLOURS = "YlGnBu"  # from light to dark, for colour-blind readers and grey prints too
_LIGHTEST = 0.1  # share of the palette's length that is left out, because it is too near to white
SHADES = 64  # colours of a continuous scale: more look no smoother

NOISE_PAPER = (0.965, 0.965, 0.965)  # colours of cells that may be noise alone fade towards this one
NOISE_INK = (0.8, 0.8, 0.8)  # thin lines across them

VEIL = 0.85  # how far they fade: 0 not at all, 1 completely

# Breaks between the classes of relative uncertainty, half-width / |estimate|. From 1 on, it may be noise alone.
UNCERTAINTIES = (0.0, 0.1, 0.25, 0.5, 1.0)

# Logarithmic scales are linear for values below this share of the highest one.
SOFT = 1 / 50


def palette(colours: str | Colormap | None = None, count: int = SHADES) -> Colormap:
    """Return the colours of maps from low to high, or the matplotlib colour map that the caller chose instead.

    Examples
    --------
    >>> from matplotlib.colors import to_hex
    >>> [to_hex(palette(count=3)(number)) for number in range(3)]
    ['#f1faba', '#33a7c2', '#081d58']
    """
    import matplotlib
    from matplotlib.colors import Colormap

    if colours is None:
        return shades(_LIGHTEST, 1.0, count)
    if isinstance(colours, Colormap):
        return colours
    if colours not in matplotlib.colormaps:
        raise ParameterError(
            f"{parameter('cmap')} is {quoted(colours)}, which is not a colour map of matplotlib; give a name such as "
            "'viridis', or leave it out."
        )
    return matplotlib.colormaps[colours]


def shades(low: float, high: float, count: int) -> ListedColormap:
    """Return `count` colours of the palette, from the share `low` to the share `high` of its length."""
    import matplotlib
    from matplotlib.colors import ListedColormap

    return ListedColormap(matplotlib.colormaps[COLOURS](np.linspace(low, high, count)))


def uncertainty_colours() -> ListedColormap:
    """Return the colours of the classes of relative uncertainty, between `UNCERTAINTIES`: dark for the most certain."""
    return shades(1.0, 0.2, len(UNCERTAINTIES) - 1)


def colour_scale(limits: tuple[float, float], *, log: bool) -> Normalize:
    """Return a colour scale, linear or logarithmic.

    The logarithmic scale is asinh(value / soft), where `soft` is `SOFT` times the larger limit: linear for small values
    and logarithmic for large ones, so that zero and negative estimates have a colour too. It does not depend on the
    unit of the values.
    """
    from matplotlib.colors import Normalize

    low, high = limits
    if not low < high:
        raise ParameterError(
            f"{parameter('limits')} are {quoted(limits)}; give {either('(low, high)', 'LOW,HIGH')} with low below high."
        )
    if not log:
        return Normalize(low, high)
    return _soft_scale(low, high)


def _soft_scale(low: float, high: float) -> Normalize:
    from matplotlib.colors import Normalize

    soft = SOFT * max(abs(low), abs(high))
    start, stop = np.arcsinh(low / soft), np.arcsinh(high / soft)

    class SoftScale(Normalize):
        """The logarithmic scale; matplotlib's `FuncNorm` would transform all values once more to look for limits."""

        def __call__(self, value: Any, clip: bool | None = None) -> Any:
            """Return places on the scale, 0 to 1 between the limits."""
            values, is_scalar = self.process_value(value)
            places = (np.arcsinh(values / soft) - start) / (stop - start)
            places = np.ma.clip(places, 0.0, 1.0) if clip or (clip is None and self.clip) else places
            return places[0] if is_scalar else places

        def inverse(self, value: Any) -> Any:
            """Return the values at some places."""
            return soft * np.sinh(start + (stop - start) * np.asarray(value))

    return SoftScale(low, high)


def log_ticks(norm: Normalize, gap: float = 0.08) -> list[float]:
    """Return round numbers for the ticks of a logarithmic colour scale, at least the share `gap` of it apart."""
    assert norm.vmin is not None
    assert norm.vmax is not None
    largest = max(abs(norm.vmin), abs(norm.vmax))
    powers = range(math.floor(math.log10(SOFT * largest)), math.floor(math.log10(largest)) + 1)
    values = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    ticks = _spread([0.0, *values], norm, gap)
    below = _spread([*ticks[:1], *(-value for value in values)], norm, gap)
    return sorted({*ticks, *below})


def _spread(values: Sequence[float], norm: Normalize, gap: float) -> list[float]:
    """Return those of some values, taken in order, that lie on a scale and are far enough from the one before."""
    kept: list[float] = []
    for value in values:
        on_scale = norm.vmin <= value <= norm.vmax  # type: ignore[operator]  # both are numbers here
        if on_scale and (not kept or abs(float(norm(value)) - float(norm(kept[-1]))) > gap):
            kept.append(value)
    return kept


@dataclass(frozen=True)
class Classes:
    """A colour scale of a few classes with public breaks: easy to read, and small as a file."""

    breaks: tuple[float, ...]

    @property
    def colours(self) -> ListedColormap:
        """One colour for each class: below the first break, between two breaks, and above the last one."""
        return shades(_LIGHTEST, 1.0, len(self.breaks) + 1)

    @property
    def norm(self) -> BoundaryNorm:
        """The map from values to classes."""
        from matplotlib.colors import BoundaryNorm

        return BoundaryNorm((-np.inf, *self.breaks, np.inf), len(self.breaks) + 1)

    def legend(self, ax: Axes, title: str, names: Sequence[str], *, fontsize: str | float = "large") -> None:
        """Draw the legend of the classes in the middle of some axes."""
        from matplotlib.patches import Patch

        patches = [Patch(facecolor=self.colours(index), label=name) for index, name in enumerate(names)]
        ax.legend(handles=patches, title=title, loc="center", frameon=False, fontsize=fontsize, title_fontsize=fontsize)
