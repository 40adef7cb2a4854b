"""Maps: drawn from every kind of release, from released values only."""

from __future__ import annotations

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import ParameterError, ReleaseError
from spatialdp.mechanisms import MECHANISMS as REGISTRY
from tests.audit.tape import Tape
from tests.helpers.cases import LARGE, ONE_OF_EACH
from tests.helpers.pictures import marks_of, pixels
from tests.helpers.releases import REGION as PENTAGON
from tests.helpers.releases import release_of
from tests.helpers.sources import ZeroNoise

REGION = shapely.MultiPolygon([shapely.box(0, 0, 4, 6), shapely.Polygon([(5, 0), (8, 0), (8, 5)])])


@pytest.mark.parametrize("crs", [None, "EPSG:4326", "EPSG:3857"])
@pytest.mark.parametrize("log", [False, True])
def test_every_release_can_be_drawn(crs, log):
    unit = 1000 if crs == "EPSG:3857" else 1  # metres
    region = shapely.affinity.scale(REGION, unit, unit, origin=(0, 0))
    domain = sdp.Domain((0, 0, 8 * unit, 6 * unit), crs=crs, region=region)
    release = sdp.Flat((16, 12)).release([[unit, unit]], domain, epsilon=0.5)
    ax = release.plot(log=log)
    assert pixels(ax).std() > 0
    assert "ε = 0.5" in ax.get_xlabel()


def test_north_is_up_and_empty_outside():
    domain = sdp.Domain((0, 0, 2, 2))
    release = sdp.Flat((2, 2)).release([[1.5, 1.5]] * 9, domain, epsilon=1, noise=ZeroNoise())
    (image,) = release.plot(limits=(0, 9), caption=False).get_images()
    assert image.origin == "lower"
    assert image.get_array()[1, 1] == 9
    assert image.get_extent() == [0, 2, 0, 2]


def test_own_axes_and_public_limits():
    release = sdp.Flat((2, 2)).release([], sdp.Domain((0, 0, 2, 2)), epsilon=1)
    ax = plt.figure().add_subplot()
    assert release.plot(ax, limits=(0, 5)) is ax
    with pytest.raises(ParameterError, match="limits"):
        release.plot(limits=(5, 5))


def test_same_released_values_same_picture():
    domain = sdp.Domain((0, 0, 2, 2))
    one = sdp.Flat((2, 2)).release([[0.1, 0.1]], domain, epsilon=1, noise=ZeroNoise())
    two = sdp.Flat((2, 2)).release([[0.2, 0.7], [9, 9]], domain, epsilon=1, noise=ZeroNoise())
    assert np.array_equal(pixels(one.plot()), pixels(two.plot()))


def test_no_mechanism_is_forgotten():
    assert set(ONE_OF_EACH) == set(REGISTRY) == {mechanism.name for mechanism in ONE_OF_EACH.values()}
    assert set(REGISTRY) == {mechanism.name for mechanism in LARGE.values()}


VIEWS = ("estimate", "uncertainty", "half-width")
FIRST = {mechanism.name: name for name, mechanism in reversed(LARGE.items())}


@pytest.mark.unmeasured
@pytest.mark.parametrize("name", list(FIRST.values()))
def test_every_mechanism_can_be_drawn_in_every_view(name):
    can_be_drawn(name, VIEWS)


@pytest.mark.unmeasured
@pytest.mark.parametrize(("turn", "name"), list(enumerate(each for each in LARGE if each not in FIRST.values())))
def test_every_variant_can_be_drawn(turn, name):
    """In one view, in turn; `make audit` draws all of them in all views."""
    can_be_drawn(name, VIEWS[turn % len(VIEWS) :][:1])


@pytest.mark.audit
@pytest.mark.parametrize("name", [name for name in LARGE if name not in FIRST.values()])
def test_every_variant_can_be_drawn_in_every_view(name):
    can_be_drawn(name, VIEWS)


def can_be_drawn(name, views):
    release = release_of(name, PENTAGON)
    for view in views:
        if release.estimate.biased and view != "estimate":
            with pytest.raises(ReleaseError, match="no intervals to draw"):
                release.plot(view=view)
            continue
        ax = release.plot(view=view)
        assert pixels(ax).std() > 0
        marked = view == "uncertainty" or (view == "estimate" and not release.estimate.biased)
        assert len(marks_of(ax)) == marked
        assert "NOT PRIVATE" in ax.get_xlabel()
        assert ("cannot be marked" in ax.get_xlabel()) == release.estimate.biased
        plt.close("all")


SCALES = ({"view": "uncertainty"}, {"log": True}, {"limits": (0, 5)})


@pytest.mark.unmeasured
@pytest.mark.unmeasured
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_neighbours_with_the_same_outcomes_give_the_same_pixels(name):
    """Nothing but the paid-for numbers decides what is drawn, the colour scale included."""
    same_pixels(name, [[each] for each in SCALES])  # of each pair, one map


@pytest.mark.audit
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_neighbours_with_the_same_outcomes_give_the_same_pixels_in_all_maps(name):
    same_pixels(name, [SCALES] * 3)


