"""Which table is the map of a release of zones? One row for each zone: its level, code and parent, estimate and noise.

The rows of a level are the zones of its depth and the leaves above it, as on a map. The whole table has each zone once.
Everything here is computed from a release, which is public.
"""

from __future__ import annotations

import numpy as np

from spatialdp._support.arrays import Array, Floats, Integers, Objects
from spatialdp.estimates.answers import About, Answers
from spatialdp.estimates.unevenness.allowance import Allowance
from spatialdp.estimates.zones.counts import ZoneCounts

__all__ = ["node_answers", "zone_columns", "zone_numbers"]


def node_answers(estimate: ZoneCounts, nodes: Integers, about: About = About.TRUTH) -> Answers:
    """Return the estimates of declared zones and what is known of their errors; whole zones have no allowance."""
    sums = estimate.of_nodes(nodes)
    whole = np.zeros(nodes.size, dtype=bool)
    nothing = Allowance(np.zeros(nodes.size)) if about is About.TRUTH else None
    return Answers(sums.values, sums.variance, sums.kurtosis, estimate.step, whole, nothing)


def zone_columns(estimate: ZoneCounts, nodes: Integers) -> dict[str, Array]:
    """Return what names each zone: the name of its level, its code, and the code of its parent."""
    zones = estimate.zones
    shape = zones.shape
    levels: Objects = np.array(zones.levels, dtype=object)[shape.depth[nodes]]
    parents = np.array(zones.codes, dtype=object)[shape.parent[nodes]]
    parents[shape.depth[nodes] == 0] = None
    return {"level": levels, "zone": np.array(zones.codes, dtype=object)[nodes], "parent": parents}


def zone_numbers(estimate: ZoneCounts, nodes: Integers, level: float) -> dict[str, Floats]:
    """Return the estimate of each zone and, unless the estimates are biased, its interval and standard deviation."""
    answers = node_answers(estimate, nodes)
    if estimate.biased:
        return {"estimate": answers.values}
    lower, upper = answers.ends(level).T
    return {"estimate": answers.values, "lower": lower, "upper": upper, "sd": np.sqrt(answers.variance)}
