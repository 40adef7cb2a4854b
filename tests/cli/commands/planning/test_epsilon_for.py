"""`spatialdp epsilon-for`: the least ε for an error, before a record is read."""

from __future__ import annotations

import json

import numpy as np

import spatialdp as sdp
from spatialdp.planning.queries import all_boxes
from tests.helpers.commands import BOUNDS, run

DOMAIN = sdp.Domain((0, 0, 1, 1))
FLAT = (BOUNDS, "--method=flat", "--shape=8,8")


def test_epsilon_is_that_of_the_library():
    told = json.loads(run("epsilon-for", *FLAT, "--error=20", "--json").stdout)
    assert told["epsilon"] == sdp.epsilon_for(sdp.Flat((8, 8)), DOMAIN, error=20)
    assert told["error"] == 20
    assert told["parameters"]["shape"] == [8, 8]
    numerator, denominator = map(int, told["epsilon_exact"].split("/"))
    assert numerator / denominator == told["epsilon"]
    assert sdp.Flat((8, 8)).expected_error(DOMAIN, all_boxes(DOMAIN), epsilon=told["epsilon"]) <= 20


def test_a_method_must_be_named():
    assert (
        "no --method was given; it must be one of adaptive" in run("epsilon-for", BOUNDS, "--error=20", code=2).stderr
    )


def test_boxes_and_terms_matter(tmp_path):
    (tmp_path / "boxes.csv").write_text("xmin,ymin,xmax,ymax\n0,0,0.125,0.125\n")
    words = (*FLAT, "--law=gaussian", "--delta=1e-6", "--neighbours=replace", "--boxes", tmp_path / "boxes.csv")
    told = json.loads(run("epsilon-for", *words, "--error=5", "--json").stdout)
    expected = sdp.epsilon_for(
        sdp.Flat((8, 8), law="gaussian"),
        DOMAIN,
        np.array([[0, 0, 0.125, 0.125]]),
        error=5,
        delta=1e-6,
        neighbours="replace",
    )
    assert told["epsilon"] == expected


def test_the_text_is_a_table():
    lines = run("epsilon-for", *FLAT, "--error=20").stdout.splitlines()
    assert lines[0] == "options   --method flat --shape 8,8"
    assert lines[1].startswith("error     at most 20 ")
    assert lines[2] == f"ε         {sdp.epsilon_for(sdp.Flat((8, 8)), DOMAIN, error=20):g}"


def test_refusals_speak_of_options():
    assert "--error is -1; it must be a positive number" in run("epsilon-for", *FLAT, "--error=-1", code=2).stderr
    assert "--error is 1e-09; no epsilon" in run("epsilon-for", *FLAT, "--law=laplace", "--error=1e-9", code=2).stderr
    tree = run("epsilon-for", BOUNDS, "--method=kd-tree", "--height=3", "--error=10", code=2).stderr
    assert "depends on the records" in tree
    assert "`spatialdp evaluate`" in tree


def test_adaptive_trees_need_a_guess_of_the_records():
    tree = (BOUNDS, "--method=adaptive", "--shape=64,64", "--error=100")
    assert "such as --records 100000" in run("epsilon-for", *tree, code=2).stderr
    told = run("epsilon-for", *tree, "--records=20000").stdout
    assert "assumed   20,000 records, spread as unevenly" in told
    assert f"ε         {sdp.epsilon_for(sdp.Adaptive((64, 64)), DOMAIN, error=100, records=20000):g}" in told


def test_epsilon_for_persons_is_that_of_the_library():
    words = ("epsilon-for", *FLAT, "--error=20", "--person=records=3")
    facts = json.loads(run(*words, "--json").stdout)
    assert facts["epsilon"] == sdp.epsilon_for(sdp.Flat((8, 8)), DOMAIN, error=20, person=sdp.Person(records=3))
    assert facts["person"] == {"records": 3}
    assert "person    at most 3 records each" in run(*words).stdout
