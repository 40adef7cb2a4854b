"""Every experiment runs on its own, writes its figure and its numbers, and the numbers make sense."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"


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


def test_evaluator_draws_all_its_figures(tmp_path):
    few = ("--trials", "1", "--queries", "20", "--data", "chattanooga", "--processes", "1", "--epsilon", "1")
    done = run("error_vs_epsilon", tmp_path, *few)
    assert done.returncode == 0, done.stderr
    for name in ("error_vs_epsilon", "error_vs_size", "error_vs_records"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        with (tmp_path / f"{name}.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert all("not private" in row["note"] for row in rows)
        assert {row["mechanism"] for row in rows} >= {"flat", "uniform", "tailored", "kd-hybrid"}
    assert not (tmp_path / "error_vs_epsilon_more.csv").exists()
    assert "Chattanooga intersections, random boxes" in (tmp_path / "error_vs_epsilon.md").read_text()


def test_evaluator_takes_data_from_beside_the_project(tmp_path):
    few = ("--trials", "1", "--queries", "20", "--data", "chattanooga", "--processes", "1", "--epsilon", "1")
    assert "--more: none of" in run("error_vs_epsilon", tmp_path, *few, "--more", str(tmp_path)).stderr
    random = np.random.default_rng(1)
    table = pa.table({"lon": random.uniform(-6, 1, 3000), "lat": random.uniform(50, 58, 3000)})
    pq.write_table(table, tmp_path / "accidents_uk.parquet")
    done = run("error_vs_epsilon", tmp_path, *few, "--more", str(tmp_path))
    assert done.returncode == 0, done.stderr
    with (tmp_path / "error_vs_epsilon_more.csv").open() as file:
        assert {row["records"] for row in csv.DictReader(file)} == {"3000"}
    assert "Road accidents in Great Britain" in (tmp_path / "error_vs_epsilon_more.md").read_text()


def rows_of(path: Path) -> list[dict[str, str]]:
    assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    with path.with_suffix(".csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["noise"] for row in rows} == {"seeded noise, not private"}
    return rows


def test_reproductions_agree_with_theory(tmp_path):
    """Seeded, so these bounds hold always or never; a noise scale that is wrong by a tenth fails the first one.

    Long ranges of a release are one draw seen many times, so of the hierarchy only short ones say anything in 5 trials.
    """
    done = run("reproductions", tmp_path, "--small", "--trials", "5")
    assert done.returncode == 0, done.stderr
    for name in ("budgets", "wavelet", "consistency"):
        rows = [
            row for row in rows_of(tmp_path / f"reproduction_{name}") if name != "consistency" or float(row["x"]) <= 16
        ]
        ratios = np.array([float(row["measured"]) / float(row["expected"]) for row in rows])
        assert abs(np.exp(np.log(ratios).mean()) - 1) < 0.06
    expected = {(row["method"], row["x"]): float(row["expected"]) for row in rows_of(tmp_path / "reproduction_wavelet")}
    assert expected["Wavelet", "8"] > expected["Flat", "8"]
    ratios = [row for row in rows_of(tmp_path / "reproduction_exchange") if row["records"] == "5000"]
    assert len(ratios) == 2 * 8
    assert abs(np.mean([float(row["ratio"]) for row in ratios]) - 1) < 0.1


def test_adaptive_trees_are_compared_with_published_methods(tmp_path):
    done = run("adaptive_errors", tmp_path, "--trials", "1", "--sets", "liege")
    assert done.returncode == 0, done.stderr
    with (tmp_path / "adaptive_errors.csv").open() as file:
        rows = {
            (row["mechanism"], row["epsilon"], row["workload"]): float(row["value"]) for row in csv.DictReader(file)
        }
    assert len(rows) == 9 * 3 * 3
    assert rows["Adaptive", "0.01", "random"] < rows["Quadtree", "0.01", "random"] / 3
    assert "AGrid, n public" in (tmp_path / "adaptive_errors.md").read_text()
    assert (tmp_path / "adaptive_errors.png").stat().st_size > 10_000


def test_coverage_of_adaptive_trees_is_measured(tmp_path):
    done = run("adaptive_coverage", tmp_path, "--releases", "3", "--sets", "empty")
    assert done.returncode == 0, done.stderr
    with (tmp_path / "adaptive_coverage.csv").open() as file:
        assert [row["boxes"] for row in csv.DictReader(file)] == ["random", "1 %", "0.1 %", "total"]
    assert "| empty | 0.1 |" in (tmp_path / "adaptive_coverage.md").read_text()


def test_fields_are_compared_with_plain_trees(tmp_path):
    done = run("adaptive_worst_cases", tmp_path, "--releases", "2", "--maps", "empty")
    assert done.returncode == 0, done.stderr
    with (tmp_path / "adaptive_worst_cases.csv").open() as file:
        assert all(float(row["ratio"]) < 1 for row in csv.DictReader(file))
    assert "| empty |" in (tmp_path / "adaptive_worst_cases.md").read_text()


def test_fourier_wins_on_smooth_densities_only(tmp_path):
    done = run("fourier_smooth_and_clustered", tmp_path, "--releases", "2")
    assert done.returncode == 0, done.stderr
    rows = rows_of(tmp_path / "fourier")
    for density, better in (("Smooth", True), ("Clustered", False)):
        low_pass, flat = (error(rows, density=density, method=name, side="8.0") for name in ("Fourier, 8 × 8", "Flat"))
        assert (low_pass < flat) is better


def test_figures_of_the_texts_exist():
    texts = [SCRIPTS.parent / "README.md", *sorted((SCRIPTS.parent / "docs").glob("*.md"))]
    named = [text.parent / path for text in texts for path in re.findall(r"\]\(([^)#:]+)\)", text.read_text())]
    assert len(named) > 15
    for path in named:
        assert path.exists(), path
    for path in (SCRIPTS.parent / "figures").glob("*.png"):
        assert path.stat().st_size < 300_000


def test_every_figure_is_made_by_make():
    """Each script with an experiment is in the target; others release, answer, vendor, need a browser or more data."""
    recipe = (SCRIPTS.parent / "Makefile").read_text().split("\nfigures:")[1].split("\n\n")[0]
    called = set(re.findall(r"scripts/(\w+)\.py", recipe))
    helpers = {"common", "curves", "release_map", "answer_queries", "optimise_strategies", "vendor_leaflet"}
    helpers |= {
        "cell_lines",
        "data_walk",
        "fingerprint",
        "interval_coverage",
        "adaptive_coverage",
        "adaptive_worst_cases",
        "contrast",
        "full_domain",
        "person_bounds",
        "planning_laws",
        "table_sql",
        "flows",
        "trajectories",
    }
    assert called == {path.stem for path in SCRIPTS.glob("*.py")} - helpers - {"explorer_picture"}


@pytest.mark.parametrize("page", ["contrast.md", "reproductions.md"])
def test_tables_of_the_contrast_are_those_of_the_run(page):
    """Every row that speaks of k-anonymous releases stands in a file that `scripts/contrast.py` wrote."""
    runs = "".join((SCRIPTS.parent / "figures" / f"contrast_{name}.md").read_text() for name in ("maps", "people"))
    starts = ("| 5-anonymous", "| 10-anonymous", "| 30-anonymous", "| ε = 1", "| all persons", "| employed", "| Adult")
    lines = (SCRIPTS.parent / "docs" / page).read_text().splitlines()
    rows = [line for line in lines if line.startswith(starts)]
    assert len(rows) >= 7
    assert [row for row in rows if row not in runs] == []


def test_table_of_full_domain_generalisation_is_that_of_the_run():
    run_of = (SCRIPTS.parent / "figures" / "full_domain.md").read_text().splitlines()
    page = (SCRIPTS.parent / "docs" / "reproductions.md").read_text().splitlines()
    assert [line for line in run_of if line not in page] == []
    assert len(run_of) == 6


def test_full_domain_generalisations_are_counted_for_all_trees(tmp_path):
    """On made people with the values of Adult; finer trees of one column make no more vectors anonymous."""
    from scripts.full_domain import ARX, BY_NAMES, tree

    rng = np.random.default_rng(1)
    values = {name: list(tree(text)._codes) for name, text in (ARX | BY_NAMES).items()}
    values |= {"sex": ["Female", "Male"], "race": ["White", "Black"], "income": ["<=50K.", ">50K"]}
    people = pd.DataFrame({name: rng.choice(each, 2000) for name, each in values.items()})
    people.assign(age=rng.integers(17, 91, 2000)).to_parquet(tmp_path / "people_adult.parquet")
    done = run("full_domain", tmp_path, "--data", str(tmp_path))
    assert done.returncode == 0, done.stderr
    rows = [line.split("|")[2:6] for line in (tmp_path / "full_domain.md").read_text().splitlines()[3:]]
    assert len(rows) == 3
    for row in rows:
        counts = [tuple(map(int, cell.split("/"))) for cell in row]
        assert all(0 < least <= every for every, least in counts)
        assert counts[2][0] > counts[3][0]


def test_composition_is_attacked_on_tables_of_people_and_on_maps(tmp_path):
    """On small made tables, with the columns of the real ones; half of all persons have one value."""
    rng = np.random.default_rng(1)
    n = 12_500

    def texts(values: int) -> np.ndarray:
        return np.array([f"value {code}" for code in range(values)])[rng.integers(0, values, n)]

    names = ("worker", "education", "marital", "race", "sex", "birth")
    census = {"age": rng.integers(0, 90, n), **{name: texts(4) for name in names}, "industry": rng.integers(1, 9, n)}
    occupations = rng.integers(1, 40, n) * (census["age"] > 20)
    pd.DataFrame(census | {"occ": occupations}).to_parquet(tmp_path / "people_census_income.parquet")
    names = ("workclass", "education", "marital", "race", "sex", "country")
    adult = {"age": rng.integers(17, 90, n), "train": True, **{name: texts(4) for name in names}}
    adult["occupation"] = texts(14)
    pd.DataFrame(adult).to_parquet(tmp_path / "people_adult.parquet")
    places = {"lon": rng.uniform(138.4, 138.85, 4000), "lat": rng.uniform(-35.3, -34.6, 4000)}
    crashes = places | {"crash_type": rng.choice(["a", "b", "c", "d"], 4000)}
    pd.DataFrame(crashes).to_parquet(tmp_path / "crashes_south_australia.parquet")
    done = run("contrast", tmp_path, "--data", str(tmp_path))
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "contrast_people.md").read_text()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| ")]
    shares = {(row[0], row[1]): float(row[2].removesuffix(" %")) for row in cells if len(row) == 8 and "%" in row[2]}
    assert shares["all persons", "intersection"] > shares["all persons", "first release alone"] > 10
    assert shares["employed persons", "first release alone"] < 5
    assert "Private-only" in (tmp_path / "contrast_maps.md").read_text()
    for name in ("attack", "maps", "poster", "diversity"):
        assert (tmp_path / f"contrast_{name}.png").stat().st_size > 10_000


def test_chosen_bounds_are_compared_with_hindsight(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(2).random((300, 2)), columns=["x", "y"]).assign(who=range(300))
    frame.to_parquet(tmp_path / "few.parquet")
    records = f"few,{tmp_path / 'few.parquet'},x,y,who,0,0,1,1"
    done = run("person_bounds", tmp_path, "--persons=40", "--mechanisms=flat", f"--records={records}")
    assert done.returncode == 0, done.stderr
    with (tmp_path / "person_bounds.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["data"] for row in rows} == {"made heavy tail", "few"}
    assert len(rows) == 2 * 16
    for row in rows:
        assert row["chosen"] == "1"  # nobody of the few has more than one record, and the made persons are few
        assert 0.9 < float(row["ratio_1"]) < 2
    assert "| few | flat |" in (tmp_path / "person_bounds.md").read_text()


def test_budgets_of_zones_are_the_best(tmp_path):
    states = ["01"] * 5 + ["02"] + ["03"] * 12
    pd.DataFrame({"state": states}).to_parquet(tmp_path / "counties.parquet")
    done = run("zone_budgets", tmp_path, "--counties", str(tmp_path / "counties.parquet"))
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "zone_budgets.md").read_text().splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| ")][1:]
    assert len(rows) == 12
    for tree in {row[0] for row in rows}:
        found = {row[1]: float(row[4]) for row in rows if row[0] == tree}
        assert found["best"] == min(found.values())


def test_worked_examples_release_and_answer(tmp_path):
    done = run("release_map", tmp_path, "--epsilon", "1")
    assert done.returncode == 0, done.stderr
    assert "ε = 1 (add-remove one record), quadtree" in done.stdout
    assert (tmp_path / "intersections.png").read_bytes().startswith(b"\x89PNG")
    done = run("answer_queries", tmp_path, str(tmp_path / "intersections.parquet"))
    assert done.returncode == 0, done.stderr
    for name, rows in (("squares", 16), ("circles", 3)):
        with (tmp_path / f"{name}.csv").open() as file:
            found = list(csv.DictReader(file))
        assert len(found) == rows
        assert all(float(row["lower"]) <= max(float(row["estimate"]), 0) <= float(row["upper"]) for row in found)
        assert any(float(row["lower"]) < float(row["upper"]) for row in found)


def test_every_mechanism_is_drawn_and_measured(tmp_path):
    done = run("mechanism_pictures", tmp_path, "--trials", "1")
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("mechanism_*.png"))) == 9
    with (tmp_path / "mechanisms.csv").open() as file:
        rows = {(row["mechanism"], row["epsilon"], row["workload"]): float(row["rmse"]) for row in csv.DictReader(file)}
    assert len(rows) == 9 * 2 * 4
    assert rows["Flat", "0.1", "cells of 64 × 64"] < rows["Tailored", "0.1", "cells of 64 × 64"]
    assert rows["Tailored", "0.1", "random boxes"] < rows["Uniform", "0.1", "random boxes"] / 5


def test_counties_are_drawn_with_their_intervals(tmp_path):
    done = run("county_map", tmp_path)
    assert done.returncode == 0, done.stderr
    picture = (tmp_path / "counties.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert 20_000 < len(picture) < 300_000


def test_running_totals_are_those_of_the_design(tmp_path):
    done = run("running_totals", tmp_path)
    assert done.returncode == 0, done.stderr
    rows = [line.split("|")[1:-1] for line in (tmp_path / "running_totals.md").read_text().splitlines() if "|" in line]
    table = [[cell.strip() for cell in row] for row in rows[2:]]
    assert [row[:5] for row in table] == [
        ["12", "6.5, 12.0", "9.2, 15.0", "3.4, 4.9", "2.9, 3.4"],
        ["60", "30.5, 60.0", "20.5, 35.0", "6.2, 9.2", "4.9, 5.6"],
        ["365", "183.0, 365.0", "40.8, 80.0", "10.6, 15.2", "7.7, 8.7"],
    ]
    assert (Path(__file__).parents[2] / "figures" / "running_totals.md").read_text() == (
        tmp_path / "running_totals.md"
    ).read_text()


def test_synthetic_tables_are_compared(tmp_path):
    """PrivBayes models pairs of attributes better than maps that are drawn apart; the page shows what the run makes."""
    done = run("privbayes", tmp_path, "--epsilons", "1", "--trials", "1", "--side", "16")
    assert done.returncode == 0, done.stderr
    rows = [line.split("|")[1:-1] for line in (tmp_path / "privbayes.md").read_text().splitlines() if "|" in line]
    table = {row[1].strip(): [float(cell) for cell in row[2:]] for row in rows[2:]}
    assert len(table) == 6
    assert table["PrivBayes"][2] < table["maps of each category"][2]
    assert table["maps of each category"][1] < table["PrivBayes, whole attributes"][1]
    assert table["half the records, doubled"][3] < min(errors[3] for errors in list(table.values())[:-1])


def test_randomized_response_costs_orders_of_magnitude(tmp_path):
    done = run("randomized_response", tmp_path)
    assert done.returncode == 0, done.stderr
    written = (tmp_path / "randomized_response.md").read_text()
    assert written == (SCRIPTS.parent / "figures" / "randomized_response.md").read_text()
    lines = [line.split("|")[1:-1] for line in written.splitlines()[2:] if "|" in line]
    errors = {
        line[0].split(":")[0].strip() + line[0].split(":")[1][:6]: float(line[3].replace(",", "")) for line in lines
    }
    zeros, many, unary, plain, adaptive = errors.values()
    assert many > 100 * zeros
    assert unary > zeros > 100 * plain > 100 * adaptive


def test_randomized_response_is_unbiased_and_as_noisy_as_theory_says():
    from scripts import randomized_response as rr

    rng, counts = np.random.default_rng(1), np.array([500, 300, 0, 0, 200])
    theory = {
        rr.one_of_many: rr.deviation_of_one_of_many(1000, 5, 1),
        rr.unary_encoding: rr.deviation_of_unary_encoding(1000, 1),
    }
    for answers, deviation in theory.items():
        draws = np.array([answers(counts, 1, rng) for _ in range(4000)])
        assert draws.mean(axis=0) == pytest.approx(counts, abs=5 * deviation / 4000**0.5 * 2)
        # Of an empty cell; 4,000 draws know a standard deviation to 1.1 %, and one 10 % too large would be seen.
        assert draws[:, 2].std() == pytest.approx(deviation, rel=0.06)
        assert draws[:, 2].std() != pytest.approx(1.1 * deviation, rel=0.04)


def test_lists_find_hot_spots(tmp_path):
    random = np.random.default_rng(1)
    folder = tmp_path / "data"
    folder.mkdir()
    lon, lat = np.repeat(random.random((5, 2)), 300, axis=0).T
    pq.write_table(pa.table({"lon": lon, "lat": lat}), folder / "mine.parquet")
    done = run("hot_spots", tmp_path, "--releases", "1", "--data", str(folder))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "mechanism_sparse.png").read_bytes().startswith(b"\x89PNG")
    with (tmp_path / "hot_spots_more.csv").open() as file:
        rows = list(csv.DictReader(file))
    (finest,) = (row for row in rows if row["side"] == "30" and row["epsilon"] == "1.0")
    assert (finest["hot"], finest["hot listed"], finest["share of records"]) == ("5", "1.0", "1.0")
    assert "| mine" in (tmp_path / "hot_spots_more.md").read_text()


def test_lists_over_grids_are_compared_with_maps(tmp_path):
    done = run("list_over_grid", tmp_path, "--releases", "1", "--sets", "chattanooga")
    assert done.returncode == 0, done.stderr
    with (tmp_path / "list_over_grid.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 3
    assert all(float(row[kind]) > 0 for row in rows for kind in ("Hierarchy", "Adaptive", "hybrid"))
    assert "| chattanooga | 0.1 | 0.01 %" in (tmp_path / "list_over_grid.md").read_text()


def test_lists_over_maps_are_compared_with_maps(tmp_path):
    done = run("sparse_map", tmp_path, "--releases", "1", "--sets", "chattanooga")
    assert done.returncode == 0, done.stderr
    rows = table(tmp_path / "sparse_map.md")
    assert [row[:3] for row in rows][:2] == [["chattanooga", "0.1", "0.01 %"], ["chattanooga", "0.1", "1 %"]]
    assert all(float(number.strip("*")) > 0 for row in rows for number in row[3:])


def table(path: Path) -> list[list[str]]:
    """The cells of a table, without its header."""
    lines = [line for line in path.read_text().splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]


def test_clusters_of_a_release_are_better_than_those_through_a_curator(tmp_path):
    done = run("lloyd", tmp_path, "--trials", "1", "--epsilons", "0.1", "--cities", "chattanooga,salt-lake-city")
    assert done.returncode == 0, done.stderr
    rows = table(tmp_path / "lloyd.md")
    assert [(row[0][:4], row[1]) for row in rows] == [("Chat", "5"), ("Chat", "15"), ("Salt", "5"), ("Salt", "15")]
    for row in rows:
        three, five, hierarchy, adaptive = map(float, row[3:])
        assert 1 <= max(hierarchy, adaptive) < 0.7 * min(three, five)


def test_the_cells_nearest_to_centres_are_those_of_the_distance():
    import shapely

    import spatialdp as sdp
    from scripts.lloyd import ground_scale, nearest_cells, starts

    domain = sdp.Domain((5.0, 50.4, 6.0, 51.0), crs="EPSG:4326")
    centres, scale = starts(domain, 7), ground_scale(domain)
    cells = nearest_cells(centres, domain)
    assert sum(cell.area for cell in cells) == pytest.approx(0.6)
    places = np.random.default_rng(1).uniform((5.0, 50.4), (6.0, 51.0), (300, 2))
    nearest = (((places[:, None] - centres) * scale) ** 2).sum(axis=2).argmin(axis=1)
    for place, number in zip(places, nearest, strict=True):
        assert cells[number].buffer(1e-9).contains(shapely.Point(place))
    assert nearest_cells(np.array([[5.5, 50.7]] * 2), domain)[1].area == pytest.approx(0.6)  # centres may meet


def test_choices_of_prices_bring_in_more_where_bids_are_few(tmp_path):
    done = run("pricing", tmp_path, "--trials", "8", "--bids", "1000", "--epsilons", "0.1,1")
    assert done.returncode == 0, done.stderr
    few, many = ([float(cell.rstrip(" %")) for cell in row[2:]] for row in table(tmp_path / "pricing.md"))
    assert few[2] > few[0] > few[3]
    assert min(many) > 85


def test_hot_zones_are_found_by_choices(tmp_path):
    done = run("hot_zones", tmp_path, "--trials", "3")
    assert done.returncode == 0, done.stderr
    shares = [[float(cell.rstrip(" %")) for cell in row[3:]] for row in table(tmp_path / "hot_zones.md")]
    assert all(two_sided <= 100 and choices >= one_sided for two_sided, one_sided, choices in shares)
    assert sum(choices for _, _, choices in shares) >= 500
