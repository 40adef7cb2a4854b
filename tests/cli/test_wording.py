"""Errors of the library in the words of the command line."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path

import click
import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely
from click.testing import CliRunner

import spatialdp as sdp
from spatialdp import errors
from spatialdp.cli import main
from spatialdp.cli.parameters import parameters_of
from spatialdp.cli.wording import describe_kind, describe_parameter, in_options
from spatialdp.errors import ParameterError
from spatialdp.evaluation.metrics import EARTH_MOVER, METRICS
from spatialdp.mechanisms import MECHANISMS
from spatialdp.wording import either, parameter, quoted
from tests.helpers.commands import run

OPTIONS = [
    click.Option(["-n", "--number", "number"]),
    click.Option(["parameter_cell_size", "--cell-size"]),
    click.Option(["--consistent/--no-consistent"]),
    click.Option(["--log"], is_flag=True),
    click.Argument(["shape"]),
]


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (parameter("number"), "--number"),
        (parameter("number", 3), "--number 3"),
        (parameter("cell_size", (0.5, 2)), "--cell-size 0.5,2"),
        (parameter("consistent"), "--consistent"),
        (parameter("consistent", True), "--consistent"),
        (parameter("consistent", False), "--no-consistent"),
        (parameter("log", True), "--log"),
        (parameter("data_levels"), "data-levels"),
        (parameter("data_levels", 0), "data-levels=0"),
        (parameter("shape", "(nx, ny)", typed="NX,NY"), "shape=NX,NY"),
        (either("plot()", "`spatialdp map`"), "`spatialdp map`"),
        (quoted([(4, 4), (8, 8)]), "4,4;8,8"),
        (quoted("x"), "'x'"),
    ],
)
def test_mentions_become_options(message, words):
    assert in_options(ParameterError(f"use {message}."), OPTIONS) == f"use {words}."


def test_a_parameter_is_an_option_where_the_command_has_it():
    plan = run("plan", "--bounds=0,0,1,1", "--method=flat", "--cell-size=-1", "--epsilon=1", code=2).stderr
    assert "--cell-size is -1; it must be one or two positive finite numbers." in plan
    evaluate = run("evaluate", "auckland", "-m", "flat:cell-size=-1", code=2).stderr
    assert "cell-size is -1;" in evaluate
    assert "--cell-size" not in evaluate


# --- docstrings ------------------------------------------------------------------------------------


def test_code_in_docstrings_becomes_options():
    names = ["cell_size", "levels", "median"]
    assert describe_parameter("As `cell_size`; `Flat` has none.", names) == "As --cell-size; Flat has none."
    assert describe_parameter("Or ``levels=(1, 8)``.", names) == "Or --levels 1,8."
    assert describe_parameter('``median="cell"`` or ``"hb"``', names) == '--median cell or "hb"'
    assert describe_parameter("cells ``(start, stop)``", names) == "cells START,STOP"


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ('{"a", "b"} or sequence of numbers', "a, b or NUMBERS with commas"),
        ("int, optional", "INTEGER"),
        ("sequence of str, optional", "NAMES with commas"),
        ("mapping of totals, optional", "a .csv file with the columns level, zone and total"),
        ('(kx, ky), ("hyperbolic", k) or "marginals", optional', "KX,KY, hyperbolic,K or marginals"),
        ("list of (x, y), or (m, 4) array-like", "several X,Y with semicolons, or a .csv or .parquet file of boxes"),
    ],
)
def test_types_in_docstrings_become_words(kind, words):
    assert describe_kind(kind) == words


# --- no Python in front of users of the command line -----------------------------------------------

PYTHON = re.compile(
    r"""
      (?<![:\w-])[a-z_]\w*=(?!no\b|yes\b|[A-Z]+\b)   # a keyword argument; `evaluate` has height=VALUE
    | \w\((?!s\))                     # a call
    | \b[a-z]+_[a-z_]+\b              # a name with an underscore
    | [(\[](?:[\w.'"-]+,\ )+[\w.'"-]+[)\]]   # a tuple or a list
    | \b(?:None|True|False)\b
    | \b(?:GeoDataFrame|GeoSeries|DataFrame|shapely|geopandas|numpy|np|pandas|Fraction|Decimal)\b
    | \bspatialdp\.\w
    | \barrays?\b
    | \x02|\x03                       # marks
    """,
    re.VERBOSE,
)
KINDS = {*errors.__all__, "OutsideDomainWarning", "UsageError", "BadParameter", "fail"}

# Messages that no command can cause: they are about objects that only Python passes. Each by its first words.
OF_PYTHON_ALONE = (
    "domain is a ",
    "frame is a ",
    "the records are in a DataFrame",
    "workload is not a spatialdp.Workload",
    " is not a mechanism; give one",
    "mechanism is ",
    "no row has a ",  # the command draws only what the frame has
    "x is ",
    "panels is ",
    "metrics is empty",
    "noise is a ",
    "the table is a ",
    "an xarray Dataset was asked for",
    "this SeededNoise",
    "seed is ",  # click has checked it
    " given; give either shape=",  # mechanisms have checked it
    "bounds are ; they must be four numbers",  # click has checked it
    "boxes have shape ",
    "boxes are a ",
    "boxes is empty",
    "the polygons are a ",
    "the region is a GeoDataFrame",
    "points are ",
    "the Arrow table declares no geometry",
    "x and y have different lengths",
    "the points were read for a domain",
    "the GeoDataFrame has no active geometry",
    " is not a one-dimensional array",
    " cannot be read as numbers",
    "running was given a ",
    # rows of tables, which no command reads
    " is the text , which is no column of the points",
    "the points stay in a file or an engine, but rows",
    "the table has an axis ",
    "a release of kind ",  # every kind of estimate has files and maps
    " is  of type ",  # a budget that is no number
    # arrays and algebra
    "starts, low and high",
    "scores are ",
    "levels are  and weights ",
    "variances ",
    "levels have sizes ",
    "weights are ",
    "a measured value is not finite",
    "leaf_values ",
    "n_children ",
    "offsets are ",
    "the nodes of depth ",
    "fan_outs are ",
    "mask has shape ",
    "epsilon is ",  # of one step of a mechanism, after the budget was checked
)


def plain_text(node: ast.expr) -> str:
    """The words of a message that are the same for everybody; marked parts and values are left out."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(map(plain_text, node.values))
    if isinstance(node, ast.IfExp):
        return plain_text(node.body) + plain_text(node.orelse)
    return ""


def messages(path: Path) -> list[tuple[int, str]]:
    calls = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call) and node.args)
    named = ((node, getattr(node.func, "id", getattr(node.func, "attr", None))) for node in calls)
    return [(node.lineno, plain_text(node.args[0])) for node, name in named if name in KINDS]


OPTIONS_THERE_ARE = {
    (param.name or "")
    for name in main.list_commands(None)
    for param in main.get_command(None, name).params
    if isinstance(param, click.Option)
} | {each.name for method in MECHANISMS.values() for each in parameters_of(method)}


@pytest.mark.parametrize("path", sorted(Path(sdp.__file__).parent.rglob("*.py")), ids=lambda path: path.stem)
def test_messages_mark_what_they_say_in_python(path):
    """Code and parameters stand in `either`, `parameter` or `quoted`, unless only Python can cause the message."""
    for line, message in messages(path):
        subject = re.match(r"(\w+) (?:is|are|has|holds|was)\b", message)
        unmarked = PYTHON.search(message) or (subject and subject[1] in OPTIONS_THERE_ARE)
        assert not unmarked or message.startswith(OF_PYTHON_ALONE), f"{path.name}:{line}: {message}"


@pytest.mark.parametrize("name", [*main.list_commands(None), ""])
def test_help_has_no_python(name):
    shown = without_mathematics(without_examples(CliRunner().invoke(main, [*name.split(), "--help"]).output))
    assert not PYTHON.search(shown), PYTHON.search(shown)


@pytest.mark.parametrize("name", MECHANISMS)
def test_help_of_methods_has_no_python(name):
    shown = without_mathematics(run("methods", name).stdout)
    assert not PYTHON.search(shown), PYTHON.search(shown)
    assert f"Options of {name}" in run("release", "--method", name, "--help").stdout


def without_examples(text: str) -> str:
    """Help without example commands and without the syntax of `evaluate`, which has equal signs of its own."""
    return re.sub(r"(?m)^ +(spatialdp|eval|-m|-w|--) .*$|\[LABEL=\]|[\w-]+:[\w]+=\S+", "", text)


def without_mathematics(text: str) -> str:
    return re.sub(r"log\(1 \+ estimate\)|\(ε, δ\)|2\^\(1/\d\)|\(0, 1, 2-3, 4-7,\s+\.\.\.\)", "", text)


RELEASE = "release points.gpkg --bounds 0 0 1 1 --crs EPSG:4326 --epsilon 1 -o out.parquet"
PLAN = "plan --bounds 0 0 8 8 --epsilon 1"
WRONG_PLACE = "plan --epsilon 1 --method flat --shape 8,8"
EVALUATE = "evaluate auckland --epsilons 1 --trials 1"

# Commands that are refused, and a part of what they say.
REFUSED = {
    # the domain
    "plan --epsilon 1 --method flat --shape 8,8": "--bounds XMIN,YMIN,XMAX,YMAX or --region FILE",
    "plan --bounds 0 0 1 --epsilon 1 --method flat --shape 8,8": "4 numbers XMIN,YMIN,XMAX,YMAX are required",
    "plan --bounds 1 0 0 1 --epsilon 1 --method flat --shape 8,8": "--bounds are 1,0,0,1; xmin must be below",
    "plan --bounds 0 0 inf 1 --epsilon 1 --method flat --shape 8,8": "they must be finite",
    f"{PLAN} --crs nowhere --method flat --shape 8,8": "--crs is 'nowhere'",
    f"{PLAN} --region points.gpkg --method flat --shape 8,8": "does not hold polygons alone",
    f"{PLAN} --region bowtie.gpkg --crs EPSG:4326 --method flat --shape 8,8": "repair it in a GIS",
    f"{PLAN} --region empty.gpkg --crs EPSG:4326 --method flat --shape 8,8": "it must be a non-empty polygon",
    f"{PLAN} --region far.gpkg --crs EPSG:4326 --method flat --shape 8,8": "outside the bounds 0,0,8,8",
    f"{PLAN} --region none.gpkg --method flat --shape 8,8": "cannot be opened",
    f"{WRONG_PLACE} --bounds 43 -79 44 93 --crs EPSG:4326": "the order is XMIN,YMIN,XMAX,YMAX",
    f"{WRONG_PLACE} --bounds 0 0 500 9 --crs EPSG:4326": "--bounds are 0,0,500,9",
    f"{WRONG_PLACE} --bounds 0 0 9 9 --crs EPSG:2154": "leave --crs out",
    # the budget
    "plan --bounds 0 0 1 1 --epsilon 0 --method flat --shape 8,8": "--epsilon is 0; it must lie between",
    "plan --bounds 0 0 1 1 --epsilon one --method flat --shape 8,8": "a number is required",
    "plan --bounds 0 0 1 1 --epsilon nan --method flat --shape 8,8": "it must be finite",
    f"{PLAN} --delta 2 --method flat --shape 8,8": "--delta is 2; it must be 0, or",
    f"{PLAN} --delta 1e-9 --method flat --shape 8,8": "Leave --delta out",
    f"{PLAN} --method flat --shape 8,8 --law gaussian": "Give one, such as --delta 1e-09",
    "plan --bounds 0 0 1 1 --epsilon 1e-9 --delta 1e-300 --method flat --shape 8,8 --law gaussian": "--epsilon",
    # grids
    f"{PLAN} --method flat": "give either --shape NX,NY or --cell-size SIZE",
    f"{PLAN} --method flat --shape 8,8 --cell-size 1": "flat got both of --shape and --cell-size",
    f"{PLAN} --method flat --shape 0,8": "--shape is 0; it must be a whole number",
    f"{PLAN} --method flat --shape 8": "--shape is 8; it must be two whole numbers NX,NY",
    f"{PLAN} --method flat --shape x": "NX,NY is required",
    f"{PLAN} --method flat --shape 99999999,99999999": "--shape is 99999999,99999999; the product may be at most",
    f"{PLAN} --method flat --cell-size 0": "--cell-size is 0;",
    f"{PLAN} --method flat --cell-size 3": "use --bounds 0,0,9,9, which keeps the lower",
    f"{PLAN} --method flat --shape 8,8 --truncate -1": "--truncate is -1",
    # methods
    f"{PLAN} --method falt": "Did you mean 'flat'?",
    f"{PLAN} --method quadtree --height 99": "--height is 99",
    f"{PLAN} --method quadtree --height 3 --prune 2 --no-consistent": "use --consistent, or leave --prune out",
    f"{PLAN} --method quadtree --height 3 --stop 2 --budget leaves": "--stop is 2.0 and --budget is 'leaves'",
    f"{PLAN} --method quadtree --height 3 --prune inf": "it must be a finite number of records, or left out",
    f"{PLAN} --method quadtree --height 3 --budget much": "--budget is 'much'",
    f"{PLAN} --method quadtree --height 3 --budget 1,2": "--budget has 2 weights",
    f"{PLAN} --method quadtree --height 1 --budget 1,-1": "--budget is 1,-1, but no weight",
    f"{PLAN} --method quadtree --height 1 --budget 1,0": "the leaves' weight in --budget is 0",
    f"{PLAN} --method quadtree --height 3 --hieght 4": "--height",
    f"{PLAN} --method quadtree --height 3 --shape 8,8": "--shape is a parameter of",
    f"{PLAN} --method hierarchy --shape 8,8 --levels uniform": "give --branching as a number",
    f"{PLAN} --method hierarchy --shape 8,8 --levels 2,4": "--levels are 2,4; give the sides",
    f"{PLAN} --method hierarchy --shape 8,8 --levels 1,16": "give smaller sides, and --root to measure",
    f"{PLAN} --method hierarchy --shape 8,8 --levels 1,2 --branching 2": "give either --branching or --levels",
    f"{PLAN} --method hierarchy --shape 8,8 --budget 1,2": "such as --levels 1,8,32",
    f"{PLAN} --method hierarchy --shape 8,8 --levels 1,2 --budget 1": "--budget is 1; give one weight",
    f"{PLAN} --method hierarchy --shape 8,8 --workload all": "--workload is 'all'",
    f"{PLAN} --method hierarchy --shape 8,8 --levels 1,2 --budget 1,1 --workload cells": "but with a --budget nothing",
    f"{PLAN} --method tailored --shape 8,8 --workload all": "--workload is 'all'",
    f"{PLAN} --method tailored --shape 8,8 --workload empty.csv": "the workload has no boxes",
    f"{PLAN} --method tailored --shape 8,8 --workload outside.csv": "which has no area in the domain",
    f"{PLAN} --method wavelet --shape 8,8 --form quadtree --axis x": "leave --axis out, or use --form tensor",
    f"{PLAN} --method wavelet --shape 8,8 --form round": "'round' is not one of",
    f"{PLAN} --method fourier --shape 8,8 --block 4,4 --candidates 2,2;4,4": "got both --block 4,4 and --candidates",
    f"{PLAN} --method fourier --shape 8,8 --block all": "KX,KY, hyperbolic,K or marginals",
    f"{PLAN} --method fourier --shape 8,8 --block 99,99": "--block is 99,99, but the axes have 8,8 coefficients",
    f"{PLAN} --method fourier --shape 8,8 --selection-share 2": "--selection-share is 2",
    f"{PLAN} --method kd-tree --height 3 --law gaussian": "law",
    f"{PLAN} --method kd-tree --height 3 --median-share 1": "--median-share is 1",
    f"{PLAN} --method kd-tree --height 3 --cells 8": "only --median cell reads lines off a grid; leave --cells out",
    f"{PLAN} --method kd-tree --height 3 --median cell --sampling 0.5": "but --median cell takes no sample",
    f"{PLAN} --method kd-tree --height 3 --sampling 2": "it must lie between 1e-6 and 1, or be left out",
    f"{PLAN} --method kd-tree --height 3 --sampling 0.5 --neighbours replace": "leave --sampling out",
    "plan --bounds 0 0 1 1 --epsilon 1e-9 --method kd-tree --height 3 --median noisy-mean": "--median exponential",
    # releases and their outputs
    f"{RELEASE} --method kd-tree --height 3 -o out.tif": "give --pixels NX,NY",
    f"{RELEASE} --method flat --shape 8,8 -o out.tif --pixels 0,1": "--pixels is 0",
    f"{RELEASE} --method flat --shape 8,8 --seed 1": "add --not-private",
    "release points.gpkg --bounds 0 0 1 1 --epsilon 1 -o a.geojson --method flat --shape 8,8": "with --crs",
    "release points.gpkg --bounds 0 0 1 1 --epsilon 1 -o a.gpkg --method flat --shape 8,8": "--crs",
    "release none.gpkg --bounds 0 0 1 1 --epsilon 1 -o a.gpkg --method flat --shape 8,8": "cannot be opened",
    "release points.txt --bounds 0 0 1 1 --epsilon 1 -o a.gpkg --method flat --shape 8,8": "suffix",
    "release table.csv --bounds 0 0 1 1 --epsilon 1 -o a.gpkg --method flat --shape 8,8": "(--x and --y)",
    "release table.csv --x a --y b --bounds 0 0 1 1 --epsilon 1 -o a.gpkg --method flat --shape 8,8": "column 'a'",
    "release table.csv --x lon --bounds 0 0 1 1 --epsilon 1 -o a.gpkg --method flat --shape 8,8": "--x and --y",
    # asking a release
    "query released.parquet --bbox 1 0 0 1": "box 0 is 1,0,0,1; xmin must not exceed xmax",
    "query released.parquet --bbox 1 0": "4 numbers XMIN,YMIN,XMAX,YMAX are required",
    "query released.parquet --bbox 5 5 6 6": "no question lies in the domain",
    "query released.parquet --boxes table.csv": "has no column 'xmin'",
    "query released.parquet --boxes missing.csv": "box 0 is 0,0,missing,1;",
    "query released.parquet --polygons bowtie.gpkg": "repair it in a GIS",
    "query released.parquet --polygons points.gpkg": "it must be a Polygon or MultiPolygon",
    "query released.parquet --bbox 0 0 1 1 --level 0.9999": "--level is 0.9999",
    "query table.parquet --bbox 0 0 1 1": "give a file that `spatialdp release` wrote",
    "map released.parquet -o out.png --view uncertainty --log": "draw --view half-width",
    "map released.parquet -o out.png --limits 3 1": "--limits are 3,1; give LOW,HIGH with low below high",
    "map released.parquet -o out.png --level 99": "--level is 99",
    "map flat.parquet -o out.png --level 1": "--level is 1, but this release is a grid",
    "map flat.parquet -o out.png --lines 1": "--lines is 1, but this release is a grid",
    "map released.parquet -o out.png --boundaries points.gpkg": "give a file of them",
    "map truncated.parquet -o out.png --view half-width": "draw --view estimate",
    "map released.parquet -o out.html --dpi 50": "--dpi is for",
    "sample negative.parquet -o out.csv -n 5": "ask for -n 0 points",
    # planning
    "recommend --bounds 0 0 1 1 --epsilon 1 --shape 0,8": "--shape is 0",
    "recommend --bounds 0 0 1 1 --epsilon 1 --shape 8,8 --boxes empty.csv": "the workload has no boxes",
    "epsilon-for --bounds 0 0 1 1 --error -1 --method flat --shape 8,8": "--error is -1",
    "epsilon-for --bounds 0 0 1 1 --error 1 --method kd-tree --height 3": "run `spatialdp evaluate` on public data",
    # evaluations, whose methods and queries have parameters within an option
    f"{EVALUATE} -m quadtree:height=99": "height is 99",
    f"{EVALUATE} -m quadtree:hieght=3": "Did you mean 'height'?",
    f"{EVALUATE} -m flat": "give either shape=NX,NY or cell-size=SIZE",
    f"{EVALUATE} -m quadtree:height=3:law=loud": "law is 'loud'",
    f"{EVALUATE} -m quadtree:height=3:prune=2:consistent=no": "prune is 2.0 and consistent=no",
    f"{EVALUATE} -m quadtree:height=3 -m quadtree:height=3": "two methods have the same label",
    f"{EVALUATE} -m uniform=quadtree:height=3": "give your mechanism another label, as in -m LABEL=NAME",
    f"{EVALUATE} -m quadtree:height=3 -w squares": "needs side",
    f"{EVALUATE} -m quadtree:height=3 -w squares:side=99": "side is 99",
    f"{EVALUATE} -m quadtree:height=3 -w slabs:axis=z": "axis is 'z'",
    f"{EVALUATE} -m quadtree:height=3 -w area:shares=2": "shares are 2",
    f"{EVALUATE} -m quadtree:height=3 -w random -w random": "the names must differ",
    f"{EVALUATE} -m quadtree:height=3 --metric luck": "--metric is 'luck'",
    f"{EVALUATE} -m quadtree:height=3 --show luck": "'luck'",
    f"{EVALUATE} -m quadtree:height=3 --floor 2": "--floor is 2",
    f"{EVALUATE} -m quadtree:height=3 --level 2": "--level is 2",
    f"{EVALUATE} -m quadtree:height=3 --records 99999999": "--records holds a size above",
    f"{EVALUATE} -m quadtree:height=3 --polygons bowtie.gpkg": "repair it in a GIS",
    "evaluate points.gpkg": "--bounds XMIN,YMIN,XMAX,YMAX",
    # words that there are not
    "releese": "No such command",
    "query released.parquet --bboxx 0 0 1 1": "--bbox",
    "sample released.parquet": "Missing option",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Public and private files, good and bad ones."""
    place = tmp_path_factory.mktemp("files")
    areas = {
        "points": [shapely.Point(0.5, 0.5)],
        "bowtie": [shapely.Polygon([(0, 0), (1, 1), (1, 0), (0, 1)])],
        "empty": [shapely.Polygon()],
        "far": [shapely.box(50, 50, 60, 60)],
    }
    for name, shapes in areas.items():
        geopandas.GeoSeries(shapes, crs="EPSG:4326").to_file(place / f"{name}.gpkg")
    (place / "table.csv").write_text("lon,lat\n0.5,0.5\n")
    (place / "empty.csv").write_text("xmin,ymin,xmax,ymax\n")
    (place / "outside.csv").write_text("xmin,ymin,xmax,ymax\n50,50,60,60\n")
    (place / "missing.csv").write_text("xmin,ymin,xmax,ymax\n0,0,,1\n")
    (place / "points.txt").write_text("0.5 0.5\n")
    pd.DataFrame({"lon": [0.5]}).to_parquet(place / "table.parquet")
    domain = sdp.Domain((0, 0, 1, 1), crs="EPSG:4326")
    for name, mechanism in (("released", sdp.Quadtree(2)), ("flat", sdp.Flat((4, 4))), ("truncated", TRUNCATED)):
        mechanism.release([], domain, epsilon=1).save(place / f"{name}.parquet")
    nobody = sdp.Flat((1, 1)).release([], domain, epsilon=1)
    negative = replace(nobody.estimate, values=np.full_like(nobody.estimate.values, -1.0))
    replace(nobody, estimate=negative).save(place / "negative.parquet")
    return place


TRUNCATED = sdp.Flat((4, 4), truncate=9)


@pytest.mark.parametrize("words", REFUSED)
def test_refusals_have_no_python(files, monkeypatch, words):
    monkeypatch.chdir(files)
    result = CliRunner().invoke(main, words.split())
    told = " ".join(word for word in result.stderr.split() if word.strip(",.") not in (*METRICS, EARTH_MOVER))
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert REFUSED[words] in told
    assert not PYTHON.search(told), PYTHON.search(told)
