"""How high should a tree be? Relative error against the height.

With the height, the noise grows and the error from uneven records within leaves shrinks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import common
import curves

from spatialdp import KdTree, Quadtree
from spatialdp.evaluation.figures import finish, label_lines
from spatialdp.outputs.maps.save import save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEIGHTS = range(2, 11)
CASES = (
    *(common.Case("quad-opt", Quadtree(height)) for height in HEIGHTS),
    *(
        common.Case("kd-hybrid", KdTree(height, data_levels=height // 2, median_share=common.LINES))
        for height in HEIGHTS
    ),
)


@common.options(releases=20, epsilons="0.01,0.1,1,10")
def main(settings: common.Settings) -> None:
    """Measure trees of all heights; write `error_vs_height.csv` and `error_vs_height.png`."""
    rows = common.run(CASES, settings)
    common.write_csv(rows, settings.output / "error_vs_height.csv")
    save_figure(draw(rows, common.error_caption(rows, settings)), settings.output / "error_vs_height.png")


def draw(rows: Sequence[common.Row], caption: str) -> Figure:
    """Draw a panel for each shape and tree, with a line for each ε and a ring around the lowest point of each line."""
    import matplotlib.pyplot as plt

    shapes, trees, epsilons = (
        list(dict.fromkeys(getattr(row, name) for row in rows)) for name in ("shape", "method", "epsilon")
    )
    size = (10.5, 0.9 + 2.6 * len(shapes))
    figure, axes = plt.subplots(len(shapes), len(trees), figsize=size, sharex=True, sharey="row", squeeze=False)
    for line_of_axes, shape in zip(axes, shapes, strict=True):
        for ax, tree in zip(line_of_axes, trees, strict=True):
            panel_rows = [row for row in rows if (row.shape, row.method) == (shape, tree)]
            lines = [curves.curve([row for row in panel_rows if row.epsilon == each], "height") for each in epsilons]
            curves.draw_curves(ax, lines, [f"ε = {epsilon:g}" for epsilon in epsilons])
            for line in lines:
                best = min(range(len(line.x)), key=lambda place: line.middle[place])
                ax.scatter(line.x[best], line.middle[best], s=90, facecolors="none", edgecolors="0.3", zorder=3)
            ax.set(title=f"{tree}, boxes of {shape}", xticks=sorted({row.height for row in rows}))
        line_of_axes[0].set_ylabel("relative error (%)")
    for ax in axes[-1]:
        ax.set_xlabel("height of the tree")
    finish(figure, "How deep should the tree be? (a ring marks the lowest error)", caption)
    for ax in axes.flat:
        label_lines(ax)
    return figure


if __name__ == "__main__":
    main()
