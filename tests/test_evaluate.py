"""The evaluator: repeatable, resumable, the same in parallel, in agreement with theory, able to see what is wrong."""

from __future__ import annotations

import ast
from dataclasses import replace

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely
from click.testing import CliRunner

import spatialdp as sdp
from spatialdp import workload
from spatialdp.cli import main
from spatialdp.errors import BudgetError, FileFormatError, ParameterError
from spatialdp.evaluation.evaluate import NOTE
from spatialdp.evaluation.metrics import DEFAULT_METRICS, METRICS
from spatialdp.mechanisms import PreparedRelease
from spatialdp.mechanisms.base import Terms
from spatialdp.privacy.budget import Budget
from spatialdp.records.truth import Counter

DOMAIN = sdp.Domain((0, 0, 1, 1))
RANDOM = np.random.default_rng(4)
XY = np.vstack([RANDOM.normal(0.3, 0.05, (1500, 2)), RANDOM.random((500, 2))])
BOXES = workload.random_boxes(DOMAIN, 80, seed=2)
CELLS = workload.random_boxes(DOMAIN, 400, seed=3, shape=(32, 32))
SHAPE = (32, 32)
TREES = [sdp.Quadtree(5), sdp.KdTree(4), sdp.Fourier(SHAPE)]


class Halved(sdp.Flat):
    """Broken on purpose: half of the noise that ε calls for."""

    name = "halved"

    def _estimate(self, points, design, noise):
        spent = Terms(Budget(2 * sum(design.costs)), design.neighbours)
        return super()._estimate(points, self._design(design.structure.grid.domain, spent), noise)


def upside_down(height):
    """Broken on purpose: the geometric rule gives most to the root."""
    return sdp.Quadtree(height, budget=[2 ** ((height - depth) / 3) for depth in range(height + 1)])


def run(mechanisms=TREES, xy=XY, queries=BOXES, epsilons=(0.1, 2), trials=3, **options):
    return sdp.evaluate(mechanisms, xy, DOMAIN, queries, epsilons, trials, **options)


def mean(frame, metric, **wanted):
    held = frame[frame["metric"] == metric]
    for name, value in wanted.items():
        held = held[held[name] == value]
    return held["value"].mean()


# --- the frame -------------------------------------------------------------------------------------


def test_one_row_for_each_mechanism_epsilon_trial_workload_and_metric():
    area = workload.area_boxes(DOMAIN, [0.01, 0.1], 20)
    frame = run(queries=[BOXES, *area], dataset="mine")
    assert len(frame) == 5 * 2 * 3 * 3 * len(DEFAULT_METRICS)
    assert not frame.duplicated(["mechanism", "epsilon", "trial", "workload", "metric"]).any()
    assert set(frame["mechanism"]) == {"quadtree", "kd-tree", "fourier", "flat", "uniform"}
    assert set(frame["size"].dropna()) == {0.01, 0.1}
    assert set(frame["note"]) == {NOTE} == {frame.attrs["note"]}
    assert set(frame["dataset"]) == {"mine"}
    assert set(frame["records"]) == {Counter.of(sdp.Points(XY), DOMAIN).n_records}
    assert set(frame["floor"]) == {max(0.001 * frame["records"][0], 1)}
    assert np.isfinite(frame["value"]).all()


def test_the_recorded_seed_gives_the_release_again():
    frame = run(sdp.Quadtree(5), trials=2)
    row = frame[(frame["mechanism"] == "quadtree") & (frame["metric"] == "max_error")].iloc[-1]
    noise = sdp.SeededNoise(ast.literal_eval(row["seed"]))
    release = sdp.Quadtree(5).release(XY, DOMAIN, epsilon=row["epsilon"], noise=noise)
    truth = Counter.of(sdp.Points(XY), DOMAIN).count(DOMAIN.boxes(BOXES.boxes))
    assert np.abs(release.answer(BOXES.boxes) - truth).max() == row["value"]
    assert frame["seed"].nunique() == 3 * 2 * 2


