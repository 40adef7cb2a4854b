"""The evaluator's frame: what is in it, what is refused, and what queries and data it takes."""

from __future__ import annotations

import ast

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely

import spatialdp as sdp
from spatialdp import workload
from spatialdp.errors import ParameterError
from spatialdp.evaluation.evaluate import NOTE, write_frame
from spatialdp.evaluation.metrics import DEFAULT_METRICS, METRICS
from spatialdp.records.points import lattice_points
from spatialdp.records.truth import Counter
from tests.helpers.evaluations import BOXES, DOMAIN, TREES, XY, mean, run


def test_one_row_for_each_mechanism_epsilon_trial_workload_and_metric():
    area = workload.area_boxes(DOMAIN, [0.01, 0.1], 20)
    frame = run(queries=[BOXES, *area], dataset="mine")
    assert len(frame) == 5 * 2 * 3 * 3 * len(DEFAULT_METRICS)
    assert not frame.duplicated(["mechanism", "epsilon", "trial", "workload", "metric"]).any()
    assert set(frame["mechanism"]) == {"quadtree", "kd-tree", "fourier", "flat", "uniform"}
    assert set(frame["size"].dropna()) == {0.01, 0.1}
    assert set(frame["note"]) == {NOTE} == {frame.attrs["note"]}
    assert set(frame["dataset"]) == {"mine"}
    assert set(frame["records"]) == {lattice_points(sdp.Points(XY), DOMAIN)[0].size}
    assert set(frame["floor"]) == {max(0.001 * frame["records"][0], 1)}
    assert np.isfinite(frame["value"]).all()


def test_labels_and_baselines():
    frame = run([sdp.Quadtree(4), sdp.Quadtree(4, budget="uniform")], trials=1)
    assert set(frame["mechanism"]) == {"quadtree(height=4)", "quadtree(height=4, budget=uniform)", "flat", "uniform"}
    named = run({"mine": sdp.Flat((8, 8)), "kd-true": sdp.KdTree(3, median="true")}, trials=1)
    assert set(named["mechanism"]) == {"mine", "kd-true", "uniform"}
    assert set(named.loc[~named["private_by_design"], "mechanism"]) == {"kd-true"}
    with pytest.raises(ParameterError, match="baseline"):
        run({"flat": sdp.Quadtree(3)})
    with pytest.raises(ParameterError, match="given twice"):
        run([sdp.Quadtree(3), sdp.Quadtree(3)])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"mechanisms": ["quadtree"]}, "not a mechanism"),
        ({"queries": BOXES.boxes}, "not a spatialdp.Workload"),
        ({"queries": [BOXES, BOXES]}, "names must differ"),
        ({"epsilons": []}, "no epsilon"),
        ({"trials": 0}, "trials is 0"),
        ({"metrics": ["accuracy"]}, "metric is 'accuracy'"),
        ({"floor": 1.5}, "floor is 1.5"),
        ({"processes": 0}, "processes is 0"),
    ],
)
def test_nonsense_is_refused(changes, words):
    with pytest.raises(ParameterError, match=words):
        run(**changes)


def test_empty_data_and_empty_queries():
    nowhere = sdp.Workload("nowhere", boxes=[(0.2, 0.2, 0.2, 0.9), (0.1, 0.4, 0.8, 0.4)])
    for xy in (np.empty((0, 2)), [[5, 5], [np.nan, 0]]):
        frame = run(xy=xy, queries=[BOXES, nowhere], metrics=[*METRICS, "earth_mover"], trials=2)
        assert np.isfinite(frame["value"]).all()
        assert set(frame["records"]) == {0}
        assert set(frame["floor"]) == {1}
        assert mean(frame, "max_error", workload="nowhere") == 0
        assert mean(frame, "uniformity_rmse") == 0


def test_polygons_are_queries_too():
    discs = geopandas.GeoSeries([shapely.Point(0.3, 0.3).buffer(0.1), shapely.Point(0.6, 0.6).buffer(0.3)])
    queries = [workload.polygons(discs, DOMAIN, name="discs"), BOXES]
    frame = run(
        queries=queries, epsilons=500, trials=1, metrics=["rmse", "uniformity_rmse", "relative_error", "coverage"]
    )
    for label in ("quadtree", "kd-tree", "flat"):
        assert mean(frame, "relative_error", workload="discs", mechanism=label) < 0.3
        total, part = (mean(frame, name, workload="discs", mechanism=label) for name in ("rmse", "uniformity_rmse"))
        if label == "kd-tree":  # its answers are corrected
            assert total < 1.05 * part
        else:
            assert total == pytest.approx(part, rel=0.05)


def test_maps_come_closer_with_epsilon():
    frame = run(sdp.Quadtree(5), epsilons=(0.01, 1), metrics=["earth_mover"])
    assert set(frame["workload"]) == {"map"}
    held = frame[frame["mechanism"] == "quadtree"]
    near, far = (mean(held, "earth_mover", epsilon=epsilon) for epsilon in (1, 0.01))
    assert near < far / 4


def test_regions_count():
    region = shapely.Polygon([(0, 0), (1, 0), (0, 1)])
    domain = sdp.Domain((0, 0, 1, 1), region=region)
    frame = sdp.evaluate(TREES[:2], XY, domain, BOXES, 100, 1)
    inside = int(shapely.contains_xy(region, *XY.T).sum())
    assert abs(frame["records"][0] - inside) < 10  # the region is taken at 1024 x 1024 cells
    assert mean(frame, "rmse", mechanism="quadtree") < 30


def test_subsamples():
    frame = sdp.evaluate_subsamples(sdp.Quadtree(4), XY, DOMAIN, BOXES, 1, 4, records=[100, 1000], seed=3)
    assert set(frame["records"]) == {100, 1000}
    scaled = [mean(frame, "scaled_error", records=count, mechanism="quadtree") for count in (100, 1000)]
    assert scaled[1] < scaled[0] / 3
    with pytest.raises(ParameterError, match="above the number of records") as caught:
        sdp.evaluate_subsamples(sdp.Quadtree(4), XY, DOMAIN, BOXES, 1, 1, records=[10**6])
    assert str(len(XY)) not in str(caught.value)


def test_tables_are_written_whole_and_read_back(tmp_path):
    frame = run(sdp.Quadtree(3), trials=1, epsilons=1)
    write_frame(frame, tmp_path / "errors.csv")
    again = pd.read_csv(tmp_path / "errors.csv", keep_default_na=False, na_values={"size": [""], "persons": [""]})
    pd.testing.assert_frame_equal(again.astype(frame.dtypes), frame, rtol=1e-15)
    assert [path.name for path in tmp_path.iterdir()] == ["errors.csv"]


def test_the_flat_baseline_has_the_grid_of_the_first_that_has_one():
    for mechanisms, shape in (([sdp.KdTree(2), sdp.Wavelet((12, 5))], (12, 5)), (sdp.KdTree(2), (256, 256))):
        frame = run(mechanisms, trials=1, epsilons=1, metrics=["max_error"])
        row = frame[frame["mechanism"] == "flat"].iloc[0]
        noise = sdp.SeededNoise(ast.literal_eval(row["seed"]))
        release = sdp.Flat(shape).release(XY, DOMAIN, epsilon=1, noise=noise)
        truth = Counter.of(sdp.Points(XY), DOMAIN).count(DOMAIN.boxes(BOXES.boxes))
        assert np.abs(release.answer(BOXES.boxes) - truth).max() == row["value"]
