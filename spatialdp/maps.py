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
from spatialdp._checks import whole_number
from spatialdp.decomposition import Decomposition
from spatialdp.domain import LATTICE, Domain, Grid
from spatialdp.errors import ParameterError
from spatialdp.histogram import Histogram

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import BoundaryNorm, ListedColormap, Normalize
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

    from spatialdp.release import Release

__all__ = ["Classes", "aspect", "colour_scale", "draw_cells", "plot", "save_figure"]

Floats = npt.NDArray[np.float64]

COLOURS = "cividis"  # even in grey and for colour-blind readers
OUTSIDE = "0.93"


def plot(
    release: Release,
    *,
    ax: Axes | None = None,
    limits: tuple[float, float] | None = None,
    log: bool = False,
    level: int | None = None,
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
    level : int, optional
        Of a tree: show the nodes of this depth, and the leaves above it, with their outlines.
    caption : bool
        Write the privacy statement below the map.

    Returns
    -------
    matplotlib Axes
    """
    import matplotlib.pyplot as plt

    if ax is None:
        ax = plt.figure(figsize=_figure_size(release.domain), layout="constrained").add_subplot()
    if isinstance(release.estimate, Histogram):
        _plot_histogram(ax, release.estimate, limits, log=log, level=level)
    else:
        _plot_tree(ax, release.estimate, limits, log=log, level=level)
    if caption:
        ax.set_xlabel(str(release.privacy), fontsize="small")
    return ax


def _plot_histogram(
    ax: Axes, estimate: Histogram, limits: tuple[float, float] | None, *, log: bool, level: int | None
) -> None:
    if level is not None:
        raise ParameterError(f"level is {level}, but this release is a grid and has no levels; leave level out.")
    norm = colour_scale(limits or _limits(estimate.values[estimate.grid.mask]), log=log)
    image = draw_cells(ax, estimate.grid, estimate.values, norm=norm)
    ax.figure.colorbar(image, ax=ax, label="estimated count", extend="both", shrink=0.8)


def _plot_tree(
    ax: Axes, estimate: Decomposition, limits: tuple[float, float] | None, *, log: bool, level: int | None
) -> None:
    tree = estimate.tree
    if level is not None:
        level = whole_number(level, "level", 0, tree.height)
    shown = tree.leaves if level is None else (tree.depth == level) | (tree.leaves & (tree.depth < level))
    boxes = tree.boxes[shown].astype(np.float64)
    share = np.prod((boxes[:, 2:] - boxes[:, :2]) / LATTICE, axis=1)
    density = estimate.values[shown] / (1000 * share)
    patches = draw_boxes(
        ax,
        estimate.domain,
        boxes,
        density,
        norm=colour_scale(limits or _limits(density), log=log),
        lines=level is not None,
    )
    label = "estimated count per 1/1000 of the domain"
    ax.figure.colorbar(patches, ax=ax, label=label, extend="both", shrink=0.8)


def _limits(values: Floats) -> tuple[float, float]:
    """A colour scale derived from released values."""
    return 0.0, max(float(np.quantile(values, 0.99)), 1.0)


def _figure_size(domain: Domain) -> tuple[float, float]:
    width, height = domain.size
    return 8.0, float(np.clip(6.5 * height * aspect(domain) / width, 2.5, 11.0)) + 0.4


def draw_boxes(
    ax: Axes,
    domain: Domain,
    boxes: Floats,
    values: Floats,
    *,
    norm: Normalize,
    lines: bool,
) -> PolyCollection:
    """Draw lattice boxes in domain coordinates, coloured by their values."""
    import matplotlib
    from matplotlib.collections import PolyCollection

    x0, y0, x1, y1 = (axis.coordinates(boxes[:, i]) for i, axis in enumerate((*domain.axes, *domain.axes)))
    corners = np.stack([np.stack(corner, axis=1) for corner in ((x0, y0), (x1, y0), (x1, y1), (x0, y1))], axis=1)
    patches = PolyCollection(list(corners), cmap=matplotlib.colormaps[COLOURS], norm=norm, array=values)
    patches.set(edgecolor="0.6" if lines else "face", linewidth=0.3 if lines else 0.1)
    ax.add_collection(patches)
    _frame(ax, domain)
    ax.set_aspect(aspect(domain))
    return patches


def _frame(ax: Axes, domain: Domain) -> None:
    xmin, ymin, xmax, ymax = domain.bounds
    ax.set_facecolor(OUTSIDE)
    _draw_outline(ax, domain)
    ax.set(xlim=(xmin, xmax), ylim=(ymin, ymax), xticks=[], yticks=[])


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
    image = ax.imshow(
        np.ma.masked_array(values, ~grid.mask),
        extent=(xmin, xmax, ymin, ymax),
        origin="lower",
        interpolation="nearest",
        cmap=matplotlib.colormaps[COLOURS] if classes is None else classes.colours,
        norm=norm if classes is None else classes.norm,
        aspect=aspect(grid.domain),
    )
    _frame(ax, grid.domain)
    return image


def save_figure(figure: Figure, path: Path, *, dpi: int = 100, overwrite: bool = True) -> None:
    """Write a figure as SVG, or as PNG with a palette of 128 colours: a third of the size, no visible difference."""
    from spatialdp.files import write_all

    picture = io.BytesIO()
    if path.suffix.lower() == ".svg":
        figure.savefig(picture, format="svg", metadata={"Date": None})
    else:
        _write_png(figure, picture, dpi)
    write_all({path: picture.getvalue()}, overwrite=overwrite)


def _write_png(figure: Figure, picture: io.BytesIO, dpi: int) -> None:
    from PIL import Image

    full = io.BytesIO()
    figure.savefig(full, format="png", dpi=dpi)
    palette = Image.open(full).convert("RGB").quantize(128, dither=Image.Dither.NONE)
    palette.save(picture, format="png", optimize=True)


def _draw_outline(ax: Axes, domain: Domain) -> None:
    if domain.region is None:
        return
    import shapely
    from matplotlib.collections import LineCollection

    rings = shapely.get_parts(shapely.boundary(domain.region))
    ax.add_collection(LineCollection([shapely.get_coordinates(ring) for ring in rings], colors="0.25", linewidths=0.5))


def aspect(domain: Domain) -> float:
    """Height of a unit of y over width of a unit of x: degrees of longitude shrink with latitude."""
    if not crs_.geographic(domain.crs):
        return 1.0
    middle = (domain.bounds[1] + domain.bounds[3]) / 2
    return 1 / max(0.1, math.cos(math.radians(middle)))
