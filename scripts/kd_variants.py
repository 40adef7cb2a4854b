"""Which private kd-tree has the smallest error? Relative errors against ε, beside the best quadtree.

The kd-trees differ in how their split lines are chosen. One of them spends 5 % of ε on the lines instead of the paper's
30 %. True medians are not private: they show how much good lines would gain.
"""

from __future__ import annotations

import common
import curves

from spatialdp import KdTree, Quadtree
from spatialdp.mechanisms.adaptive.kdtree import SplitRule
from spatialdp.outputs.maps.save import save_figure

HEIGHT, QUADTREE_HEIGHT = 8, 10  # as in the paper
REFERENCE = f"quad-opt, height {HEIGHT}"
CASES = (
    common.Case("kd-standard", KdTree(HEIGHT, median_share=common.LINES)),
    common.Case("kd-hybrid", KdTree(HEIGHT, data_levels=HEIGHT // 2, median_share=common.LINES)),
    common.Case("kd-cell", KdTree(HEIGHT, median=SplitRule.CELL, median_share=common.LINES)),
    common.Case("kd-noisymean", KdTree(HEIGHT, median=SplitRule.NOISY_MEAN, median_share=common.LINES)),
    common.Case("kd-true (not private)", KdTree(HEIGHT, median=SplitRule.TRUE)),
    common.Case(REFERENCE, Quadtree(HEIGHT)),
    common.Case(f"quad-opt, height {QUADTREE_HEIGHT}", Quadtree(QUADTREE_HEIGHT)),
    common.Case("kd-hybrid, 5 % on lines", KdTree(HEIGHT, data_levels=HEIGHT // 2, median_share=0.05)),
)


@common.options(releases=20, epsilons="0.01,0.03,0.1,0.3,1,3,10")
def main(settings: common.Settings) -> None:
    """Measure the kd-trees; write `kd_variants.csv` and `kd_variants.png`."""
    rows = common.run(CASES, settings)
    common.write_csv(rows, settings.output / "kd_variants.csv")
    title = f"Private kd-trees of height {HEIGHT} and the best quadtree"
    figure = curves.error_figure(rows, REFERENCE, title, common.error_caption(rows, settings))
    save_figure(figure, settings.output / "kd_variants.png")


if __name__ == "__main__":
    main()
