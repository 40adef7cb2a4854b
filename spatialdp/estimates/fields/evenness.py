"""Could records lie anywhere with equal chances? Then smoothing by local density only follows the noise.

A field is as rough as the local density allows, and the local density is itself estimated from noisy counts. Where
nothing but noise and chance tells blocks apart, another reading is more accurate: least squares that expect each leaf
to have its share of all records, give or take what chance explains. The first blocks of the tree decide whether that is
so. On all real data sets that were tried they differ by far more (``docs/design/adaptive.md``). Nothing here sees a
record.
"""

from __future__ import annotations

import math

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp.estimates.fields.coarse import BlockTree
from spatialdp.trees.least_squares import two_pass

__all__ = ["even_density", "even_leaves"]

MOST = 2.0  # blocks are not even from here on: their mean square difference, over that of their noise
SURE = 3.0  # standard deviations of its noise by which the number of records must be above zero
_LEAST = 1e-9  # expected records of a leaf


def even_density(values: Floats, variances: Floats, sizes: Floats) -> tuple[float, float]:
    """Return the density of blocks if all are equally dense, and how much this counts, from 0 to 1.

    Parameters
    ----------
    values, variances : (blocks,) arrays
        Independent estimates of the blocks' counts, and the variances of their noise.
    sizes : (blocks,) array

    Notes
    -----
    With equal chances, counts have a variance of d a beside that of noise, for the density d and a block's size a. For
    the d that fits all blocks best, Σ (z - d a)² / (s + d a) is then about as large as there are blocks but one. Up to
    this the even density counts alone, and from `MOST` times as much on not at all.

    Examples
    --------
    >>> import numpy as np
    >>> sizes, noise = np.full(4, 100.0), np.full(4, 30.0**2)
    >>> [round(each, 2) for each in even_density(np.array([480.0, 510.0, 530.0, 480.0]), noise, sizes)]
    [5.0, 1.0]
    >>> even_density(np.array([300.0, 700.0, 500.0, 500.0]), noise, sizes)[1]
    0.0
    """
    freedom = values.size - 1
    density, known = _density(values, variances, sizes)
    if freedom < 1 or density * math.sqrt(known) < SURE:
        return density, 0.0
    by_chance = variances + density * sizes
    density = _density(values, by_chance, sizes)[0]
    difference = math.fsum((values - density * sizes) ** 2 / by_chance) / freedom
    return density, min(max((MOST - difference) / (MOST - 1), 0.0), 1.0)


def _density(values: Floats, variances: Floats, sizes: Floats) -> tuple[float, float]:
    """The density that fits best, and one over the variance of its error; 0 if there is nothing to fit."""
    known = math.fsum(sizes**2 / variances)
    return (math.fsum(sizes * values / variances) / known if known > 0 else 0.0), known


def even_leaves(nodes: BlockTree, sizes: Floats, density: float) -> Floats:
    """Estimate the counts of leaves by least squares, if records lie with equal chances wherever there are cells.

    Parameters
    ----------
    nodes : BlockTree
    sizes : (leaves,) array
    density : float
        Above 0.
    """
    leaves, expected = nodes.tree.leaves, np.maximum(density * sizes, _LEAST)
    values, precision = nodes.measured.copy(), 1 / nodes.variances
    # A leaf's count is known before it is measured, from its share of all records.
    values[leaves] = (values[leaves] * precision[leaves] + 1.0) / (precision[leaves] + 1 / expected)
    precision[leaves] += 1 / expected
    return two_pass(nodes.tree, values, 1 / precision).estimates[leaves]
