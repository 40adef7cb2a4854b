"""How should the budget be divided over the levels of states, counties and smaller zones? The table of budgets.

The numbers of counties of each US state are real. The levels below counties are drawn, with a seed: about 27 tracts a
county, very unevenly, 2.9 block groups a tract, and 33 blocks a block group, as the census has them. For each tree,
law and rule the table shows the shares of the levels, root first, the standard deviations by level at ε = 1 (ρ = 1 for
Gaussian noise), and the sum f of the mean variances of the levels, or their mean over all zones. Nothing here is a
record, and nothing is random but the tree.

Run it as ``python scripts/zone_budgets.py --output figures``. ``--counties FILE`` names another Parquet file with a row
for each county and a column `state`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from spatialdp._support.arrays import Floats, Integers
from spatialdp._support.tables import markdown
from spatialdp.privacy.noise.laws import Law
from spatialdp.space.zones.chains import Chains, merged
from spatialdp.strategies.zone_budgets import ZoneObjective, best_shares, importance_of_levels
from spatialdp.trees.shape import TreeShape
from spatialdp.trees.tree_noise import TreeNoise

COUNTIES = Path(__file__).parents[1] / "datasets" / "us_counties.parquet"
SEED = 17


def zone_tree(n_counties: Sequence[int], levels: int, seed: int = SEED) -> TreeShape:
    """The tree of all zones, states, counties and, with more levels, tracts, block groups and blocks."""
    rng = np.random.default_rng(seed)
    families = [np.array([len(n_counties)]), np.asarray(n_counties)]
    for depth in range(2, levels - 1):
        n = int(families[-1].sum())
        if depth == 2:
            drawn = np.rint(rng.lognormal(2.17, 1.5, n))
        elif depth == 3:
            drawn = 1.0 + rng.poisson(1.9, n)
        else:
            drawn = np.rint(rng.lognormal(3.25, 0.7, n))
        families.append(np.maximum(drawn, 1).astype(np.int64))
    families.append(np.zeros(int(families[-1].sum()), dtype=np.int64))
    offsets = np.concatenate([[0], np.cumsum([family.size for family in families])])
    return TreeShape(offsets, np.concatenate(families))


def objective(shape: TreeShape, chains: Chains, law: Law, *, every: bool) -> ZoneObjective:
    """The mean variance of all zones, or the sum of the levels' mean variances."""
    size = chains.shape.n_nodes
    importance = importance_of_levels(shape, chains.place, size)
    if every:
        importance = np.bincount(chains.place, minlength=size) / chains.place.size
    scales = np.full(len(chains.spans), 2.0 if law is Law.LAPLACE else 0.5)  # 2/ε², 1/2ρ
    return ZoneObjective(chains.shape, chains.group, chains.spans, importance, law, scales)


def rules(objective: ZoneObjective, levels: int) -> Iterator[tuple[str, Floats]]:
    """The rules that are compared: names and shares of the levels."""
    yield "uniform", np.full(levels, 1 / levels)
    growing = 2 ** (np.arange(levels) / (objective.power + 1))
    yield "geometric", growing / growing.sum()
    yield "best", np.array(best_shares(objective))


def deviations(shape: TreeShape, chains: Chains, law: Law, shares: Floats) -> Floats:
    """Standard deviation of the fitted estimates of each level's zones (root mean square)."""
    paid = np.concatenate([[0.0], np.cumsum(shares)])
    costs = np.maximum(paid[chains.spans[:, 1] + 1] - paid[chains.spans[:, 0]], 0.0)
    with np.errstate(divide="ignore"):
        noise = np.where(costs > 1e-15, 2 / costs**2 if law is Law.LAPLACE else 0.5 / costs, np.inf)
    variances = TreeNoise(chains.shape, noise[chains.group], np.zeros(chains.shape.n_nodes)).fitted_variances()
    means = np.add.reduceat(variances[chains.place], shape.offsets[:-1]) / np.diff(shape.offsets)
    return np.asarray(np.sqrt(means))


def rows(n_counties: Sequence[int]) -> Iterator[list[str]]:
    """The lines of the table."""
    cases = ((4, Law.LAPLACE, False), (6, Law.LAPLACE, False), (6, Law.GAUSSIAN, False), (4, Law.LAPLACE, True))
    for levels, law, every in cases:
        shape = zone_tree(n_counties, levels)
        chains = merged(shape)
        zones = objective(shape, chains, law, every=every)
        tree = f"{levels} levels, {shape.n_nodes:,} zones, {law}{', mean over all zones' * every}"
        for rule, shares in rules(zones, levels):
            sd = deviations(shape, chains, law, shares)
            yield [tree, rule, _listed(shares, "{:.3f}"), _listed(sd, "{:.3g}"), f"{zones.at(shares)[0]:.4g}"]


def _listed(values: Floats, form: str) -> str:
    return " ".join(form.format(value).removeprefix("0") or "0" for value in values.tolist())


def counties_of(path: Path) -> Integers:
    """Number of counties of each state."""
    states = pq.read_table(path, columns=["state"])["state"].to_pylist()
    return np.unique(np.array(states, dtype=str), return_counts=True)[1]


def main() -> None:
    """Compute the table and write `zone_budgets.md`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("figures"))
    parser.add_argument("--counties", type=Path, default=COUNTIES, help="Parquet file with a row for each county")
    settings = parser.parse_args()
    lines = [["tree", "rule", "shares, root first", "sd by level", "f"], *rows(counties_of(settings.counties).tolist())]
    note = "Levels below counties are drawn. f: sum of the levels' mean variances, or the mean over all zones."
    settings.output.mkdir(parents=True, exist_ok=True)
    (settings.output / "zone_budgets.md").write_text(f"{markdown(lines)}\n\n{note}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