def test_what_else_is_evaluated_changes_nothing():
    alone, together = run(sdp.Quadtree(5)), run(epsilons=(2, 0.1, 1), trials=4)
    mine = together[(together["mechanism"] == "quadtree") & (together["epsilon"] != 1) & (together["trial"] < 3)]
    keys = ["mechanism", "epsilon", "trial", "metric"]
    theirs = alone[alone["mechanism"] == "quadtree"]
    merged = mine.merge(theirs, on=keys)
    assert len(merged) == len(mine) == len(theirs)
    assert (merged["value_x"] == merged["value_y"]).all()


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


def test_delta_goes_to_gaussian_noise_only():
    frame = run([sdp.Flat(SHAPE), sdp.Quadtree(3, law="gaussian")], trials=1, delta=1e-6)
    assert set(frame.loc[frame["delta"] > 0, "mechanism"]) == {"quadtree"}
    with pytest.raises(BudgetError, match="delta"):
        run(sdp.Flat(SHAPE, law="gaussian"))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"mechanisms": ["quadtree"]}, "no mechanism"),
        ({"queries": BOXES.boxes}, "no spatialdp.Workload"),
        ({"queries": [BOXES, BOXES]}, "same name"),
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


# --- the same however it is run --------------------------------------------------------------------


def test_parallel_is_serial_and_resumed_is_uninterrupted(tmp_path):
    everything = [*METRICS, "earth_mover"]
    cache = tmp_path / "trials.jsonl"
    whole = run(metrics=everything, cache=cache)
    pd.testing.assert_frame_equal(whole, run(metrics=everything, processes=2), check_exact=True)
    lines = cache.read_bytes().splitlines(keepends=True)
    assert len(lines) == 1 + 5 * 2 * 3
    cache.write_bytes(b"".join(lines[:9]) + lines[9][:40])  # interrupted in the middle of a line
    pd.testing.assert_frame_equal(whole, run(metrics=everything, cache=cache), check_exact=True)
    assert sorted(cache.read_bytes().splitlines()) == sorted(line.rstrip() for line in lines)


def test_an_interruption_keeps_what_was_done(tmp_path, monkeypatch):
    cache, done = tmp_path / "trials.jsonl", []

    def interrupted(self, *arguments, **options):
        if len(done) == 4:
            raise KeyboardInterrupt
        done.extend([self] * isinstance(self.mechanism, sdp.Quadtree))
        return release(self, *arguments, **options)

    release = PreparedRelease.release
    monkeypatch.setattr(PreparedRelease, "release", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(sdp.Quadtree(5), cache=cache)
    monkeypatch.undo()
    assert len(cache.read_text().splitlines()) == 1 + 3  # one release was a silent one
    pd.testing.assert_frame_equal(run(sdp.Quadtree(5), cache=cache), run(sdp.Quadtree(5)))


def test_a_cache_grows_with_the_evaluation(tmp_path):
    cache = tmp_path / "trials.jsonl"
    run(sdp.Quadtree(5), trials=1, epsilons=1, cache=cache)
    before = cache.read_bytes()
    run(trials=2, epsilons=(1, 3), cache=cache)
    after = cache.read_bytes()
    assert after.startswith(before)
    assert len(after.splitlines()) == 1 + 5 * 2 * 2
    run({"quadtree": sdp.Quadtree(4)}, trials=1, epsilons=1, cache=cache)  # same label, another mechanism
    assert len(cache.read_bytes().splitlines()) == 1 + 5 * 2 * 2 + 2  # with the flat baseline on its grid


@pytest.mark.parametrize(
    "changes",
    [{"xy": XY[1:]}, {"queries": CELLS}, {"seed": 2}, {"metrics": ["rmse"]}, {"floor": 0.01}],
    ids=["records", "queries", "seed", "metrics", "floor"],
)
def test_a_foreign_cache_is_refused(tmp_path, changes):
    cache = tmp_path / "trials.jsonl"
    run(sdp.Quadtree(3), trials=1, cache=cache)
    before = cache.read_bytes()
    with pytest.raises(FileFormatError, match="belongs to other"):
        run(**({"mechanisms": sdp.Quadtree(3), "trials": 1, "cache": cache} | changes))
    assert cache.read_bytes() == before


@pytest.mark.parametrize("content", [b"x,y\n1,2\n", b'{"a": 1}\n', b"\xff\xfe", b"half a line"])
def test_other_files_are_not_overwritten(tmp_path, content):
    path = tmp_path / "points.csv"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match="give another cache file"):
        run(cache=path)
    assert path.read_bytes() == content


