"""PrivBayes: which network is chosen, what is planned, and what is refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.errors import BudgetError, ParameterError, PointsError
from tests.helpers.network_cases import NETWORK_FRAMES, NetworkSetting

GRID = sdp.Domain((0, 0, 1, 1)).grid((4, 4))
KINDS, DAYS = sdp.Categories(["theft", "fraud", "other"]), sdp.Categories(["workday", "weekend"])


def records(n=4000, seed=1):
    """Kinds follow places, days follow kinds; nothing else depends on anything."""
    rng = np.random.default_rng(seed)
    xy = rng.random((n, 2))
    kind = np.where(rng.random(n) < 0.9, np.where(xy[:, 0] < 0.5, 0, 1), 2)
    day = np.where(rng.random(n) < 0.9, kind == 2, kind != 2).astype(int)
    names, days = np.array(KINDS.labels(), dtype=object), np.array(DAYS.labels(), dtype=object)
    return sdp.Rows(xy, kind=names[kind].tolist(), day=days[day].tolist())


FRAME = sdp.Frame(GRID, blocks=2, kind=KINDS, day=DAYS)


def test_dependences_are_found_and_modelled():
    release = sdp.PrivBayes(parents=1).release(records(), FRAME, epsilon=20, noise=sdp.SeededNoise(1))
    assert release.network["box"] == ()
    assert release.network["kind"][0][0] == "box"
    assert release.network["day"] == (("kind", "categories"),)
    truth = sdp.Table(budget="cells").release(records(), FRAME, epsilon=1000)
    for queries in ({"kind": ["theft", "fraud"]}, {"kind": ["other"], "day": ["weekend"]}, {"box": [(0, 0, 0.5, 1)]}):
        assert release.answer(**queries) == pytest.approx(truth.answer(**queries), rel=0.05, abs=30)
    assert release.total == pytest.approx(4000, abs=20)


def test_little_budget_leaves_attributes_alone_and_much_joins_them():
    poor = sdp.PrivBayes().release(records(300), FRAME, epsilon=0.02, noise=sdp.SeededNoise(2))
    assert set(poor.network.values()) == {()}
    rich = sdp.PrivBayes().release(records(), FRAME, epsilon=100, noise=sdp.SeededNoise(2))
    assert sorted(map(len, rich.network.values())) == [0, 1, 2]
    assert {level for parents in rich.network.values() for _, level in parents} == {"cells", "categories"}


def test_parents_may_be_coarser_levels():
    middle = sdp.PrivBayes().release(records(), FRAME, epsilon=0.4, noise=sdp.SeededNoise(3))
    assert "blocks of 2" in {level for parents in middle.network.values() for _, level in parents}


def test_whoever_has_no_places_in_the_frame_changes_nothing_and_data_may_be_empty():
    release = sdp.PrivBayes().release(sdp.Rows([], kind=[], day=[]), FRAME, epsilon=1, noise=sdp.SeededNoise(1))
    assert abs(release.total) < 200
    assert sdp.PrivBayes().release([], sdp.Frame(GRID), epsilon=1).network == {"box": ()}


def test_the_budget_is_divided_as_the_plan_says():
    plan = sdp.PrivBayes(beta=0.4, counting=0.1).plan(FRAME, epsilon=2)
    assert plan.budget == {
        "number of records": Fraction(1, 5),
        "choices of parents": Fraction(4, 5),
        "counts of tables": Fraction(1),
    }
    assert "depends on the records" in str(plan)
    assert sdp.PrivBayes().plan(sdp.Frame(GRID), epsilon=1).budget == {
        "number of records": Fraction(1, 50),
        "counts of tables": Fraction(49, 50),
    }
    design = sdp.PrivBayes().prepare(FRAME, epsilon=1).design
    assert design.moves == 2
    assert sdp.PrivBayes().prepare(FRAME, epsilon=1, neighbours="replace").design.moves == 4
    assert sdp.PrivBayes().prepare(FRAME, epsilon=1, person=sdp.Person(cells=3)).design.moves == 6


def test_shares_of_persons_are_modelled_in_persons():
    setting = NetworkSetting("privbayes", "three attributes", "add-remove", sdp.Person(shares=True))
    cells = np.arange(setting.domain.n_cells).repeat(4)
    rows = setting.records(cells, np.repeat(np.arange(96), 2).tolist())
    release = setting.mechanism.release(rows, setting.domain, epsilon=1000, person=setting.person)
    assert release.total == pytest.approx(96, abs=2)


def test_useful_tables_have_mean_counts_of_theta_times_the_noise():
    mechanism = sdp.PrivBayes(theta=5)
    design = mechanism.prepare(FRAME, epsilon=1).design
    assert mechanism._largest(1000.0, design) == pytest.approx(1000 / 5 / float(design.cell.parameter))
    assert mechanism._largest(-7.0, design) == 0
    assert mechanism._largest(1e12, design) == 2**20


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"beta": 0}, "beta is 0; it is a share of the budget"),
        ({"counting": 1}, "counting is 1; it is a share of the budget"),
        ({"beta": 0.6, "counting": 0.4}, "add up to 1 or more"),
        ({"theta": 0}, "theta is 0; it must be above 0"),
        ({"parents": 8}, "parents is 8"),
        ({"parents": 1.5}, "parents is 1.5"),
    ],
)
def test_nonsense_is_refused(parameters, words):
    with pytest.raises(ParameterError, match=words):
        sdp.PrivBayes(**parameters)


def test_wrong_frames_records_and_budgets_are_refused():
    with pytest.raises(ParameterError, match=r"needs a spatialdp\.Frame"):
        sdp.PrivBayes().plan(GRID.domain, epsilon=1)
    large = sdp.Frame(GRID.domain.grid((4096, 4096)), kind=KINDS)
    with pytest.raises(ParameterError, match="50,331,648 cells; a network models at most 16,777,216"):
        sdp.PrivBayes().plan(large, epsilon=1)
    with pytest.raises(PointsError, match="kind"):
        sdp.PrivBayes().release([[0.1, 0.1]], FRAME, epsilon=1)
    with pytest.raises(BudgetError, match="purely epsilon-private"):
        sdp.PrivBayes().plan(FRAME, epsilon=1, delta=1e-9)
    with pytest.raises(ParameterError, match="chosen privately"):
        sdp.PrivBayes().plan(FRAME, epsilon=1, person=sdp.Person(cells=sdp.Chosen()))


def test_frames_of_all_kinds_are_modelled():
    for name, frame in NETWORK_FRAMES.items():
        setting = NetworkSetting("privbayes", name, "add-remove")
        release = setting.mechanism.release(setting.records([0] * 400), frame, epsilon=50)
        assert release.answer() == pytest.approx(400, abs=5)
        assert sorted(release.network) == sorted(frame.axes)
