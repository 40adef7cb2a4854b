"""Options of the method: they build what they describe."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from fractions import Fraction

import pytest

import spatialdp as sdp
from spatialdp.cli.options.method import _find_method_name
from spatialdp.mechanisms import MECHANISMS
from tests.helpers.commands import BOUNDS, run


@pytest.mark.parametrize(
    ("method", "options"),
    [
        (sdp.Flat(cell_size=(0.5, 0.25), truncate=9), ["--cell-size=0.5,0.25", "--truncate=9"]),
        (sdp.Quadtree(3, budget=(1, 0, 1, 2), consistent=False), ["--height=3", "--budget=1,0,1,2", "--no-consistent"]),
        (sdp.Quadtree(3, stop=8, prune=2.5), ["--height=3", "--stop=8", "--prune=2.5"]),
        (
            sdp.KdTree(3, data_levels=1, median_share=Fraction(1, 3)),
            ["--height=3", "--data-levels=1", "--median-share=1/3"],
        ),
        (sdp.Hierarchy((32, 32), levels=(1, 8), budget=(2, 1)), ["--shape=32,32", "--levels=1,8", "--budget=2,1"]),
        (sdp.Hierarchy((32, 32), branching=4, root=True), ["--shape=32,32", "--branching=4", "--root"]),
        (sdp.Wavelet((8, 8), form="quadtree"), ["--shape=8,8", "--form=quadtree"]),
        (sdp.Fourier((8, 8), candidates=((2, 2), "marginals")), ["--shape=8,8", "--candidates=2,2;marginals"]),
        (sdp.Tailored((32, 32), workload="cells"), ["--shape=32,32", "--workload=cells"]),
    ],
    ids=lambda value: value.name if isinstance(value, sdp.Quadtree.__mro__[2]) else None,
)
def test_options_build_the_method_they_describe(method, options):
    shown = run("plan", BOUNDS, "--epsilon=1", "--method", method.name, *options, "--json").stdout
    plan = method.plan(sdp.Domain((0, 0, 1, 1)), epsilon=1)
    told = json.loads(shown)
    assert told["budget_exact"] == {step: str(cost) for step, cost in plan.budget.items()}
    assert told["cells"] == plan.cells
    assert told["errors"] == plan.errors


def test_completion_knows_methods_and_their_options():
    environment = {**os.environ, "_SPATIALDP_COMPLETE": "bash_complete"}
    code = "from spatialdp.cli import main; main(prog_name='spatialdp')"

    def complete(words):
        asked = {**environment, "COMP_WORDS": " ".join(["spatialdp", *words]), "COMP_CWORD": str(len(words))}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=asked)
        return {line.partition(",")[2] for line in done.stdout.splitlines()}

    assert "release" in complete(["rel"])
    assert complete(["release", "--method", "quad"]) == {"quadtree"}
    assert "--height" in complete(["release", "--method", "quadtree", "--he"])


@pytest.mark.parametrize(
    "words", [["--method", "flat"], ["-m", "flat"], ["--method=flat"], ["a.csv", "--method", "flat"]]
)
def test_the_method_is_found_before_its_options_are_known(words):
    assert _find_method_name([*words, "--shape", "4,4"]) == "flat"
    assert _find_method_name(["--shape", "4,4"]) is None


@pytest.mark.parametrize("name", MECHANISMS)
def test_options_of_other_methods_are_told_whose_they_are(name):
    other = "quadtree" if name != "quadtree" else "flat"
    told = run("plan", BOUNDS, "--epsilon=1", "--method", name, "--nonsense=1", code=2).stderr
    assert "No such option" in told
    flag = {"quadtree": "--height=3", "flat": "--truncate=3"}[other]
    if name != "kd-tree":  # which has a height too
        told = run("plan", BOUNDS, "--epsilon=1", "--method", name, flag, code=2).stderr
        assert f"is a parameter of {other}" in told
