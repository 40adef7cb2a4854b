"""The descent: every path costs the same, and what is counted next follows from what was released."""

from __future__ import annotations

import itertools
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
import shapely

from spatialdp.mechanisms.adaptive import descent
from spatialdp.mechanisms.adaptive.descent import UNITS, descend, plan_descent
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.laws import Law
from spatialdp.privacy.unit import Person
from spatialdp.space.boxes.subdivision import block_sums, summed_areas
from spatialdp.space.domain import Domain

LAKE = shapely.Point(0.4, 0.5).buffer(0.3)
RELATIONS = tuple(Neighbours)
SHAPES = [(1, 1), (1, 7), (2, 2), (5, 3), (8, 8), (16, 16), (33, 20), (64, 64)]


def planned(shape, epsilon=Fraction(1), law=Law.DISCRETE_LAPLACE, relation=Neighbours.ADD_REMOVE, region=None):
    return plan_descent(Domain((0, 0, 1, 1), region=region).grid(shape), epsilon, law, relation)


def some_counts(design, seed):
    """Counts of all kinds: empty, in one cell, heavy rows, smooth."""
    rng, (nx, ny) = np.random.default_rng(seed), design.grid.shape
    kind = seed % 4
    if kind == 0:
        counts = np.zeros((ny, nx), dtype=int)
    elif kind == 1:
        counts = np.zeros((ny, nx), dtype=int)
        counts[rng.integers(ny), rng.integers(nx)] = 10 ** rng.integers(1, 7)
    elif kind == 2:
        counts = rng.poisson(np.exp(rng.normal(0, 3, (ny, 1))), (ny, nx))
    else:
        counts = rng.poisson(10.0 ** rng.integers(0, 5), (ny, nx))
    return np.where(design.grid.mask, counts, 0)


def measuring(design, counts, rng):
    """A measure with noise of the right variance; it records what it was asked and answered."""
    sums, asked = summed_areas(counts), []

    def measure(blocks, units):
        noisy = block_sums(sums, blocks) + np.rint(rng.laplace(0, np.sqrt(design.moments(units)[0] / 2)))
        asked.append((blocks.copy(), units.copy(), noisy.copy()))
        return noisy

    return measure, asked


def path_sums(design, transcript):
    """Units of all counts that contain each cell, (ny, nx)."""
    nx, ny = design.grid.shape
    total = np.zeros((ny, nx), dtype=int)
    for (x0, y0, x1, y1), units in zip(transcript.blocks, transcript.units, strict=True):
        total[y0:y1, x0:x1] += units
    return total