def test_two_evaluations_do_not_share_a_cache_at_once(tmp_path):
    from spatialdp.evaluation.cache import TrialCache

    path = tmp_path / "trials.jsonl"
    late = TrialCache(path, "context", "note")
    with TrialCache(path, "context", "note") as first:
        first.add("one", [(0, "rmse", 1.0)])
        with pytest.raises(FileFormatError, match="in use by another evaluation"):
            late.__enter__()
    with late:
        assert late.done == {"one": [(0, "rmse", 1.0)]}
        late.add("two", [(0, "rmse", 2.0)])
    assert list(TrialCache(path, "context", "note").done) == ["one", "two"]


def test_a_damaged_cache_is_refused(tmp_path):
    cache = tmp_path / "trials.jsonl"
    run(sdp.Quadtree(3), trials=2, cache=cache)
    lines = cache.read_bytes().splitlines(keepends=True)
    cache.write_bytes(b"".join([lines[0], b'{"trial": "x", "measured": [[1]]}\n', *lines[2:]]))
    with pytest.raises(FileFormatError, match="damaged"):
        run(sdp.Quadtree(3), trials=2, cache=cache)


# --- right -----------------------------------------------------------------------------------------


def test_at_huge_epsilon_the_error_is_the_uniformity_error():
    mechanisms = {
        "quadtree": sdp.Quadtree(5),
        "wavelet": sdp.Wavelet(SHAPE),
        "hierarchy": sdp.Hierarchy(SHAPE),
        "tailored": sdp.Tailored(SHAPE),
        "fourier": sdp.Fourier(SHAPE, block=(9, 9)),
        "kd": sdp.KdTree(3),
        "pruned": sdp.Quadtree(5, prune=20),
        "truncated": sdp.Flat(SHAPE, truncate=5),
    }
    frame = run(mechanisms, epsilons=1000, trials=2)
    for label in [*mechanisms, "uniform"]:
        total, part, noise = (mean(frame, name, mechanism=label) for name in ("rmse", "uniformity_rmse", "noise_rmse"))
        assert part > 0.5
        assert total == pytest.approx(part, rel=0.02), label
        assert noise < 0.05 * part, label


def test_whole_cells_have_no_uniformity_error():
    frame = run([sdp.Quadtree(5), sdp.Hierarchy(SHAPE)], queries=CELLS, trials=2)
    for label in ("quadtree", "hierarchy", "flat"):
        assert mean(frame, "uniformity_rmse", mechanism=label) < 1e-9
        assert mean(frame, "rmse", mechanism=label) == pytest.approx(mean(frame, "noise_rmse", mechanism=label))


def test_noise_free_trees_are_trees_with_true_counts():
    """What kd-trees answer without noise is worked out leaf by leaf."""
    frame = run({"kd": sdp.KdTree(2)}, trials=1, epsilons=1)
    row = frame[(frame["mechanism"] == "kd") & (frame["metric"] == "uniformity_rmse")].iloc[0]
    noise = sdp.SeededNoise(ast.literal_eval(row["seed"]))
    leaves = sdp.KdTree(2).release(XY, DOMAIN, epsilon=1, noise=noise).to_geodataframe()
    counter = Counter.of(sdp.Points(XY), DOMAIN)
    counts = counter.count(DOMAIN.boxes(leaves.geometry.bounds.to_numpy()))
    queries = shapely.box(*BOXES.boxes.T)
    shares = np.array([shapely.area(shapely.intersection(leaves.geometry, q)) / leaves.area for q in queries])
    errors = shares @ counts - counter.count(DOMAIN.boxes(BOXES.boxes))
    assert row["value"] == pytest.approx(np.sqrt(np.mean(errors**2)), rel=1e-5)


AGREEING = {
    "flat": sdp.Flat(SHAPE),
    "quadtree": sdp.Quadtree(5),
    "hierarchy": sdp.Hierarchy(SHAPE),
    "wavelet": sdp.Wavelet(SHAPE),
}
TRIALS = 100


