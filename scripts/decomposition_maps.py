"""Where does each kind of tree put its boxes, and what does it estimate for them? Maps of private decompositions.

The noise is seeded, so the releases are not private; the default records are public data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import common
import numpy as np

from spatialdp import Domain, KdTree, Quadtree, Release, datasets
from spatialdp.estimates.decomposition import Decomposition
from spatialdp.mechanisms.adaptive.kdtree import SplitRule
from spatialdp.outputs.maps.drawing import draw_boxes
from spatialdp.outputs.maps.save import save_figure
from spatialdp.space.lattice import LATTICE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure

HEIGHT = 6
THRESHOLD = 32  # records, as in the paper
BREAKS = (1, 3, 10, 30, 100, 300, 1000)  # public colour scale: records in 1/1000 of the domain
SHARED: dict[str, Any] = {"height": HEIGHT, "median_share": common.LINES, "prune": THRESHOLD}
CASES = (
    common.Case("quadtree", Quadtree(HEIGHT, prune=THRESHOLD)),
    common.Case("quadtree that stops", Quadtree(HEIGHT, stop=THRESHOLD)),
    common.Case("kd-standard", KdTree(**SHARED)),
    common.Case("kd-hybrid", KdTree(**SHARED, data_levels=HEIGHT // 2)),
    common.Case("kd-cell", KdTree(**SHARED, median=SplitRule.CELL)),
)


@dataclass(frozen=True)
class Row:
    """Boxes and estimated total of one decomposition; areas are in per mille of the domain."""

    data: str
    method: str
    epsilon: float
    height: int
    threshold: float
    boxes: int
    smallest_area: float
    median_area: float
    largest_area: float
    estimated_total: float
    noise: str = common.NOTE


@dataclass(frozen=True, eq=False)
class Map:
    """A release of a tree, with areas and densities of its leaves."""

    name: str
    release: Release

    @property
    def estimate(self) -> Decomposition:
        """The tree of estimates."""
        assert isinstance(self.release.estimate, Decomposition)
        return self.release.estimate

    @property
    def areas(self) -> common.Floats:
        """Areas of the leaves, in per mille of the domain."""
        boxes = self.estimate.leaf_boxes() / LATTICE
        return np.asarray(1000 * np.prod(boxes[:, 2:] - boxes[:, :2], axis=1))

    @property
    def densities(self) -> common.Floats:
        """Estimated records per 1/1000 of the domain's area, for each leaf."""
        return np.asarray(self.estimate.values[self.estimate.tree.leaves] / self.areas)


@common.options(releases=1, epsilons="1")
def main(settings: common.Settings) -> None:
    """Draw one release of each tree; write `decomposition_maps.csv` and `decomposition_maps.png`.

    Only the first ε is used. The options for releases, queries and shapes have no effect here.
    """
    print(f"{settings.data}; {common.NOTE}")
    maps = [_release(number, case, settings) for number, case in common.progress(list(enumerate(CASES)))]
    common.write_csv([_row(each, settings) for each in maps], settings.output / "decomposition_maps.csv")
    save_figure(draw(maps, settings), settings.output / "decomposition_maps.png")


def _domain(settings: common.Settings) -> Domain:
    """Return the domain; for the default records, with the country as region, so that trees leave out the rest."""
    if settings.points is not None:
        return settings.data.domain
    return Domain(settings.data.domain.bounds, crs=settings.data.domain.crs, region=datasets.contiguous_us())


def _release(number: int, case: common.Case, settings: common.Settings) -> Map:
    noise = settings.stream(number)
    domain = _domain(settings)
    return Map(
        case.name, case.mechanism.release(settings.data.points, domain, epsilon=settings.epsilons[0], noise=noise)
    )


def _row(each: Map, settings: common.Settings) -> Row:
    smallest, median, largest = (float(f"{np.quantile(each.areas, share):.3g}") for share in (0, 0.5, 1))
    return Row(
        data=settings.data.name,
        method=each.name,
        epsilon=float(settings.epsilons[0]),
        height=HEIGHT,
        threshold=THRESHOLD,
        boxes=each.areas.size,
        smallest_area=smallest,
        median_area=median,
        largest_area=largest,
        estimated_total=round(each.release.total, 1),
    )


def draw(maps: Sequence[Map], settings: common.Settings) -> Figure:
    """Draw the records, and a map for each tree on one public colour scale."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(3, 2, figsize=(11.4, 9.4), layout="constrained")
    domain = maps[0].release.domain
    patches = [_draw_map(ax, each) for ax, each in zip(axes.flat[1:], maps, strict=False)]
    _draw_records(axes.flat[0], axes.flat[1], replace(settings.data, domain=domain))
    label = "estimated records per 1/1000 of the domain's area"
    figure.colorbar(patches[0], ax=axes, label=label, shrink=0.5, aspect=35)
    figure.suptitle("Private decompositions", fontsize="large")
    figure.supxlabel(_caption(settings), fontsize="small", x=0.01, ha="left")
    return figure


def _draw_map(ax: Axes, each: Map) -> PolyCollection:
    from matplotlib.colors import BoundaryNorm

    patches = draw_boxes(
        ax,
        each.release.domain,
        each.estimate.leaf_boxes().astype(np.float64),
        each.densities,
        norm=BoundaryNorm(BREAKS, 256, extend="both"),
        lines=True,
    )
    ax.set_title(f"{each.name}: {each.areas.size:,} boxes")
    return patches


def _draw_records(ax: Axes, like: Axes, data: common.Data) -> None:
    x, y = (axis.coordinates(lines) for axis, lines in zip(data.domain.axes, data.lattice, strict=True))
    ax.plot(x, y, ",", color="black", alpha=0.4)
    ax.set(xlim=like.get_xlim(), ylim=like.get_ylim(), xticks=[], yticks=[], aspect=like.get_aspect())
    ax.set_title("the records (public data)")


def _caption(settings: common.Settings) -> str:
    return common.wrapped(
        f"Data: {settings.data}; only records inside the outline count, where there is one. One release each at ε = "
        f"{float(settings.epsilons[0]):g}, height {HEIGHT}. Boxes with an estimate under {THRESHOLD} records are not "
        "divided. Pruning decides this at the end, by consistent estimates; the tree that stops decides it level by "
        "level, by noisy counts. "
        f"Seed {settings.seed}: {common.NOTE}."
    )


if __name__ == "__main__":
    main()
