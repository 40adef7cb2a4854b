"""Is a query denser than the leaves that it cuts? Then these may have most of their records inside it.

A leaf of a kd-tree beside a town reaches far into empty country and has its records on the town's side. A box or
polygon around the town cuts off the empty country, so all its edges err in the same direction. What the query covers
whole shows it: the covered part of a cut leaf may be as dense as that, with at most the leaf's records. See
``docs/design/unevenness.md``. The explorer's ``uneven.mjs`` computes the same and must change with this module.

Everything here is computed from released numbers, so it costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp.trees.pairs import Pairs

__all__ = ["contrast_variance"]


def contrast_variance(levels: Sequence[Pairs], shift: Floats, firsts: Floats, areas: Floats) -> Floats:
    """Mean squared error of answers, if any truth is as likely that makes cut leaves at most as dense as whole nodes.

    It is 0 for queries that are less dense than the leaves that they cut, or that cover no node whole.

    Parameters
    ----------
    levels : sequence of Pairs
        The pairs of queries and nodes, depth by depth.
    shift : (queries,) array
        What the answers are changed by already.
    firsts, areas : (nodes,) arrays
        Cautious expected counts, and areas in any unit.

    Returns
    -------
    (queries,) array
    """
    count = shift.size
    whole, more = np.zeros((2, count)), np.zeros(count)
    for pairs in levels:
        covered = ~pairs.divided & (pairs.coverage == 1)
        box, node = pairs.box[covered], pairs.node[covered]
        whole += [np.bincount(box, part[node], minlength=count) for part in (firsts, areas)]
    expected, area = whole
    density = expected / np.where(area > 0, area, 1.0)
    for pairs in levels:
        cut = pairs.cut_leaves
        box, node, share = pairs.box[cut], pairs.node[cut], pairs.coverage[cut]
        alike = np.minimum(firsts[node], share * areas[node] * density[box])
        more += np.bincount(box, alike - share * firsts[node], minlength=count)
    return np.where(area > 0, np.maximum(more - shift, 0.0) ** 2 / 3, 0.0)
