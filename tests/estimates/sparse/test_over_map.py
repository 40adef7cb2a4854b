"""Does a list over a map answer by its formula, and know its noise?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import ReleaseError
from spatialdp.estimates.answers import About, Answers
from spatialdp.estimates.sparse.over_map import ListOverMap

DOMAIN = sdp.Domain((0, 0, 1, 1))
HOT = np.repeat([[0.3, 0.7], [0.31, 0.9], [0.9, 0.1]], [900, 700, 800], axis=0)
BOXES = np.array([(0.2, 0.6, 0.31, 0.8), (0, 0, 1, 1), (0, 0.5, 0.5, 1), (0.29, 0.1, 0.95, 0.75), (0.86, 0, 0.9, 0.11)])
RUNS = 20_000
FALSE_ALARM = 5  # standard errors


def released(mechanism=None, noise=1):
    mechanism = mechanism or sdp.SparseMap((16, 16), blocks=(4, 2))
    return mechanism.release(HOT, DOMAIN, epsilon=1, noise=sdp.SeededNoise(noise))


def covered(area, box):
    sides = [max(0, min(area[i + 2], box[i + 2]) - max(area[i], box[i])) / (area[i + 2] - area[i]) for i in (0, 1)]
    return sides[0] * sides[1]


def test_boxes_are_answered_by_the_formula():
    """By the block's estimate without the listed counts, evenly spread, and the listed cells at their places."""
    release = released()
    blocks, listed = release.estimate.map, release.estimate.listed
    assert listed.n_cells >= 3
    cells = listed.grid.boxes(listed.columns, listed.rows)
    for box in BOXES:
        expected = 0.0
        for column in range(4):
            for row in range(2):
                block = (column / 4, row / 2, (column + 1) / 4, (row + 1) / 2)
                inside = [i for i, cell in enumerate(cells) if covered(block, cell) > 0]
                rest = replace(release, estimate=blocks).answer(block) - listed.values[inside].sum()
                expected += covered(block, box) * rest
                expected += sum(listed.values[i] * covered(cells[i], box) for i in inside)
        assert release.answer(box) == pytest.approx(expected, abs=1e-3)
        assert release.answer_polygons(shapely.box(*box)) == pytest.approx(expected, abs=1e-3)
        polygon = release.interval_polygons(shapely.box(*box), about="noise")
        assert polygon == pytest.approx(release.interval(box, about="noise"), abs=1e-3)


REGION = shapely.Polygon([(0, 0), (1, 0), (1, 0.4), (0.35, 0.8), (0.28, 0.95), (0, 0.3)])
TRIANGLES = [shapely.Polygon([(0.05, 0.2), (0.9, 0.02), (0.33, 0.93)]), shapely.Polygon([(0.2, 1), (0.3, 0.6), (1, 1)])]


@pytest.mark.parametrize("blocks", [(4, 2), (3, 5)], ids=str)
@pytest.mark.parametrize("rule", ["touching", "centres"])
@pytest.mark.parametrize("region", [None, REGION], ids=["whole", "region"])
def test_blocks_that_hold_nothing_but_listed_cells_are_answered_by_the_list(region, rule, blocks):
    """The share of a block that is taken off for the list is the one that the map gives, at a region's border too."""
    if region is None and rule == "centres":
        return
    domain = sdp.Domain((0, 0, 1, 1), region=region, region_cells=rule)
    mechanism = sdp.SparseMap((2**10 * blocks[0], 2**9 * blocks[1]), blocks=blocks)
    release = mechanism.release(HOT, domain, epsilon=1, noise=sdp.SeededNoise(1))
    made, listed, cells = release.estimate, release.estimate.listed, release.estimate.listed.leaf_boxes()
    assert listed.n_cells
    within = [(cells[:, :2] >= box[:2]) & (cells[:, 2:] <= box[2:]) for box in made.map.tree.boxes]
    sums = np.array([listed.values[inside.all(axis=1)].sum() for inside in within])
    same = replace(release, estimate=replace(made, map=replace(made.map, values=sums)))
    alone = replace(release, estimate=listed)
    np.testing.assert_allclose(same.answer(BOXES), alone.answer(BOXES), atol=1e-6)
    np.testing.assert_allclose(same.answer_polygons(TRIANGLES), alone.answer_polygons(TRIANGLES), atol=0.05)
    parts = [(0, 0, 0.305, 1), (0.305, 0, 1, 0.31), (0.305, 0.31, 1, 1)]
    assert release.answer(parts).sum() == pytest.approx(release.total)


def test_whole_blocks_keep_the_estimates_of_the_map_and_parts_add_up():
    release = released(sdp.SparseMap((2**30, 2**30), blocks=(8, 8)))
    of_map = replace(release, estimate=release.estimate.map)
    whole = [(0, 0, 1, 1), (0.25, 0.5, 0.5, 0.875)]
    np.testing.assert_allclose(release.answer(whole), of_map.answer(whole))
    np.testing.assert_allclose(release.interval(whole), of_map.interval(whole))
    assert release.total == of_map.total
    lines = [0, 0.299, 0.305, 0.7, 1]
    parts = [(lines[i], 0, lines[i + 1], 1) for i in range(4)]
    assert release.answer(parts).sum() == pytest.approx(release.total)
    assert abs(release.answer((0.2999, 0.6999, 0.3001, 0.7001)) - 900) < 100


