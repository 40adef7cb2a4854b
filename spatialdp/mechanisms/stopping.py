"""How are a tree's nodes counted, and where does a tree end early? One rule for all trees.

A level is counted with its own budget. A node whose noisy count is under a public threshold ends: it
is not divided. The budget that its path would have spent below goes into a second count of the node,
and both counts are combined by inverse variance. So every path from the root to a leaf costs the same,
whether it ends early or not. Decisions must depend on noisy counts only, never on exact ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from spatialdp._support.arrays import Booleans, Floats, Integers
from spatialdp.privacy.neighbours import Sensitivity
from spatialdp.privacy.noise.laws import Law, NoiseLaw, calibrate, noisy
from spatialdp.privacy.noise.source import Noise
from spatialdp.space.boxes.tree import Tree

__all__ = [
    "NoisyCounts",
    "NoisyLevel",
    "Stopping",
    "count_again",
    "count_level",
    "count_tree",
    "joined",
    "stopping_rule",
]


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """Noisy counts of nodes, with the variance and kurtosis of their noise.

    Attributes
    ----------
    values : (nodes,) array
    variances, kurtosis : arrays
        One for each node or one for each level.
    """

    values: Floats
    variances: Floats
    kurtosis: Floats


@dataclass(frozen=True, eq=False)
class NoisyLevel(NoisyCounts):
    """Noisy counts of some nodes of one depth.

    Attributes
    ----------
    ended : (nodes,) bool array
        Whether each node ends here because its noisy count is under the threshold.
    """

    ended: Booleans


@dataclass(frozen=True)
class Stopping:
    """The rule by which nodes end.

    Attributes
    ----------
    threshold : float
        Public. Nodes whose noisy count is below the threshold are not divided.
    second_laws : tuple of NoiseLaw
        Noise of the second count of a node that ends, for each depth but the deepest.
    """

    threshold: float
    second_laws: tuple[NoiseLaw, ...]

    def named_laws(self) -> dict[str, NoiseLaw]:
        """Return the noise of second counts by name; the steps below a node that ends pay for them."""
        return {f"second counts at depth {depth}": law for depth, law in enumerate(self.second_laws)}


def stopping_rule(
    threshold: float, left: Sequence[Fraction], law: Law, sensitivities: Sequence[Sensitivity]
) -> Stopping:
    """Make the rule for a threshold, with the noise of second counts.

    Parameters
    ----------
    threshold : float
    left : sequence of Fraction
        For each depth but the deepest, the budget that a path has left to spend below that depth.
    law : Law
    sensitivities : sequence of Sensitivity
        Sensitivity of the counts of each of these depths.
    """
    pairs = zip(left, sensitivities, strict=True)
    return Stopping(threshold, tuple(calibrate(law, cost, sensitivity) for cost, sensitivity in pairs))


def count_level(
    counts: Integers, depth: int, laws: Sequence[NoiseLaw | None], stopping: Stopping | None, noise: Noise
) -> NoisyLevel:
    """Count the nodes of one depth with noise, and count those that end a second time.

    Parameters
    ----------
    counts : int array
        Exact counts of the nodes.
    depth : int
    laws : sequence of NoiseLaw or None
        Noise of each depth, root first; a depth without a law is not counted, and no node ends there.
    stopping : Stopping, optional
        Without it no node ends.
    noise : Noise
    """
    law = laws[depth]
    values = noisy(counts, law, noise)
    variance, kurtosis = (np.inf, 0.0) if law is None else (law.variance, law.kurtosis)
    variances, kurtoses = np.full(values.size, variance), np.full(values.size, kurtosis)
    ended = np.zeros(values.size, dtype=bool)
    if stopping is not None and law is not None and depth < len(laws) - 1:
        ended = values < stopping.threshold
    if stopping is not None and law is not None and ended.any():
        values[ended], variances[ended], kurtoses[ended] = count_again(
            counts[ended], values[ended], law, stopping.second_laws[depth], noise
        )
    return NoisyLevel(values, variances, kurtoses, ended)


def count_again(
    counts: Integers, first_counts: Floats, law: NoiseLaw, second: NoiseLaw, noise: Noise
) -> tuple[Floats, float, float]:
    """Count nodes a second time; returns both counts combined by inverse variance, their variance and kurtosis.

    Parameters
    ----------
    counts : int array
        Exact counts of the nodes.
    first_counts : float array
        The first noisy counts of the nodes.
    law, second : NoiseLaw
        Noise of the first and of the second count.
    noise : Noise
    """
    second_counts = second.add_to(counts, noise)
    total = law.variance + second.variance
    weights = (second.variance / total, law.variance / total) if total else (0.5, 0.5)
    variance = sum(w**2 * each.variance for w, each in zip(weights, (law, second), strict=True))
    fourth = sum(w**4 * each.variance**2 * each.kurtosis for w, each in zip(weights, (law, second), strict=True))
    values = weights[0] * first_counts + weights[1] * second_counts
    return values, variance, fourth / variance**2 if variance else 0.0


def count_tree(
    tree: Tree, counts: Integers, laws: Sequence[NoiseLaw | None], stopping: Stopping, noise: Noise
) -> tuple[Tree, NoisyCounts]:
    """Count the nodes of a public tree from the root down, except those below nodes that end.

    Parameters
    ----------
    tree : Tree
    counts : int array
        Exact count of each node.
    laws, stopping, noise
        As for `count_level`.

    Returns
    -------
    tree : Tree
        The tree of the nodes that were counted.
    noisy : NoisyCounts
        Their noisy counts.
    """
    levels: list[NoisyLevel] = []
    divided, alive = np.zeros(tree.n_nodes, dtype=bool), np.ones(1, dtype=bool)
    for depth in range(tree.height + 1):
        nodes = np.arange(tree.offsets[depth], tree.offsets[depth + 1])[alive]
        if not nodes.size:
            break
        levels.append(count_level(counts[nodes], depth, laws, stopping, noise))
        if depth < tree.height:
            divided[nodes] = ~levels[-1].ended
            alive = tree.to_children(depth, divided[tree.level(depth)])
    return tree.prune(divided)[0], joined(levels)


def joined(levels: Sequence[NoisyLevel]) -> NoisyCounts:
    """The noisy counts of several levels, root first, as those of one tree."""
    values, variances, kurtosis = (
        np.concatenate([getattr(level, name) for level in levels]) for name in ("values", "variances", "kurtosis")
    )
    return NoisyCounts(values, variances, kurtosis)
