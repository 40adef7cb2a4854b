"""Functions in the place of mechanisms: what they get, what they may return, and what is said when they may not."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import ParameterError
from spatialdp.evaluation.functions import as_mechanism, check_functions
from tests.helpers.evaluations import BOXES, DOMAIN, SHAPE, XY, mean, run

ROOT = Path(__file__).parents[2]


def flat(points, domain, epsilon, noise):
    """Our own mechanism as a function."""
    return sdp.Flat(SHAPE).release(points, domain, epsilon=epsilon, noise=noise)


class Records:
    """Answers with the records themselves, which is not private at all."""

    def __init__(self, points):
        self.points = points

    def answer(self, boxes):
        x, y = self.points.T[:, :, None]
        left, low, right, top = boxes.T
        return ((x >= left) & (x < right) & (y >= low) & (y < top)).sum(axis=0)


def exact(points, domain, epsilon, noise):
    return Records(points)


def scaled(points, domain, epsilon, noise, factor):
    return Records(np.repeat(points, factor, axis=0))


def test_a_function_gets_the_records_in_the_domain_and_nothing_else():
    seen = []

    def looks(points, domain, epsilon, noise):
        seen.append((points, domain, epsilon, noise))
        return exact(points, domain, epsilon, noise)

    run(looks, epsilons=0.3, trials=1)
    ((points, domain, epsilon, noise),) = seen
    inside = XY[((XY >= 0) & (XY <= 1)).all(axis=1)]
    assert points.shape == inside.shape
    assert np.abs(points - inside).max() < 2**-29
    assert (domain, epsilon, type(noise)) == (DOMAIN, 0.3, sdp.SeededNoise)


def test_what_is_exact_has_no_error():
    """The coordinates that functions get lie on the same side of every edge as the truth takes them to lie."""
    frame = run(exact, trials=2, metrics=["max_error", "earth_mover"])
    assert mean(frame, "max_error", mechanism="exact") == 0
    assert mean(frame, "earth_mover", mechanism="exact") == pytest.approx(0, abs=1e-9)
    assert mean(frame, "max_error", mechanism="flat") > 0


def test_functions_are_marked_not_private_and_have_no_metrics_of_noise_alone():
    frame = run([flat_as("noisy"), sdp.Quadtree(4)], trials=1)
    mine = frame[frame["mechanism"] == "noisy"]
    assert not mine["private_by_design"].any()
    assert {"rmse", "mean_error"} < set(mine["metric"])
    assert not {"noise_rmse", "uniformity_rmse", "coverage"} & set(mine["metric"])
    assert "noise_rmse" in set(frame.loc[frame["mechanism"] == "quadtree", "metric"])


def flat_as(name):
    def function(points, domain, epsilon, noise):
        return flat(points, domain, epsilon, noise)

    function.__name__ = name
    return function


def test_a_release_in_a_function_errs_like_the_mechanism():
    frame = run({"function": flat_as("f"), "mechanism": sdp.Flat(SHAPE)}, trials=20, epsilons=0.3)
    assert mean(frame, "rmse", mechanism="function") == pytest.approx(
        mean(frame, "rmse", mechanism="mechanism"), rel=0.3
    )


def test_same_seed_same_results_and_trials_differ():
    first, again = (run({"mine": flat}, trials=2, metrics="rmse") for _ in range(2))
    assert first.equals(again)
    assert first.loc[first["mechanism"] == "mine", "value"].nunique() == 4


def test_polygons_are_answered_by_what_can():
    area = sdp.Workload("areas", polygons=[shapely.box(0.1, 0.1, 0.4, 0.4), shapely.Point(0.5, 0.5).buffer(0.3)])
    assert np.isfinite(run({"release": flat}, queries=area, trials=1)["value"]).all()
    with pytest.raises(
        ParameterError, match="asks about polygons, but the function exact returned a Records that has no"
    ):
        run(exact, queries=area, trials=1)


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (lambda: None, "returned a NoneType, which has no method 'answer'; return something that has one"),
        (lambda: answering(lambda boxes: np.zeros((len(boxes), 2))), "whose answers to 80 queries are not 80 finite"),
        (lambda: answering(lambda boxes: np.full(len(boxes), np.nan)), "are not 80 finite numbers"),
        (lambda: answering(lambda _boxes: "many"), "are not 80 finite numbers"),
        (lambda: answering(lambda _boxes: 7), "are not 80 finite numbers"),
    ],
)
def test_what_cannot_answer_is_refused(returned, words):
    with pytest.raises(ParameterError, match=words):
        run(lambda *_: returned(), trials=1)


def answering(answer):
    return type("Answers", (), {"answer": staticmethod(answer)})()


def test_functions_cannot_change_the_questions():
    def greedy(points, domain, epsilon, noise):
        def answer(boxes):
            boxes[:] = 0
            return np.zeros(len(boxes))

        return answering(answer)

    before = BOXES.boxes.copy()
    run(greedy, trials=1)
    assert np.array_equal(BOXES.boxes, before)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"person": sdp.Person(records=2)},
            "person says what a release protects, but the function exact does not get it",
        ),
        ({"neighbours": "replace"}, "neighbours says what a release protects"),
    ],
)
def test_other_promises_are_refused_in_words(options, words):
    xy = sdp.Points(XY, person=np.arange(len(XY))) if "person" in options else XY
    with pytest.raises(ParameterError, match=words):
        run(exact, xy=xy, trials=1, **options)


def test_caches_and_processes_are_refused_where_they_cannot_serve(tmp_path):
    with pytest.raises(
        ParameterError, match="cache keeps results by a mechanism's parameters, but 'exact' is a function"
    ):
        run(exact, cache=tmp_path / "trials")
    assert not (tmp_path / "trials").exists()
    with pytest.raises(
        ParameterError, match="the function 'mine' cannot be sent to another process; define it with def"
    ):
        run({"mine": lambda *_: None}, processes=2)
    check_functions({"a": as_mechanism(exact), "b": as_mechanism(partial(scaled, factor=2))}, 2, cached=False)


def test_functions_of_a_session_cannot_be_sent(monkeypatch):
    monkeypatch.setattr(exact, "__module__", "__main__")
    monkeypatch.setattr(sys.modules["__main__"], "exact", exact, raising=False)
    monkeypatch.delattr(sys.modules["__main__"], "__file__", raising=False)
    with pytest.raises(ParameterError, match="cannot be sent"):
        check_functions({"exact": as_mechanism(exact)}, 2, cached=False)


def test_objects_and_partial_functions_have_names():
    doubled = as_mechanism(partial(scaled, factor=2))
    assert doubled.name == "partial"
    assert as_mechanism(exact).parameters() == {"function": "exact"}
    assert doubled.parameters() == {"function": "partial"}
    frame = run({"doubled": partial(scaled, factor=2)}, trials=1, metrics="scaled_error")
    assert mean(frame, "scaled_error", mechanism="doubled") > 0


@pytest.mark.parametrize("given", [sdp.Quadtree, 3, "quadtree", None])
def test_a_value_that_is_neither_mechanism_nor_function_is_refused(given):
    with pytest.raises(ParameterError, match=r"is not a mechanism; give one, .* or a function of points"):
        as_mechanism(given)


SCRIPT = """
import spatialdp as sdp

def mine(points, domain, epsilon, noise):
    return sdp.Flat((8, 8)).release(points, domain, epsilon=epsilon, noise=noise)

if __name__ == "__main__":
    domain = sdp.Domain((0, 0, 1, 1))
    boxes = sdp.workload.random_boxes(domain, 20)
    frames = [
        sdp.evaluate(mine, boxes.boxes[:, :2], domain, boxes, 1, 4, metrics="rmse", processes=processes)
        for processes in (1, 2)
    ]
    print(frames[0].equals(frames[1]))
"""


def test_functions_of_a_script_run_in_processes(tmp_path):
    """With the same results."""
    (tmp_path / "script.py").write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, str(tmp_path / "script.py")], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout.strip() == "True"
