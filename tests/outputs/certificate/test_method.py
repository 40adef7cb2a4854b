"""Parts 4 and 5: how a release was made, with its exact costs, and how exact it is."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import pytest

import spatialdp as sdp
from tests.helpers.certificates import DOMAIN, OWNED, RELEASES, part, running_release, text_of


def facts(text):
    return dict(re.findall(r"^- \*\*(.*?)\*\*: (.*)$", text, re.MULTILINE))


def tables(text):
    """The rows of each table, without its head."""
    found = re.findall(r"(?:^\|.*\|$\n?)+", text, re.MULTILINE)
    return [[[cell.strip() for cell in row.split("|")[1:-1]] for row in table.splitlines()][2:] for table in found]


def rows(text):
    """The rows of the first table."""
    return next(iter(tables(text)), [])


@pytest.mark.parametrize("name", [*RELEASES, "running"])
def test_the_budget_is_there_step_by_step_and_adds_up_exactly(name):
    release = running_release() if name == "running" else RELEASES[name]()
    *steps, together = rows(part(text_of(release), 4))
    assert {step: Fraction(exact) for step, _, exact in steps} == dict(release.privacy.budget)
    assert sum(Fraction(exact) for _, _, exact in steps) == Fraction(together[2])
    for _, shown, exact in (*steps, together):
        assert Fraction(shown) >= Fraction(exact)


@pytest.mark.parametrize("name", [*RELEASES, "running"])
def test_the_noise_of_each_step_is_there_with_its_exact_parameter(name):
    release = running_release() if name == "running" else RELEASES[name]()
    found = tables(part(text_of(release), 4))[1]
    assert [step for step, *_ in found] == list(release.privacy.noise)
    for noise, (_, shown, exact, step) in zip(release.privacy.noise.values(), found, strict=True):
        assert [Fraction(each) for each in exact.split(" to ")] == sorted({noise.least, noise.most})
        assert all(Fraction(a) >= Fraction(b) for a, b in zip(shown.split(" to "), exact.split(" to "), strict=True))
        assert Fraction(step) == Fraction(1, noise.steps)


def test_statements_of_older_versions_have_no_parameters_and_say_so():
    release = RELEASES["grid"]()
    text = part(text_of(replace(release, privacy=replace(release.privacy, noise={}))), 4)
    assert "an older version, which did not keep the parameters" in text
    assert len(tables(text)) == 1


def test_noise_of_several_widths_is_explained():
    adaptive = sdp.Adaptive((16, 16)).release([], DOMAIN, epsilon=1)
    assert "drawn with several, which lie between the two" in part(text_of(adaptive), 4)
    assert "drawn with several" not in part(text_of(RELEASES["grid"]()), 4)


@pytest.mark.parametrize("name", RELEASES)
def test_mechanism_parameters_and_version_are_there(name):
    privacy = RELEASES[name]().privacy
    found = facts(part(text_of(RELEASES[name]()), 4))
    assert found["Method"] == privacy.mechanism
    assert found["Software"] == f"spatialdp {privacy.version}"
    given = {name for name, value in privacy.parameters.items() if value is not None}
    assert {key.removeprefix("Parameter ") for key in found if key.startswith("Parameter ")} == given
    assert "operating system" in found["Random numbers"]
    assert found["Private"].startswith("yes")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("grid", "discrete Laplace: a whole number of steps that adds up to x has a probability proportional to "
         "e^(−|x| / t), with t = Δ / ε"),
        ("laplace", "Laplace: a whole number of steps that adds up to x has a probability proportional to "
         "e^(−|x| / t), with t = Δ / ε"),
        ("gaussian", "discrete Gaussian: a whole number of steps that adds up to x has a probability proportional to "
         "e^(−x² / 2σ²), with σ² = Δ² / 2ρ"),
    ],
)  # fmt: skip
def test_the_law_of_the_noise_is_there(name, words):
    assert facts(part(text_of(RELEASES[name]()), 4))["Noise"].startswith(words)


@pytest.mark.parametrize(("name", "chooses"), [("kd-tree", True), ("chosen", True), ("grid", False), ("tree", False)])
def test_steps_that_choose_are_told_from_noise(name, chooses):
    assert ("laws of their own" in facts(part(text_of(RELEASES[name]()), 4))["Noise"]) == chooses


def test_running_tables_have_gaussian_noise():
    assert facts(part(text_of(running_release()), 4))["Noise"].startswith("discrete Gaussian")


@pytest.mark.parametrize(
    ("name", "words"), [("region", "every cell that touches it"), ("centres", "every cell whose centre lies in it")]
)
def test_regions_say_which_cells_belong(name, words):
    found = facts(part(text_of(RELEASES[name]()), 4))
    assert words in found["Region"]
    assert found["Bounds"] == "0, 0, 1, 1"


def test_places_are_public_facts():
    assert facts(part(text_of(RELEASES["grid"]()), 4))["Coordinates"] == "EPSG:4326"
    assert "Region" not in facts(part(text_of(RELEASES["grid"]()), 4))
    assert "no coordinate system" in facts(part(text_of(RELEASES["centres"]()), 4))["Coordinates"]
    assert facts(part(text_of(RELEASES["codes"]()), 4))["Place"].startswith("none")


def test_definitions_of_several_lines_are_one_line():
    release = RELEASES["grid"]()
    object.__setattr__(release.domain, "crs", 'PROJCRS["one",\n    BASEGEOGCRS["two"]]')
    try:
        found = facts(part(text_of(release), 4))["Coordinates"]
    finally:
        object.__setattr__(release.domain, "crs", "EPSG:4326")
    assert found == 'PROJCRS["one", BASEGEOGCRS["two"]]'


def test_many_steps_and_parameters_are_cut_and_still_add_up():
    release = RELEASES["grid"]()
    steps = {f"step {number}": Fraction(1, 100) for number in range(100)}
    parameters = {f"p{number}": number for number in range(100)}
    noise = dict.fromkeys(steps, release.privacy.noise["counts"])
    many = replace(release.privacy, budget=steps, parameters=parameters, noise=noise)
    text = part(text_of(replace(release, privacy=many)), 4)
    *first, rest, together = rows(text)
    assert len(first) == 40
    assert rest == ["60 more steps together", "0.6", "3/5"]
    assert together[2] == "1"
    assert facts(text)["More parameters"] == "60, which are in the file"
    assert len(tables(text)[1]) == 40
    assert "60 more steps draw noise" in text


# --- part 5 ----------------------------------------------------------------------------------------


def test_errors_are_in_what_is_counted():
    text = part(text_of(RELEASES["persons"]()), 5)
    assert "expected error from noise, in presences" in text
    assert "Presences above the bound were left out" in text
    assert "known before a record was read, from its plan" in text


def test_biased_releases_have_neither_errors_nor_intervals():
    text = part(text_of(RELEASES["grid"]().rounded()), 5)
    assert "no error is stated here, and the release offers no intervals" in text
    assert "interval of 95 %" not in text
    assert not rows(text)


def test_pruned_trees_say_that_intervals_are_not_exact():
    release = sdp.Quadtree(height=3, prune=2).release([], DOMAIN, epsilon=1)
    assert "Intervals ignore that and are not exact" in part(text_of(release), 5)
    assert "Intervals ignore that" not in part(text_of(RELEASES["region"]()), 5)


def test_no_interval_covers_what_is_missing():
    for name in ("grid", "zones", "table", "stopped"):
        assert "No interval covers errors in the records" in part(text_of(RELEASES[name]()), 5)


def test_long_tables_of_errors_are_cut():
    days = {name: sdp.Categories([f"{name}{n}" for n in range(2)]) for name in ("aa", "bb", "cc", "dd", "ee")}
    frame = sdp.Frame(DOMAIN.grid((1, 1)), **days)
    text = part(text_of(sdp.Table().release(sdp.Rows([], **{name: [] for name in days}), frame, epsilon=1)), 5)
    assert len(rows(text)) == 40
    assert "more rows are left out" in text


def test_bounds_in_shares_are_explained():
    release = sdp.Flat((2, 2)).release(OWNED, DOMAIN, epsilon=1, person=sdp.Person(shares=True))
    assert "An area counts the part of each person that lies in it." in part(text_of(release), 5)