def coefficients(estimate: ListOverMap, boxes):
    """What each block's and each listed cell's error adds to the errors of answers."""
    columns = []
    leaves = np.flatnonzero(estimate.map.tree.leaves)
    for leaf in leaves:
        values = np.zeros(estimate.map.tree.n_nodes)
        values[[0, leaf]] = 1
        made = replace(estimate.map, values=values)
        columns.append(replace(estimate, map=made, listed=still(estimate.listed)).answer(boxes))
    nothing = replace(estimate.map, values=np.zeros(estimate.map.tree.n_nodes))
    for cell in range(estimate.listed.n_cells):
        one = np.zeros(estimate.listed.n_cells)
        one[cell] = 1
        columns.append(replace(estimate, map=nothing, listed=replace(estimate.listed, values=one)).answer(boxes))
    return np.stack(columns, axis=1)


def still(listed):
    return replace(listed, values=np.zeros(listed.n_cells))


def errors_of(mechanism, scale=1, seed=3):
    """Errors of `RUNS` releases with the same list, from the laws of the design, and the estimate that they are of."""
    design = mechanism.prepare(DOMAIN, epsilon=1).design
    estimate = released(mechanism).estimate
    law_of_list, law_of_map = design.listing.law, design.blocks.laws[-1]
    noise = sdp.SeededNoise(seed)
    drawn = [
        noise.laplace(law.parameter * scale, RUNS * count).reshape(RUNS, count) / law.steps
        for law, count in ((law_of_map, estimate.map.n_cells), (law_of_list, estimate.listed.n_cells))
    ]
    boxes = DOMAIN.boxes(BOXES)
    return np.concatenate(drawn, axis=1) @ coefficients(estimate, boxes).T, estimate, boxes


def is_right(errors, estimate, boxes):
    """Whether variances, kurtosis and coverage are those that are promised, as far as draws tell."""
    variance, kurtosis = estimate.moments(boxes)
    spread = variance * np.sqrt((kurtosis + 2) / RUNS)
    moments = np.all(np.abs((errors**2).mean(axis=0) - variance) < FALSE_ALARM * spread)
    right = bool(moments)
    for level in (0.5, 0.9, 0.95, 0.99):
        answers = Answers.of_boxes(estimate, boxes, About.NOISE)
        half = np.diff(answers.ends(level), axis=1)[:, 0] / 2
        share = (np.abs(errors) <= half + 1e-9).mean(axis=0)
        right &= bool(np.all(share > level - FALSE_ALARM * np.sqrt(level * (1 - level) / RUNS)))
    return right


@pytest.mark.statistical
@pytest.mark.parametrize("shape", [(16, 16), (2**30, 2**30)], ids=["cells", "lattice"])
def test_noise_is_that_of_the_formula_and_a_wrong_scale_is_found(shape):
    mechanism = sdp.SparseMap(shape, blocks=(4, 2))
    assert list(mechanism.plan(DOMAIN, epsilon=1).budget)[2:] == ["map: counts of cells"]  # one level
    assert is_right(*errors_of(mechanism))
    assert not is_right(*errors_of(mechanism, scale=2))
    errors, estimate, boxes = errors_of(mechanism)
    without = replace(estimate, listed=replace(estimate.listed, variance=1e-9))
    assert not is_right(errors, without, boxes)


@pytest.mark.statistical
def test_intervals_about_the_truth_cover_it():
    random = np.random.default_rng(5)
    towns = 0.5 + 0.15 * random.standard_normal((3000, 2))
    records = np.concatenate([HOT, towns[((towns > 0) & (towns < 1)).all(axis=1)]])
    low = random.random((40, 2)) * 0.7
    boxes = np.hstack([low, low + 0.1 + 0.2 * random.random((40, 2))])
    truth = [((records >= box[:2]) & (records < box[2:])).all(axis=1).sum() for box in boxes]
    prepared = sdp.SparseMap((2**20, 2**20), blocks=(16, 16)).prepare(DOMAIN, epsilon=1)
    noise, hits = sdp.SeededNoise(8), {"truth": 0, "noise": 0}
    for _ in range(25):
        release = prepared.release(records, noise=noise)
        for about in hits:
            ends = release.interval(boxes, level=0.9, about=about)
            hits[about] += ((ends[:, 0] <= truth) & (truth <= ends[:, 1])).sum()
    assert hits["truth"] > 0.9 * 25 * 40
    assert hits["noise"] < 0.9 * 25 * 40  # the test would see that an allowance is missing


def test_nothing_listed_leaves_the_map():
    release = sdp.SparseMap((2**30, 2**30), blocks=(4, 4), false=1e-9).release([], DOMAIN, epsilon=1)
    assert release.estimate.listed.n_cells == 0
    of_map = replace(release, estimate=release.estimate.map)
    np.testing.assert_array_equal(release.answer(BOXES), of_map.answer(BOXES))
    np.testing.assert_allclose(release.interval(BOXES), of_map.interval(BOXES))


def test_numbers_are_not_adjusted():
    release = released()
    for adjust in (release.non_negative, release.rounded, release.sample):
        with pytest.raises(ReleaseError, match=r"estimate.listed"):
            adjust()
    assert replace(release, estimate=release.estimate.listed).rounded().estimate.n_cells >= 3


def test_uniformity_is_that_of_both_parts():
    release = released()
    assert release.uniformity((0, 0, 1, 1)) == 0
    parts = [
        replace(release, estimate=each).uniformity(BOXES) for each in (release.estimate.map, release.estimate.listed)
    ]
    np.testing.assert_allclose(release.uniformity(BOXES), parts[0] + parts[1])
    assert not release.estimate.in_steps(DOMAIN.boxes(BOXES)).any()
    assert "have counts of their own" in release.estimate.in_words()