def same_pixels(name, maps):
    rng = np.random.default_rng(4)
    records = rng.uniform(0, 1, (60, 2))
    crowd = np.vstack([records, np.tile([[0.1, 0.1]], (500, 1))])
    pairs = ((records, records[:-1]), (crowd, crowd[:-1]), ([[0.5, 0.5]], np.empty((0, 2))))
    for (first, second), scales in zip(pairs, maps, strict=True):
        domain = sdp.Domain((0, 0, 1, 1), crs="EPSG:4326")
        with Tape() as tape:
            one = ONE_OF_EACH[name].release(first, domain, epsilon=1, noise=tape.record(3))
            two = ONE_OF_EACH[name].release(second, domain, epsilon=1, noise=tape.play())
            tape.finish()
        for options in scales:
            if one.estimate.biased and "view" in options:
                continue
            assert np.array_equal(pixels(one.plot(**options)), pixels(two.plot(**options)))
            plt.close("all")


def test_on_a_public_scale_a_record_changes_its_cell_and_nothing_else():
    domain = sdp.Domain((0, 0, 2, 2))
    pictures = []
    for records in (30, 31):
        release = sdp.Flat((2, 2)).release([[1.5, 1.5]] * records, domain, epsilon=1, noise=ZeroNoise())
        ax = release.plot(limits=(25, 35))
        pictures.append(pixels(ax))
    box = ax.get_window_extent()
    middle = ((box.x0 + box.x1) / 2, pictures[0].shape[0] - (box.y0 + box.y1) / 2)
    rows, columns = np.nonzero((pictures[0] != pictures[1]).any(axis=2))
    assert rows.size
    assert rows.max() <= middle[1] + 1
    assert columns.min() >= middle[0] - 1
    assert columns.max() <= box.x1


def test_relative_uncertainty_is_half_width_over_estimate():
    release = release_of("tailored")
    (image,) = release.plot(view="uncertainty").get_images()
    nx, ny = release.estimate.grid.shape
    low, high = release.interval((0, 0, 8 / nx, 6 / ny), about="noise")
    assert image.get_array()[0, 0] == pytest.approx((high - low) / 2 / abs((high + low) / 2))
    (image,) = release.plot(view="half-width").get_images()
    assert image.get_array()[0, 0] == pytest.approx((high - low) / 2)
    assert image.get_array().shape == (ny, nx)


def test_an_estimate_next_to_nothing_is_as_uncertain_as_nothing():
    release = release_of("flat")
    values = np.where(np.arange(release.estimate.values.size) % 2, 1e-320, 0).reshape(release.estimate.values.shape)
    nearly = replace(release, estimate=replace(release.estimate, values=values))
    (image,) = nearly.plot(view="uncertainty").get_images()
    assert np.all(np.isinf(image.get_array().compressed()))


def test_levels_have_lines_of_their_own():
    release = release_of("quadtree")
    assert len(release.plot().collections) == 5
    plt.close("all")
    lines = release.plot(lines=3).collections
    assert [len(each.get_paths()) for each in lines] == [4, 16, 64]
    widths = [each.get_linewidth()[0] for each in lines]
    assert widths == sorted(widths, reverse=True)
    assert len(release.plot(lines=0).collections) == 0
    assert release.plot(level=2).get_images()[0].get_array().compressed().size == 32**2
    with pytest.raises(ParameterError, match="lines is 6"):
        release.plot(lines=6)


def test_many_leaves_that_follow_no_grid_become_pixels(monkeypatch):
    release = release_of("kd")
    assert not release.plot().get_images()
    monkeypatch.setattr("spatialdp.outputs.maps.plot._MOST_POLYGONS", 10)
    (image,) = release.plot().get_images()
    assert max(image.get_array().shape) == 1536


def test_nonsense_is_refused():
    grid, tree = release_of("flat"), release_of("quadtree")
    for release, options, told in (
        (grid, {"view": "doubt"}, "View is 'doubt'"),
        (grid, {"lines": 2}, "lines is 2"),
        (grid, {"level": 2}, "level is 2"),
        (tree, {"level": 17}, "level is 17"),
        (grid, {"view": "uncertainty", "limits": (0, 1)}, "classes of relative uncertainty are fixed"),
        (grid, {"view": "uncertainty", "log": True}, "classes of relative uncertainty are fixed"),
    ):
        with pytest.raises(ParameterError, match=told):
            release.plot(**options)
    assert not plt.get_fignums()


def test_a_dollar_sign_is_no_formula():
    """Of names from $5 to $10 matplotlib makes formulas, and it raises an error for one that it cannot read."""
    release, words = release_of("flat"), "$\\frac{1$ from $5 to $10"
    forged = replace(release, privacy=replace(release.privacy, mechanism=words))
    for ax in (forged.plot(title=words), release.plot(plt.figure().add_subplot(), title=words)):
        assert not any(text.get_parse_math() for text in (ax.title, ax._left_title, ax.xaxis.label) if text.get_text())
        assert pixels(ax).std() > 0
