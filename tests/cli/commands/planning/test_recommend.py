"""`spatialdp recommend`: methods by the error to expect, before a record is read."""

from __future__ import annotations

import json
import shlex

import pytest

import spatialdp as sdp
from tests.helpers.commands import BOUNDS, run

DOMAIN = sdp.Domain((0, 0, 1, 1))
WORDS = (BOUNDS, "--epsilon=0.1", "--shape", "8", "8")


@pytest.fixture
def boxes(tmp_path):
    path = tmp_path / "my boxes.csv"
    path.write_text("xmin,ymin,xmax,ymax\n0,0,0.5,0.5\n0.25,0,1,0.75\n")
    return path


def test_the_ranking_is_that_of_the_library():
    told = json.loads(run("recommend", *WORDS, "--json").stdout)
    ranked = sdp.recommend(DOMAIN, 0.1, shape=(8, 8))
    assert (told["epsilon"], told["epsilon_exact"]) == (0.1, "1/10")
    assert [each["error"] for each in told["recommendations"]] == [each.error for each in ranked]
    assert [each["mechanism"] for each in told["recommendations"]] == [each.mechanism.name for each in ranked]
    assert told["recommendations"][0]["parameters"]["shape"] == [8, 8]


def test_the_table_has_options_that_can_be_pasted(boxes):
    """`plan` takes each row as it is, and the errors are those of the table."""
    told = run("recommend", *WORDS, "--boxes", boxes, "--delta=1e-9", "--neighbours=replace").stdout
    rows = [line.split(maxsplit=1) for line in told.split("\n\n")[1].splitlines()[1:]]
    assert "in the count of the 2 boxes in" in told
    assert [float(error) for error, _ in rows] == sorted(float(error) for error, _ in rows)
    assert {"--law gaussian" in options for _, options in rows} == {True, False}
    assert any(str(boxes) in options for _, options in rows)
    for _, options in rows:
        run("plan", BOUNDS, *shlex.split(options))


def test_epsilon_is_typed_as_it_was():
    told = json.loads(run("recommend", BOUNDS, "--epsilon=1/3", "--shape=4,4", "--json").stdout)
    assert told["recommendations"][0]["options"].endswith("--epsilon 1/3")


def test_wrong_shapes_are_refused_by_their_option():
    assert "--shape is 0; it must be a whole number" in run("recommend", *WORDS[:2], "--shape=0,8", code=2).stderr
    assert "--shape is 1.5; it must be" in run("recommend", *WORDS[:2], "--shape=1.5,8", code=2).stderr


def test_recommend_takes_no_points(tmp_path):
    assert "unexpected extra argument" in run("recommend", tmp_path, *WORDS, code=2).stderr


def test_a_guess_of_the_records_ranks_the_adaptive_tree():
    told = run("recommend", BOUNDS, "--epsilon=0.1", "--shape=16,16", "--records=20000").stdout
    assert "--method adaptive --shape 16,16 --epsilon 0.1" in told
    assert told.startswith("Root-mean-square error in the count of any box")
    assert "Assumed: 20,000 records, spread as unevenly as those of the data sets" in told
    assert "Give --records NUMBER, a public guess" in run("recommend", *WORDS).stdout
    facts = json.loads(run("recommend", *WORDS, "--records=20000", "--json").stdout)
    assert facts["records"] == 20000
    assert facts["assumed"].startswith("20,000 records")
    assert "--records is -1; it must be a positive number" in run("recommend", *WORDS, "--records=-1", code=2).stderr


def test_options_of_a_release_of_persons_are_told():
    told = run("recommend", *WORDS, "--person=cells=7").stdout
    assert "in the count of presences in any box of the domain" in told
    assert all(line.endswith("--person cells=7") for line in told.splitlines() if "--method" in line)
    facts = json.loads(run("recommend", *WORDS, "--person=cells=7", "--json").stdout)
    ranked = sdp.recommend(DOMAIN, 0.1, shape=(8, 8), person=sdp.Person(cells=7))
    assert facts["person"] == {"cells": 7}
    assert [each["error"] for each in facts["recommendations"]] == [each.error for each in ranked]