@pytest.mark.parametrize("region", [None, LAKE], ids=["whole", "region"])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_path_costs_the_same_whatever_the_counts_are(shape, relation, region):
    for seed in range(12):
        design = planned(shape, Fraction(3, 10) ** (seed % 3), relation=relation, region=region)
        measure, _ = measuring(design, some_counts(design, seed), np.random.default_rng(seed))
        sums = path_sums(design, descend(design, measure))
        assert np.all(sums[design.grid.mask] == design.total + design.path)
    paths = 1 if relation is Neighbours.ADD_REMOVE else 2
    assert design.total + paths * design.path == UNITS


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("records", "share"), [(100, 18), (10**7, 8)])
def test_first_blocks_cost_less_where_many_records_were_released(records, share, relation):
    design = planned((64, 64), Fraction(1), relation=relation)
    counts = np.full((64, 64), records // 64**2)
    transcript = descend(design, measuring(design, counts, np.random.default_rng(0))[0])
    assert set(transcript.units[transcript.tree.level(1)]) == {design.path * share // 100}
    assert np.all(path_sums(design, transcript) == design.total + design.path)


@pytest.mark.parametrize("law", [Law.DISCRETE_LAPLACE, Law.GAUSSIAN])
@pytest.mark.parametrize("shape", SHAPES)
def test_released_counts_alone_lead_to_the_same_blocks(shape, law):
    """Replay: the recorded answers, without any data, give the same questions, bit for bit."""
    for seed in range(8):
        design = planned(shape, Fraction(1, 5), law=law)
        measure, asked = measuring(design, some_counts(design, seed), np.random.default_rng(seed))
        first = descend(design, measure)
        answers = iter(asked)

        def replay(blocks, units, answers=answers):
            old_blocks, old_units, values = next(answers)
            assert np.array_equal(blocks, old_blocks)
            assert np.array_equal(units, old_units)
            return values

        again = descend(design, replay)
        for name in ("own_weights", "lowest", "highest"):
            assert np.array_equal(getattr(again, name), getattr(first, name))
        assert next(answers, None) is None


def test_weights_are_fixed_before_counts_are_drawn():
    """The weights of a level do not depend on the level's own counts, nor on those below."""
    design = planned((64, 64), Fraction(1, 2))
    measure, asked = measuring(design, some_counts(design, 3), np.random.default_rng(1))
    first = descend(design, measure)
    levels = first.tree.offsets
    for level in range(1, len(asked)):
        answers = [values for _, _, values in asked]
        answers[level] = answers[level] + np.random.default_rng(level).integers(-50, 50, answers[level].size)
        same = slice(0, int(levels[level + 1]))
        altered = _with_answers(design, answers, level)
        assert np.array_equal(altered.own_weights[same][: levels[level]], first.own_weights[: levels[level]])
        assert np.array_equal(altered.blocks[same], first.blocks[same])
        inner = altered.tree.n_children[same] > 0
        both = inner & (first.tree.n_children[same] > 0)
        assert np.array_equal(altered.own_weights[same][both], first.own_weights[same][both])


def _with_answers(design, answers, level):
    """Answer as given up to a level, and with anything of the right size below it."""
    numbers = itertools.count()

    def measure(blocks, units):
        number = next(numbers)
        return answers[number] if number <= level else np.full(len(blocks), 7.0)

    return descend(design, measure)


def test_bounds_of_counts_say_when_blocks_would_have_been_divided_otherwise():
    """Of the first sixteen blocks; that siblings are less or more alike with another count is left out."""
    design = planned((64, 64), Fraction(1, 2))
    counts = np.random.default_rng(1).poisson(0.3, (64, 64))
    measure, asked = measuring(design, counts, np.random.default_rng(2))
    with mock.patch.object(descent, "heterogeneity", as_uneven_as_usual):
        first = descend(design, measure)
        bounded = np.isfinite(first.lowest) | np.isfinite(first.highest)
        assert np.all(first.tree.n_children[bounded] > 0)
        assert np.all(first.lowest <= first.values + 1e-6)
        assert np.all(first.values <= first.highest + 1e-6)
        blocks = first.tree.level(1)
        assert bounded[blocks].all()
        for place, end in itertools.product(range(16), (first.lowest[blocks], first.highest[blocks])):
            for beyond in (-0.1, 0.1) if np.isfinite(end[place]) else ():
                answers = [values.copy() for _, _, values in asked]
                inside = np.sign(first.values[blocks][place] - end[place])
                answers[1][place] = end[place] - beyond * inside * abs(end[place])
                altered = _with_answers(design, answers, 1)
                assert (divided(altered, place) == divided(first, place)) == (beyond < 0)


def divided(transcript, place):
    """Into how many parts one of the first sixteen blocks was divided, and what each cost."""
    node = int(transcript.tree.offsets[1]) + place
    return transcript.tree.n_children[node], transcript.units[transcript.tree.first_child[node]]


def as_uneven_as_usual(values, family, cells, variance, *, first):
    return np.full(variance.size, 1.5)


def test_blocks_are_small_where_records_are_dense():
    design = planned((64, 64))
    counts = np.zeros((64, 64), dtype=int)
    counts[10:14, 20:24] = 500
    measure, _ = measuring(design, counts, np.random.default_rng(0))
    transcript = descend(design, measure)
    leaves = transcript.blocks[transcript.tree.leaves]
    sizes = (leaves[:, 2] - leaves[:, 0]) * (leaves[:, 3] - leaves[:, 1])
    dense = (leaves[:, 0] >= 20) & (leaves[:, 2] <= 24) & (leaves[:, 1] >= 10) & (leaves[:, 3] <= 14)
    assert dense.sum() >= 4
    assert sizes[dense].max() < np.median(sizes[~dense])


def test_a_block_without_records_is_counted_once_more():
    design = planned((64, 64))
    measure, _ = measuring(design, np.zeros((64, 64), dtype=int), np.random.default_rng(0))
    transcript = descend(design, measure)
    again = np.flatnonzero(transcript.tree.n_children == 1)
    assert again.size > 8
    child = transcript.tree.first_child[again]
    assert np.array_equal(transcript.blocks[child], transcript.blocks[again])


def test_all_costs_that_can_occur_are_known_beforehand():
    for shape in SHAPES:
        design = planned(shape, relation=Neighbours.REPLACE)
        for seed in range(12):
            measure, _ = measuring(design, some_counts(design, seed) * 1000, np.random.default_rng(seed))
            assert set(descend(design, measure).units.tolist()) <= set(design.laws)


@pytest.mark.parametrize("person", [Person(records=5), Person(cells=5), Person(shares=True)], ids=str)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("law", list(Law))
def test_a_person_costs_at_most_the_budget_whatever_the_counts_are(law, relation, person):
    """Sums over all counted blocks of ε k / Δ₁, or ρ k² / Δ₂², for what random persons have in the blocks."""
    grid, worst = Domain((0, 0, 1, 1)).grid((16, 12)), 0.0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        design = plan_descent(grid, Fraction(1), law, relation, person)
        measure, _ = measuring(design, some_counts(design, seed), rng)
        transcript = descend(design, measure)
        change = contribution(rng, person, grid)
        if relation is Neighbours.REPLACE:
            change = change - contribution(rng, person, grid)
        worst = max(worst, cost(design, transcript, block_sums(summed_areas(change), transcript.blocks)))
    assert 0.3 < worst <= 1 + 1e-9


def contribution(rng, person, grid):
    """What one person has in the cells, near one place, in steps; the whole bound."""
    nx, ny = grid.shape
    counts = np.zeros((ny, nx), dtype=np.int64)
    row, column, far = rng.integers(ny), rng.integers(nx), rng.integers(1, 6)
    cells = [((row + i) % ny, (column + j) % nx) for i in range(far) for j in range(far + 5)]
    chosen = rng.permutation(len(cells))[: person.most] if person.cells else rng.integers(0, len(cells), person.most)
    for place in chosen:
        counts[cells[place]] += person.steps
    return counts


def cost(design, transcript, moved):
    """What a change of the blocks' counts costs, as a share of the budget."""
    parameters = np.array([float(design.laws[int(units)].parameter) for units in transcript.units])
    counts = moved * np.array(
        [design.laws[int(units)].steps // design.laws[int(units)].counted for units in transcript.units]
    )
    if design.law is Law.GAUSSIAN:
        return float((counts**2 / (2 * parameters)).sum())
    return float((np.abs(counts) / parameters).sum())


def test_one_law_for_records_would_cost_a_person_more_than_the_budget():
    """The check above fails if the noise is that of one record."""
    grid, person = Domain((0, 0, 1, 1)).grid((16, 12)), Person(records=5)
    design = plan_descent(grid, Fraction(1), Law.DISCRETE_LAPLACE, Neighbours.ADD_REMOVE)
    measure, _ = measuring(design, some_counts(design, 3), np.random.default_rng(3))
    transcript = descend(design, measure)
    change = contribution(np.random.default_rng(3), person, grid)
    assert cost(design, transcript, block_sums(summed_areas(change), transcript.blocks)) > 1
