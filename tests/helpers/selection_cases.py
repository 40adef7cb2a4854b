"""Cases of choices, thresholds and functions of blocks, for the one list of a curator's questions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import shapely

import spatialdp as sdp
from spatialdp.curator.answers import Answers, NoInterval

REGIONS = [(0, 0, 5, 8), (3, 0, 8, 8), (3, 3, 6, 6), (0, 0, 8, 8)]
SHAPES = [shapely.Polygon([(0, 0), (8, 0), (0, 8)]), shapely.box(2, 2, 8, 8), shapely.box(0, 0, 8, 8)]
PRICES = (1, Fraction(5, 2), 4, 0.5)
SIGNED = (1, -2, 3, 0)


def _threshold(limit: int) -> Any:
    def ask(curator: sdp.Curator, epsilon: Fraction) -> Answers:
        with curator.above_threshold(3, limit=limit, epsilon=epsilon) as above:
            answers = []
            for box in REGIONS[: max(limit, 2)] if limit > 1 else REGIONS[2:]:
                if above.left:
                    answers.append(above.ask(box))
        return Answers(np.array(answers), above.privacy, NoInterval("answers are yes or no."))

    return ask


def spread(table: Any) -> float:
    """A function of a block that one record moves far: how wide its records lie."""
    return float(np.ptp(table[:, 0]) * 1e9 - 1)


def _blocks(aggregate: str) -> Any:
    return lambda curator, epsilon: curator.sample_and_aggregate(
        spread, blocks=3, bounds=(0, 8), aggregate=aggregate, epsilon=epsilon
    )


SELECTION_ASKS: dict[str, Any] = {
    "choose": lambda curator, epsilon: curator.choose(REGIONS, epsilon=epsilon),
    "choose, exponential": lambda curator, epsilon: curator.choose(REGIONS, epsilon=epsilon, selection="exponential"),
    "choose, prices": lambda curator, epsilon: curator.choose(REGIONS, PRICES, epsilon=epsilon),
    "choose, signed": lambda curator, epsilon: curator.choose(REGIONS, SIGNED, epsilon=epsilon),
    "choose, polygons": lambda curator, epsilon: curator.choose(SHAPES, epsilon=epsilon, selection="exponential"),
    "above_threshold": _threshold(1),
    "above_threshold, three": _threshold(3),
    "sample_and_aggregate": _blocks("median"),
    "sample_and_aggregate, mean": _blocks("mean"),
}