def deviation(frame, label, epsilon, expected):
    """By how many standard errors the measured mean square differs from the expected one."""
    held = frame[(frame["metric"] == "rmse") & (frame["mechanism"] == label) & (frame["epsilon"] == epsilon)]
    squares = held["value"].to_numpy() ** 2
    assert squares.size == TRIALS
    return (squares.mean() - expected**2) / (squares.std(ddof=1) / np.sqrt(TRIALS))


@pytest.fixture(scope="module")
def measured():
    broken = {"halved": Halved(SHAPE), "upside down": upside_down(5)}
    return run(AGREEING | broken, queries=CELLS, epsilons=(0.1, 1), trials=TRIALS, metrics=["rmse"])


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.1, 1])
@pytest.mark.parametrize("label", AGREEING)
def test_measured_errors_agree_with_those_expected(measured, label, epsilon):
    """Fixed seeds; with others, beyond 5 standard errors of the mean square about once in a million."""
    expected = AGREEING[label].expected_error(DOMAIN, CELLS.boxes, epsilon=epsilon)
    assert abs(deviation(measured, label, epsilon, expected)) < 5


@pytest.mark.statistical
@pytest.mark.parametrize(("label", "claims"), [("halved", "flat"), ("upside down", "quadtree")])
def test_broken_mechanisms_do_not_agree(measured, label, claims):
    for epsilon in (0.1, 1):
        expected = AGREEING[claims].expected_error(DOMAIN, CELLS.boxes, epsilon=epsilon)
        assert abs(deviation(measured, label, epsilon, expected)) > 10


def test_broken_mechanisms_change_their_rank(measured):
    table = sdp.ranking(measured)
    order = [line.split("|")[1].strip() for line in table.splitlines() if line.startswith("| ")][1:]
    assert order.index("halved") < order.index("flat")
    assert order.index("upside down") > order.index("quadtree")


@pytest.mark.statistical
def test_intervals_cover_as_they_say():
    """Fixed seeds; answers of a release hang together, so that releases, and not boxes, are what is independent."""
    frame = run(AGREEING, queries=CELLS, epsilons=0.5, trials=40, level=0.8, metrics=["coverage", "interval_width"])
    for label in AGREEING:
        held = frame[(frame["metric"] == "coverage") & (frame["mechanism"] == label)]["value"]
        assert abs(held.mean() - 0.8) < 5 * held.std() / np.sqrt(40)
        assert held.std() < 0.15
        assert mean(frame, "interval_width", mechanism=label) > 0
    biased = run({"cut": sdp.Flat(SHAPE, truncate=9)}, trials=1, metrics=["coverage", "rmse"])
    assert set(biased.loc[biased["mechanism"] == "cut", "metric"]) == {"rmse"}


def test_empty_data_and_empty_queries():
    nowhere = sdp.Workload("nowhere", boxes=[(0.2, 0.2, 0.2, 0.9), (3, 3, 4, 4)])
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
    with pytest.raises(ParameterError, match="more than there are") as caught:
        sdp.evaluate_subsamples(sdp.Quadtree(4), XY, DOMAIN, BOXES, 1, 1, records=[10**6])
    assert str(len(XY)) not in str(caught.value)


# --- command line ----------------------------------------------------------------------------------


def command(*words):
    return CliRunner().invoke(main, ["evaluate", *map(str, words)])


