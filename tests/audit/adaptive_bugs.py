"""Which bugs could an adaptive tree have? Patches that plant them; `mutants` names the checks that must catch them.

All but two break the promise. Those two bias the unbiased reading: they weigh counts by what became of them.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np

from spatialdp.mechanisms.adaptive import adaptive_tree, choices, descent
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.records.counting import count_cells
from spatialdp.space.boxes.subdivision import block_sums, summed_areas
from spatialdp.trees.least_squares import two_pass

Patch = contextlib.AbstractContextManager[Any]


@contextlib.contextmanager
def _knowing_the_truth(name: str, change: Callable[..., Any]) -> Iterator[None]:
    """Replace a function of the descent by one that also gets a function from blocks to their true counts."""
    counter, real, truth = adaptive_tree._counter, getattr(descent, name), {}

    def counted(points: Any, design: Any, noise: Any) -> Any:
        truth["sums"] = summed_areas(count_cells(points, design.grid))
        return counter(points, design, noise)

    def changed(*args: Any, **options: Any) -> Any:
        return change(real, lambda blocks: block_sums(truth["sums"], blocks), *args, **options)

    with mock.patch.object(adaptive_tree, "_counter", counted), mock.patch.object(descent, name, changed):
        yield


def decided_by_true_counts() -> Patch:
    """Divide blocks by their true counts instead of fitted ones."""
    return _knowing_the_truth("_fitted", lambda real, count, design, levels: count(levels[-1].blocks).astype(float))


def ended_where_nothing_is() -> Patch:
    """Do not divide blocks that hold no record."""

    def choice(real: Any, count: Any, design: Any, division: Any, level: Any, estimates: Any, stage: int) -> Any:
        found = real(design, division, level, estimates, stage)
        empty = count(level.blocks[found.nodes]) == 0
        halvings, left = np.where(empty, 0, found.halvings), level.left[found.nodes]
        return dataclasses.replace(found, halvings=halvings, units=np.where(empty, left, found.units))

    return _knowing_the_truth("_choice", choice)


def repeated_counts_are_free() -> Patch:
    """Count a block that is not divided once more as if its first count had cost nothing."""
    real = descent._next_level

    def next_level(design: Any, division: Any, level: Any, choice: Any, measure: Any) -> Any:
        spent = np.where(choice.halvings == 0, level.units[choice.nodes], 0)
        result = real(design, division, level, dataclasses.replace(choice, units=choice.units + spent), measure)
        result.left = np.maximum(result.left, 0)
        return result

    return mock.patch.object(descent, "_next_level", next_level)


def one_path_under_replace() -> Patch:
    """Give each path the whole budget although a replaced record changes two of them."""
    real = descent.plan_descent
    return mock.patch.object(
        adaptive_tree,
        "plan_descent",
        lambda grid, whole, law, neighbours, person: real(grid, whole, law, Neighbours.ADD_REMOVE, person),
    )


def weights_from_their_own_counts() -> Patch:
    """Forecast the noise below a block, and so the weight of its count, from the count itself."""
    real = descent._next_level

    def next_level(design: Any, division: Any, level: Any, choice: Any, measure: Any) -> Any:
        result = real(design, division, level, choice, measure)
        expected, left = np.maximum(result.values, 0.0), np.maximum(result.left, 1)
        below = choices.forecast_variance(expected, left, design.strength)
        own = descent.CAUTION * below / (below + design.moments(result.units)[0])
        result.own_weights = np.where(result.left > 0, own, 1.0)
        return result

    return mock.patch.object(descent, "_next_level", next_level)


def least_squares() -> Patch:
    """Read the tree by least squares, whose weights depend on which blocks were divided."""
    real = adaptive_tree._unbiased

    def fitted(design: Any, transcript: Any) -> Any:
        basis = real(design, transcript)
        values = two_pass(basis.tree, transcript.values, basis.variances).estimates
        return dataclasses.replace(basis, values=values, own_weights=None)

    return mock.patch.object(adaptive_tree, "_unbiased", fitted)
