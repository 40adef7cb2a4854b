"""Which of the four private quadtrees of Cormode et al. has the smallest error? Relative errors against ε.

The quadtrees differ in two choices: the budget is equal on all levels or grows towards the leaves, and least squares
makes the counts consistent or not.
"""

from __future__ import annotations

import common
import curves

from spatialdp import Quadtree
from spatialdp.outputs.maps.save import save_figure

HEIGHT = 10
CASES = (
    common.Case("quad-baseline", Quadtree(HEIGHT, budget="uniform", consistent=False)),
    common.Case("quad-geo", Quadtree(HEIGHT, consistent=False)),
    common.Case("quad-post", Quadtree(HEIGHT, budget="uniform")),
    common.Case("quad-opt", Quadtree(HEIGHT)),
)


@common.options(releases=20, epsilons="0.01,0.03,0.1,0.3,1,3,10")
def main(settings: common.Settings) -> None:
    """Measure the four quadtrees; write `quadtree_variants.csv` and `quadtree_variants.png`."""
    rows = common.run(CASES, settings)
    common.write_csv(rows, settings.output / "quadtree_variants.csv")
    title = f"Private quadtrees of height {HEIGHT}: budgets and consistency"
    figure = curves.error_figure(rows, "quad-opt", title, common.error_caption(rows, settings))
    save_figure(figure, settings.output / "quadtree_variants.png")


if __name__ == "__main__":
    main()
