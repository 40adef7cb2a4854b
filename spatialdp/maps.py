"""Pictures of releases. They are drawn from released values and public parameters only.

A colour scale is either given (public) or derived from the release itself.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from spatialdp import crs as crs_
from spatialdp.domain import Domain, Grid
from spatialdp.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import BoundaryNorm, ListedColormap, Normalize
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

    from spatialdp.release import Release

__all__ = ["Classes", "colour_scale", "draw_cells", "plot", "save_figure"]

Floats = npt.NDArray[np.float64]

COLOURS = "cividis"  # even in grey and for colour-blind readers
OUTSIDE = "0.93"


def plot(
    release: Release,
    *,
    ax: Axes | None = None,
    limits: tuple[float, float] | None = None,
    log: bool = False,
    caption: bool = True,
) -> Axes:
    """Draw a release as a map: one colour for each cell, the region's outline, a caption with the promise.

    Parameters
    ----------
    release : Release
    ax : matplotlib Axes, optional
        A new figure by default.
    limits : (low, high), optional
        Public colour scale; by default from 0 to the 99th percentile of the released estimates.
    log : bool
        Colours by log(1 + estimate): for counts that span orders of magnitude.
    caption : bool
        Write the privacy statement below the map.

    Returns
    -------
    matplotlib Axes
    """
    import matplotlib.pyplot as plt

    if ax is None:
        ax = plt.figure(figsize=(8, 5), layout="constrained").add_subplot()
    if limits is None:
        high = float(np.quantile(release.estimate.values[release.estimate.grid.mask], 0.99))
        limits = (0.0, max(high, 1.0))
    image = draw_cells(ax, release.estimate.grid, release.estimate.values, norm=colour_scale(limits, log=log))
    ax.figure.colorbar(image, ax=ax, label="estimated count", extend="both", shrink=0.8)
    if caption:
        ax.set_xlabel(str(release.privacy), fontsize="small")
    return ax


def colour_scale(limits: tuple[float, float], *, log: bool) -> Normalize:
    """Linear, or linear in log(1 + count) so that zero and noise below it have a place."""
    from matplotlib.colors import FuncNorm, Normalize

    low, high = limits
    if not low < high:
        raise ParameterError(f"limits are {limits}; give (low, high) with low below high.")
    if not log:
        return Normalize(low, high)
    return FuncNorm((lambda v: np.sign(v) * np.log1p(np.abs(v)), lambda t: np.sign(t) * np.expm1(np.abs(t))), low, high)


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


def draw_cells(
    ax: Axes, grid: Grid, values: Floats, *, norm: Normalize | None = None, classes: Classes | None = None
) -> AxesImage:
    """Draw cell values as an image in domain coordinates, cells outside the region left grey."""
    import matplotlib

    xmin, ymin, xmax, ymax = grid.domain.bounds
    ax.set_facecolor(OUTSIDE)
    image = ax.imshow(
        np.ma.masked_array(values, ~grid.mask),
        extent=(xmin, xmax, ymin, ymax),
        origin="lower",
        interpolation="nearest",
        cmap=matplotlib.colormaps[COLOURS] if classes is None else classes.colours,
        norm=norm if classes is None else classes.norm,
        aspect=_aspect(grid.domain),
    )
    _draw_outline(ax, grid.domain)
    ax.set(xlim=(xmin, xmax), ylim=(ymin, ymax), xticks=[], yticks=[])
    return image


def save_figure(figure: Figure, path: Path, *, dpi: int = 100) -> None:
    """Write a figure as PNG with a palette of 128 colours: a third of the size, no visible difference."""
    from PIL import Image

    from spatialdp.files import write_whole

    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=dpi)
    palette = Image.open(picture).convert("RGB").quantize(128, dither=Image.Dither.NONE)
    write_whole(path, lambda partial: palette.save(partial, format="png", optimize=True), overwrite=True)


def _draw_outline(ax: Axes, domain: Domain) -> None:
    if domain.region is None:
        return
    import shapely
    from matplotlib.collections import LineCollection

    rings = shapely.get_parts(shapely.boundary(domain.region))
    ax.add_collection(LineCollection([shapely.get_coordinates(ring) for ring in rings], colors="0.25", linewidths=0.5))


def _aspect(domain: Domain) -> float:
    """Height of a unit of y over width of a unit of x: degrees of longitude shrink with latitude."""
    if not crs_.geographic(domain.crs):
        return 1.0
    middle = (domain.bounds[1] + domain.bounds[3]) / 2
    return 1 / max(0.1, math.cos(math.radians(middle)))