def test_command_writes_table_figures_and_ranking(tmp_path):
    words = ("-m", "mine=quadtree:height=4:consistent=no", "-m", "kd-tree:height=3:median=cell:cells=16")
    queries = ("-w", "area:shares=0.01,0.1:count=20", "-w", "sized:width=0.1:height=0.05")
    shared = ("--epsilons", "0.1,1", "--trials", 2, "-q", "-o", tmp_path / "out", "--cache", tmp_path / "trials.jsonl")
    done = command("chattanooga", *words, *queries, *shared)
    assert done.exit_code == 0, done.output
    assert NOTE in done.stdout
    assert "| mine " in done.stdout
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "errors.csv",
        "errors.png",
        "sizes.png",
        "ranking.md",
    }
    frame = pd.read_csv(tmp_path / "out" / "errors.csv")
    assert set(frame["mechanism"]) == {"mine", "kd-tree(height=3, median=cell, cells=16)", "flat", "uniform"}
    assert set(frame["note"]) == {NOTE}
    data = sdp.datasets.DATASETS["chattanooga"]
    mine = {"mine": sdp.Quadtree(4, consistent=False)}
    again = sdp.evaluate(
        mine, data.points(), data.domain, workload.area_boxes(data.domain, [0.01, 0.1], 20, seed=1), [0.1, 1], 2
    )
    keys = {"metric": "rmse", "mechanism": "mine", "workload": "1 % of the area", "epsilon": 0.1}
    assert mean(frame, **keys) == pytest.approx(mean(again, **keys), rel=1e-12)


def test_command_takes_files_and_parts_of_the_records(tmp_path):
    pd.DataFrame(XY, columns=["a", "b"]).to_csv(tmp_path / "points.csv", index=False)
    pd.DataFrame([[0, 0, 0.5, 0.5]], columns=["xmin", "ymin", "xmax", "ymax"]).to_csv(tmp_path / "box.csv", index=False)
    place = ("--x", "a", "--y", "b", "--bounds", "0,0,1,1", "--boxes", tmp_path / "box.csv")
    few = ("-m", "quadtree:height=3", "--epsilons", "1/2", "--trials", 1, "-q", "-o", tmp_path)
    done = command(tmp_path / "points.csv", *place, *few, "--records", "100,1000")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "records.png").exists()
    frame = pd.read_csv(tmp_path / "errors.csv")
    assert set(frame["records"]) == {100, 1000}
    assert set(frame["workload"]) == {"box"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nothing.csv",), "no domain was given"),
        (("auckland", "-m", "quadtre:height=3"), "Did you mean 'quadtree'"),
        (("auckland", "-m", "quadtree:height=tall"), "can not be read"),
        (("auckland", "-m", "quadtree:hight=3"), "Did you mean 'height'"),
        (("auckland", "-m", "quadtree:height"), "PARAMETER=VALUE"),
        (("auckland", "-m", "quadtree:height=3", "-m", "quadtree:height=3"), "same label"),
        (("auckland", "-w", "circles"), "must be one of random"),
        (("auckland", "-w", "sized:width=1"), "needs height"),
        (("auckland", "-w", "random:number=1"), "no parameter 'number'"),
        (("auckland", "--epsilons", "much"), "number"),
        (("auckland", "--metric", "accuracy"), "must be one of mean_error"),
    ],
)
def test_command_refuses_nonsense(tmp_path, words, said):
    done = command(*words, "-q", "-o", tmp_path / "out", "--trials", 1)
    assert done.exit_code == 2
    assert said in done.output
    assert not (tmp_path / "out").exists()


def test_command_replaces_nothing_without_force(tmp_path):
    (tmp_path / "ranking.md").write_text("mine")
    words = ("chattanooga", "-m", "quadtree:height=2", "--epsilons", "1", "--trials", 1, "-q", "-o", tmp_path)
    assert "ranking.md exists" in command(*words).output
    assert [path.name for path in tmp_path.iterdir()] == ["ranking.md"]
    assert command(*words, "--force").exit_code == 0
    assert (tmp_path / "ranking.md").read_text() != "mine"


def test_frozen_mechanisms_travel_to_processes():
    """Parameters of every kind come back from a pickle, which is how they reach a process."""
    import pickle

    for mechanism in (*TREES, sdp.Tailored((16, 16)), sdp.Wavelet(SHAPE, law="laplace"), sdp.Uniform()):
        assert pickle.loads(pickle.dumps(mechanism)) == mechanism
        assert replace(mechanism) == mechanism


def test_records_are_sorted_for_counting_once(monkeypatch):
    built, real = [], Counter.__init__
    monkeypatch.setattr(Counter, "__init__", lambda self, *arrays: built.append(self) or real(self, *arrays))
    run(sdp.KdTree(3), metrics=["earth_mover"])
    assert len(built) == 1
