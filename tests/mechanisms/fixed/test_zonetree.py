"""Releases by zones: parameters, budgets, known totals, invariants and what is refused."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import spatialdp as sdp
from spatialdp.errors import BudgetError, ParameterError, PointsError, ReleaseError
from spatialdp.mechanisms.base import Terms
from spatialdp.privacy.neighbours import Neighbours
from tests.helpers.sources import ZeroNoise
from tests.helpers.zone_cases import FRAMES

LOPSIDED, REGULAR = FRAMES["lopsided"], FRAMES["regular"]
CODES = sdp.Codes(["A1x"] * 9 + ["A1y"] * 4 + ["B"] * 5 + ["F2y", "nowhere", None])


def shares(mechanism, zones, **terms):
    budget = mechanism.plan(zones, **({"epsilon": 1} | terms)).budget
    return {name.removeprefix("counts by "): float(cost) for name, cost in budget.items()}


def test_a_release_by_zones_is_released_end_to_end():
    release = sdp.ZoneTree().release(CODES, LOPSIDED, epsilon=1000)
    assert isinstance(release, sdp.ZoneRelease)
    assert release.answer(["A", "A1", "A1x", "B", "F"]) == pytest.approx([13, 13, 9, 5, 1], abs=0.1)
    assert release.answer((0, 0, 2, 1)) == pytest.approx(13, abs=0.1)
    assert release.zones is LOPSIDED
    assert "zone-tree" in repr(release)


def test_points_and_codes_give_the_same_release():
    points = sdp.Points([[0.5, 0.5]] * 3 + [[3.5, 0.1], [99, 0]])
    codes = sdp.Codes(["A1x"] * 3 + ["B", "elsewhere"])
    one, other = (
        sdp.ZoneTree().release(each, LOPSIDED, epsilon=1, noise=sdp.SeededNoise(1)) for each in (points, codes)
    )
    assert np.array_equal(one.estimate.values, other.estimate.values)


def test_wrong_frames_are_refused_in_words():
    with pytest.raises(ParameterError, match=r"zone-tree was given a Domain .* needs a spatialdp.Zones"):
        sdp.ZoneTree().check(sdp.Domain((0, 0, 1, 1)), epsilon=1)
    with pytest.raises(ParameterError, match=r"domain is a Zones; give a spatialdp.Domain"):
        sdp.Flat((2, 2)).check(LOPSIDED, epsilon=1)
    with pytest.raises(PointsError):
        sdp.ZoneTree().release(CODES, LOPSIDED, epsilon=1, person=sdp.Person(records=3))


# --- a bound on persons that is chosen privately ------------------------------------------------------------


def people(count=400):
    """Codes of records of so many persons: each has one in `B`, and half of them three in other tracts."""
    codes = [code for who in range(count) for code in ("B", "A1x", "A1y", "A2z")[: 1 + 3 * (who % 2)]]
    names = [who for who in range(count) for _ in range(1 + 3 * (who % 2))]
    return codes, names


def test_a_bound_is_chosen_on_zones_and_paid_for():
    codes, names = people()
    bound = sdp.Person(cells=sdp.Chosen(candidates=(1, 4)))
    release = sdp.ZoneTree().release(sdp.Codes(codes, names), LOPSIDED, epsilon=5, person=bound)
    assert release.privacy.person.most == 4  # 200 persons are above 1: far above the threshold
    assert release.privacy.budget["choice of the bound"] == Fraction(1, 4)
    assert sum(release.privacy.budget.values()) == 5
    assert release.answer("B") == pytest.approx(400, abs=60)
    few = sdp.ZoneTree().release(sdp.Codes(["B"] * 50, range(50)), LOPSIDED, epsilon=50, person=bound)
    assert few.privacy.person.most == 1  # nobody is above it


def test_points_files_and_codes_choose_the_same(tmp_path):
    codes, names = people(20)
    places = {"B": (3.5, 0.1), "A1x": (0.5, 0.5)}
    codes, names = zip(*[(c, n) for c, n in zip(codes, names, strict=True) if c in places], strict=True)
    path = tmp_path / "visits.csv"
    path.write_text("zone,who\n" + "".join(f"{code},{name}\n" for code, name in zip(codes, names, strict=True)))
    every = (
        sdp.Codes(codes, names),
        sdp.read_codes(path, "zone", person="who"),
        sdp.Points([places[code] for code in codes], person=names),
    )
    bound = sdp.Person(records=sdp.Chosen(candidates=(1, 2, 5)))
    made = [
        sdp.ZoneTree(law="gaussian").release(
            each, LOPSIDED, epsilon=1, delta=1e-6, person=bound, noise=sdp.SeededNoise(3)
        )
        for each in every
    ]
    assert len({each.privacy.person for each in made}) == 1
    assert all(np.array_equal(each.estimate.values, made[0].estimate.values) for each in made)


def test_the_plan_of_zones_has_all_candidates():
    plan = sdp.ZoneTree().plan(LOPSIDED, epsilon=1, person=sdp.Person(cells=sdp.Chosen(candidates=(1, 2, 4))))
    assert [each.errors["state"] for each in plan.candidates.values()] == sorted(
        each.errors["state"] for each in plan.candidates.values()
    )


def test_one_person_moves_the_scores_of_zones_by_one_at_most():
    """Whatever the person does: every set of leaves, and many records in one of them."""
    bound = sdp.Person(cells=sdp.Chosen(candidates=(1, 2, 4)))
    for chosen in (bound, sdp.Person(records=sdp.Chosen(candidates=(1, 2, 4)))):
        choice = sdp.ZoneTree().prepare(LOPSIDED, epsilon=1, person=chosen).design
        codes, names = people(7)
        before = choice.scores(sdp.Codes(codes, names))
        leaves = LOPSIDED.codes[LOPSIDED.leaf_nodes].tolist()
        for size in range(1, len(leaves) + 1):
            for own in itertools.combinations(leaves, size):
                for often in (1, 5):
                    more = sdp.Codes([*codes, *own * often], [*names, *["new"] * size * often])
                    moved = [abs(a - b) for a, b in zip(choice.scores(more), before, strict=True)]
                    assert max(moved) <= 1


# --- budgets --------------------------------------------------------------------------------------------


def test_budgets_say_what_each_level_gets():
    assert shares(sdp.ZoneTree(budget=(1, 2, 3, 4)), LOPSIDED) == pytest.approx(
        {"count of all zones": 0.1, "state": 0.2, "county": 0.3, "tract": 0.4}
    )
    assert shares(sdp.ZoneTree(budget="leaves"), LOPSIDED)["tract"] == 1
    with pytest.raises(ParameterError, match=r"3 weights, but .* 4 levels"):
        sdp.ZoneTree(budget=(1, 1, 1)).check(LOPSIDED, epsilon=1)
    for wrong in ("wide", 7, (), (1, 0), (1, -1)):
        with pytest.raises(ParameterError, match="budget"):
            sdp.ZoneTree(budget=wrong)


def test_targets_get_the_least_variance():
    plans = {
        name: sdp.ZoneTree(**options).prepare(REGULAR, epsilon=1)
        for name, options in (("targets", {"targets": ["A"]}), ("balanced", {}), ("zones", {"budget": "zones"}))
    }
    node = REGULAR.nodes_of(["A"])
    variance = {name: float(plan.design.blank().of_nodes(node).variance[0]) for name, plan in plans.items()}
    assert variance["targets"] == min(variance.values())
    assert sdp.ZoneTree(targets="A1x").targets == ("A1x",)
    with pytest.raises(ParameterError, match="no zone 'Q'"):
        sdp.ZoneTree(targets=["Q"]).check(REGULAR, epsilon=1)
    with pytest.raises(ParameterError, match="give either targets or budget"):
        sdp.ZoneTree(targets=["A"], budget="zones")
    for wrong in ([], [7], ["A", "A"]):
        with pytest.raises(ParameterError, match="targets"):
            sdp.ZoneTree(targets=wrong)


def test_a_rule_is_the_best_by_its_own_measure():
    def errors(budget):
        plan = sdp.ZoneTree(budget=budget).plan(REGULAR, epsilon=1)
        squares = np.array(list(plan.errors.values())) ** 2
        return {"balanced": squares.sum(), "zones": squares @ np.diff(REGULAR.shape.offsets)}

    found = {budget: errors(budget) for budget in ("balanced", "zones", (1, 1, 1, 1), "leaves")}
    for rule in ("balanced", "zones"):
        assert found[rule][rule] <= min(each[rule] for each in found.values()) * 1.01  # discrete noise is a bit smaller


def test_plans_show_errors_by_level():
    text = str(sdp.ZoneTree(budget=(1, 1, 1, 1)).plan(REGULAR, epsilon=1))
    assert "for one zone of the level\n" in text
    assert "  tract      " in text
    assert "zones     15" in text
    prepared = sdp.ZoneTree(consistent=False, budget=(1, 1, 1, 1)).prepare(REGULAR, epsilon=1)
    errors = prepared.plan_with_errors().errors
    assert len({round(each, 9) for each in errors.values()}) == 1  # without a fit, all counts have the same noise


def test_very_small_shares_leave_nothing_to_the_leaves():
    with pytest.raises(BudgetError, match="nothing of the budget is left"):
        sdp.ZoneTree(budget=(1.0, 1.0, 1.0, 1e-30)).check(REGULAR, epsilon=1)


# --- known totals ---------------------------------------------------------------------------------------


def test_a_release_adds_up_to_known_totals():
    known = {"state": pd.Series({"A": 12, "F": 3.5}), "county": {"A1": np.int64(7)}}
    release = sdp.ZoneTree(known=known).release(CODES, LOPSIDED, epsilon=1)
    assert release.answer(["A", "A1", "A2", "F"]) == pytest.approx([12, 7, 5, 3.5])
    assert release.privacy.parameters["known"] == {"state": {"A": 12, "F": 3.5}, "county": {"A1": 7}}
    assert release.privacy == sdp.Privacy.from_json(release.privacy.to_json())
    assert release.privacy.invariants == ()
    assert release.interval("A") == pytest.approx([12, 12])


def test_a_level_that_is_known_costs_nothing():
    known = {"state": {"A": 3, "B": 4}}
    found = shares(sdp.ZoneTree(known=known), REGULAR)
    assert found["count of all zones"] == found["state"] == 0
    assert found["county"] + found["tract"] == 1


@pytest.mark.parametrize(
    "known",
    [
        {},
        {"state": {}},
        {"state": 7},
        {"state": {7: 7}},
        {"state": {"A": -1}},
        {"state": {"A": np.nan}},
        {"state": {"A": True}},
    ],
)
def test_tables_that_are_none_are_refused(known):
    with pytest.raises(ParameterError, match="known"):
        sdp.ZoneTree(known=known)


def test_known_totals_of_unknown_zones_are_refused():
    with pytest.raises(ParameterError, match="no zone 'Q'"):
        sdp.ZoneTree(known={"state": {"Q": 1}}).check(REGULAR, epsilon=1)
    with pytest.raises(ParameterError, match="no level 'nation'"):
        sdp.ZoneTree(known={"nation": {"A": 1}}).check(REGULAR, epsilon=1)
    with pytest.raises(ParameterError, match="consistent"):
        sdp.ZoneTree(known={"state": {"A": 1}}, consistent=False)
    with pytest.raises(ParameterError, match="can hold 10,000"):
        sdp.ZoneTree(known={"tract": {str(i): 1 for i in range(10_001)}})


# --- invariants -----------------------------------------------------------------------------------------


def test_invariants_are_exact_and_said_everywhere():
    release = sdp.ZoneTree(invariants=["state"]).release(CODES, LOPSIDED, epsilon=1)
    assert release.answer(["A", "B", "C", "F"]).tolist() == [13, 5, 0, 1]
    assert release.interval("A").tolist() == [13, 13]
    assert release.privacy.neighbours == "replace"
    for text in (str(release.privacy), repr(release), release.privacy._repr_html_()):
        assert "not plain ε-DP: state totals are exact" in text
    words = release.privacy.in_words()
    assert words.startswith("This is not ε-differential privacy in the plain sense")
    assert "Nothing is promised about the totals" in words
    assert "same state totals" in words
    assert "exact     state: outside of the promise" in str(
        sdp.ZoneTree(invariants=["state"]).plan(LOPSIDED, epsilon=1)
    )


def test_the_promise_with_invariants_is_about_the_lowest_level_in_whatever_order_they_are_given():
    privacy = sdp.ZoneTree(invariants=["county", "state"]).prepare(REGULAR, epsilon=1).statement
    assert privacy == sdp.ZoneTree(invariants=["state", "county"]).prepare(REGULAR, epsilon=1).statement
    assert "replace one record of the same county; not plain" in str(privacy)
    assert "another of the same county," in privacy.in_words()


def test_groups_of_records_are_promised_nothing_with_invariants():
    privacy = sdp.ZoneTree(invariants=["state"]).release(CODES, LOPSIDED, epsilon=1).privacy
    with pytest.raises(ReleaseError, match="promises nothing about groups"):
        privacy.for_records(2)
    with pytest.raises(ReleaseError):
        privacy.for_persons(2)


def test_levels_above_invariants_cost_nothing():
    found = shares(sdp.ZoneTree(invariants=("county",), budget=(4, 3, 2, 1)), REGULAR)
    assert list(found.values()) == [0, 0, 0, 1]
    design = sdp.ZoneTree(invariants=("county",)).prepare(REGULAR, epsilon=1).design
    assert design.laws[-1].parameter == 2  # a record that is replaced leaves a tract and enters another one


def test_invariants_that_leave_nothing_private_are_refused():
    """Every state has one county, so that exact totals of states are those of counties."""
    zones = sdp.Zones.from_codes(["A1", "B1"], None, {"state": 1, "county": 2})
    with pytest.raises(ParameterError, match="nothing would be private"):
        sdp.ZoneTree(invariants=["state"]).check(zones, epsilon=1)


def test_what_does_not_go_with_invariants_is_refused():
    with pytest.raises(ParameterError, match="nothing would be private"):
        sdp.ZoneTree(invariants=["tract"]).check(REGULAR, epsilon=1)
    with pytest.raises(ParameterError, match="no level 'nation'"):
        sdp.ZoneTree(invariants=["nation"]).check(REGULAR, epsilon=1)
    with pytest.raises(ParameterError, match="to protect persons"):
        sdp.ZoneTree(invariants=["state"]).check(REGULAR, epsilon=1, person=sdp.Person(records=2))
    with pytest.raises(ParameterError, match="give one of them"):
        sdp.ZoneTree(invariants=["state"], known={"state": {"A": 1}})


def test_exact_measurements_without_noise_are_published_as_they_are():
    release = sdp.ZoneTree(invariants=["state"]).release(CODES, LOPSIDED, epsilon=1, noise=ZeroNoise())
    assert release.answer(["A", "A1", "A1x"]) == pytest.approx([13, 13, 9])


# --- noise ----------------------------------------------------------------------------------------------


@pytest.mark.statistical
@pytest.mark.parametrize("law", ["discrete-laplace", "gaussian"])
def test_errors_have_the_variance_that_is_stated_and_no_other(law):
    delta = 1e-6 if law == "gaussian" else 0
    prepared = sdp.ZoneTree(budget=(1, 1, 1, 1), law=law).prepare(LOPSIDED, epsilon=1, delta=delta)
    nodes = np.arange(LOPSIDED.shape.n_nodes)
    records = sdp.Codes([])
    errors = np.array(
        [prepared.release(records, noise=sdp.SeededNoise(i)).estimate.of_nodes(nodes).values for i in range(2000)]
    )
    ratio = float((errors.var(axis=0) / prepared.design.blank().of_nodes(nodes).variance).mean())
    assert abs(ratio - 1) < 0.1
    assert abs(1.2 * ratio - 1) > 0.1  # a wrong scale of the noise is seen


def test_costs_of_levels_add_up_exactly():
    terms = Terms(sdp.Budget(Fraction(1, 3)), Neighbours.ADD_REMOVE)
    for mechanism in (sdp.ZoneTree(), sdp.ZoneTree(budget="zones"), sdp.ZoneTree(budget=(0.1, 0.2, 0.3, 0.4))):
        assert sum(mechanism._design(LOPSIDED, terms).level_costs) == Fraction(1, 3)
