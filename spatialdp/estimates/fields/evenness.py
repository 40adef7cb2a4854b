"""Could records be spread evenly over the whole grid? Then smoothing by local density only follows the noise.

A field is as rough as the local density allows, and the local density is itself estimated from noisy counts. Where
nothing but noise tells blocks apart, the most accurate map is an even one. The first blocks of the tree decide: if
their best estimates differ by no more than their noise explains, the field gives way to an even density. On all real
data sets that were tried they differ by far more (``docs/design/adaptive.md``). Nothing here sees a record.
"""

from __future__ import annotations

import math

from spatialdp._support.arrays import Floats

__all__ = ["even_density"]

MOST = 2.0  # blocks are not even from here on: their mean square difference, over that of their noise
SURE = 3.0  # standard deviations of its noise by which the number of records must be above zero


def even_density(values: Floats, variances: Floats, sizes: Floats) -> tuple[float, float]:
    """Return the density of blocks if they are equally dense, and how much the even density counts, from 0 to 1.

    Parameters
    ----------
    values, variances : (blocks,) arrays
        Independent estimates of the blocks' counts, and the variances of their noise.
    sizes : (blocks,) array

    Notes
    -----
    With d for the density that fits all blocks best, Σ (z - d a)² / s has as many expected units as there are blocks
    but one, if only noise tells them apart. Up to this mean the even density counts alone, and from `MOST` times the
    mean not at all.

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
    known = math.fsum(sizes**2 / variances)
    if freedom < 1 or known <= 0:
        return 0.0, 0.0
    density = math.fsum(sizes * values / variances) / known
    difference = math.fsum((values - density * sizes) ** 2 / variances) / freedom
    if density * math.sqrt(known) < SURE:
        return density, 0.0
    return density, min(max((MOST - difference) / (MOST - 1), 0.0), 1.0)
