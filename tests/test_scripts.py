"""Every experiment runs on its own, writes its figure and its numbers, and the numbers make sense."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

SCRIPTS = Path(__file__).parent.parent / "scripts"

sys.path.insert(0, str(SCRIPTS))
import common  # noqa: E402 - scripts are no package
import curves  # noqa: E402 - as above


def run(name: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPTS / f"{name}.py"), "--output", str(folder), *options]
    environment = {**os.environ, "PYTHONPATH": str(SCRIPTS.parent)}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def results(name: str, folder: Path, *options: str) -> list[dict[str, str]]:
    done = run(name, folder, *options)
    assert done.returncode == 0, done.stderr
    picture = (folder / f"{name}.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 300_000
    with (folder / f"{name}.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["noise"] for row in rows} == {"seeded noise, not private"}
    return rows


def error(rows: list[dict[str, str]], **wanted: str) -> float:
    (row,) = [row for row in rows if all(row[name] == value for name, value in wanted.items())]
    return float(row["error"])


def test_exponential_median_beats_the_others(tmp_path):
    rows = results("median_quality", tmp_path, "--releases", "5", "--epsilons", "0.01")
    best = error(rows, method="exponential")
    assert best < 1
    assert all(best < float(row["error"]) for row in rows if row["method"] != "exponential")


def test_best_quadtree_beats_the_baseline(tmp_path):
    options = ("--releases", "2", "--queries", "20", "--epsilons", "0.1,1", "--shapes", "1x1,5x5")
    rows = results("quadtree_variants", tmp_path, *options)
    assert len(rows) == 4 * 2 * 2
    assert 2 * error(rows, method="quad-opt", epsilon="0.1", shape="5 × 5") < error(
        rows, method="quad-baseline", epsilon="0.1", shape="5 × 5"
    )


def test_true_medians_are_marked_and_good(tmp_path):
    options = ("--releases", "2", "--queries", "20", "--epsilons", "0.1", "--shapes", "1x1")
    rows = results("kd_variants", tmp_path, *options)
    assert {row["method"] for row in rows if row["private_by_design"] == "False"} == {"kd-true (not private)"}
    assert error(rows, method="kd-true (not private)", shape="1 × 1") < error(rows, method="kd-hybrid", shape="1 × 1")


def test_deep_trees_are_noisy_and_flat_ones_coarse(tmp_path):
    options = ("--releases", "2", "--queries", "20", "--epsilons", "1", "--shapes", "5x5")
    rows = results("error_vs_height", tmp_path, *options)
    for method in ("quad-opt", "kd-hybrid"):
        errors = [error(rows, method=method, height=str(height)) for height in (2, 7, 10)]
        assert errors[1] < min(errors[0], errors[2])


def test_decompositions_are_drawn(tmp_path):
    rows = results("decomposition_maps", tmp_path)
    assert len(rows) == 5
    assert all(100 < int(row["boxes"]) < 4**6 for row in rows)


def test_any_parquet_file_will_do(tmp_path):
    random = np.random.default_rng(1)
    path = tmp_path / "mine.parquet"
    pq.write_table(pa.table({"east": random.normal(5, 1, 3000), "north": random.normal(-4, 2, 3000)}), path)
    given = ("--points", str(path), "--x", "east", "--y", "north", "--shapes", "1x1", "--releases", "1")
    rows = results(
        "quadtree_variants", tmp_path, *given, "--bounds", "-1,-10,11,2", "--queries", "5", "--epsilons", "1"
    )
    assert {row["data"] for row in rows} == {"mine"}
    assert "--bounds" in run("kd_variants", tmp_path, *given).stderr
    assert "do not fit" in run("kd_variants", tmp_path, *given, "--bounds", "5,5,5.5,5.5").stderr


@pytest.mark.parametrize("option", [("--epsilons", "much"), ("--shapes", "1"), ("--releases", "0")])
def test_nonsense_is_refused(tmp_path, option):
    done = run("quadtree_variants", tmp_path / "out", *option)
    assert done.returncode == 2
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("n_records", [0, 1, 2, 7, 1000])
def test_exact_counts_agree_with_brute_force(n_records):
    random = np.random.default_rng(n_records)
    x, y = random.integers(0, 30, (2, n_records))
    boxes = np.sort(random.integers(0, 31, (200, 2, 2)), axis=1).reshape(200, 4)
    held = [np.sum((x >= x0) & (x < x1) & (y >= y0) & (y < y1)) for x0, y0, x1, y1 in boxes]
    assert common.Counter(x, y).count(boxes).tolist() == held


def test_labels_keep_their_order_and_distance():
    places = np.array([0.5, 0.1, 0.51, 0.5])
    moved = curves.spread(places, 0.1)
    assert np.diff(np.sort(moved)).min() > 0.099
    assert moved[1] < moved[0] < moved[3] < moved[2]
