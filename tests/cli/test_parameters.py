"""Parameters as options: values are read as the types ask."""

from __future__ import annotations

import json
import shlex
from dataclasses import fields
from fractions import Fraction
from typing import Any

import click
import pandas as pd
import pytest

import spatialdp as sdp
from spatialdp.cli.parameters import build, find_method, options_of, parameters_of, read_number, read_value, summary
from spatialdp.mechanisms import MECHANISMS
from tests.helpers.commands import command, refused, run


def test_values_are_read_as_the_types_ask():
    hints = {parameter.name: parameter.hint for method in MECHANISMS.values() for parameter in parameters_of(method)}
    assert read_value("1,2,4", hints["budget"] | tuple[int, ...]) == (1, 2, 4)
    assert read_value("2.5", hints["cell_size"]) == 2.5
    assert read_value("2.5,1", hints["cell_size"]) == (2.5, 1.0)
    assert read_value("1", dict(_hints("hierarchy"))["levels"]) == (1,)
    assert read_value("uniform", dict(_hints("hierarchy"))["levels"]) == "uniform"
    assert read_value("hb", hints["branching"]) == "hb"
    assert read_value("hyperbolic,3", hints["block"]) == ("hyperbolic", 3)
    assert read_value("8,8;hyperbolic,3;marginals", hints["candidates"]) == ((8, 8), ("hyperbolic", 3), "marginals")
    assert read_value("3/10", hints["median_share"]) == Fraction(3, 10)
    tailored = dict(_hints("tailored"))["workload"]
    assert read_value("boxes", tailored) == "boxes"
    assert read_value("ranges/cells", tailored) == read_value("ranges,cells", tailored) == ("ranges", "cells")
    assert read_value("ranges,total; total,ranges,0.5", tailored) == (("ranges", "total"), ("total", "ranges", 0.5))
    assert read_value("ranges/0,4;4,8", tailored) == ("ranges", ((0, 4), (4, 8)))
    with pytest.raises(ValueError, match=r"^$"):
        read_value("eight", hints["shape"])


def _hints(name):
    return [(parameter.name, parameter.hint) for parameter in parameters_of(MECHANISMS[name])]


@pytest.mark.parametrize("name", MECHANISMS)
def test_parameters_are_those_of_the_dataclass(name):
    method = MECHANISMS[name]
    found = parameters_of(method)
    assert [parameter.name for parameter in found] == [field.name for field in fields(method)]
    assert all(parameter.flag == f"--{parameter.name.replace('_', '-')}" for parameter in found)
    assert find_method(name) is find_method(name.upper()) is method
    assert summary(method) in method.__doc__
    for parameter in found:
        option = parameter.option()
        assert option.name == f"parameter_{parameter.name}"
        assert option.help


def test_methods_are_built_with_what_is_given():
    assert build(sdp.Quadtree, {"height": 3, "consistent": False}) == sdp.Quadtree(3, consistent=False)
    with pytest.raises(click.UsageError, match="needs --height INTEGER"):
        build(sdp.Quadtree, {})
    with pytest.raises(click.UsageError, match="Did you mean 'height'"):
        build(sdp.Quadtree, {"hight": 3})
    with pytest.raises(click.UsageError, match="spatialdp methods flat"):
        build(sdp.Flat, {"zzz": 3})
    with pytest.raises(click.BadParameter, match="Did you mean 'wavelet'"):
        find_method("wavlet")
    with pytest.raises(click.BadParameter, match="a command of their own, `spatialdp trajectories`"):
        find_method("trajectories")


def test_numbers_are_read_exactly():
    assert read_number("0.1") * 10 == 1
    assert read_number("2/6") == Fraction(1, 3)
    for text in ("", "a", "1/0", "1/2/3"):
        with pytest.raises(ValueError, match=r"^$"):
            read_number(text)


def test_boxes_of_a_workload_come_from_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "boxes.csv").write_text("xmin,ymin,xmax,ymax\n0,0,0.5,0.5\n")
    assert read_value("boxes.csv", Any).tolist() == [[0, 0, 0.5, 0.5]]
    words = ("--bounds=0,0,1,1", "--method=hierarchy", "--shape=8,8", "--epsilon=1", "--workload")
    given = json.loads(run("plan", *words, "boxes.csv", "--json").stdout)
    plan = sdp.Hierarchy((8, 8), workload=[[0, 0, 0.5, 0.5]]).plan(sdp.Domain((0, 0, 1, 1)), epsilon=1)
    assert given["standard_deviation"] == plan.standard_deviation
    assert "none.csv cannot be opened" in run("plan", *words, "none.csv", code=2).stderr


def test_no_output_replaces_the_boxes_of_a_workload(place):
    pd.DataFrame({"xmin": [0.0], "ymin": [0.0], "xmax": [0.5], "ymax": [0.5]}).to_parquet("boxes.parquet")
    words = command(method="hierarchy", height=None, shape="8,8", workload="boxes.parquet", o="boxes.parquet")
    assert "would replace the input boxes.parquet" in refused([*words, "--force"])


def test_options_make_the_same_mechanism():
    for mechanism in (
        sdp.Flat((4, 2), truncate=9),
        sdp.Quadtree(3, budget=(1, 2, 3, 4), consistent=False),
        sdp.Hierarchy((9, 9), levels=(1, 3), budget=(1, 2, 0.5), root=True),
        sdp.Tailored((4, 4), workload=[("cells", "total"), ("prefixes", "cells", 2)]),
        sdp.Fourier((8, 8), block=("hyperbolic", 2)),
        sdp.Fourier((8, 8), candidates=[(2, 2), (4, 4)], selection_share=0.3),
        sdp.KdTree(3, median="cell", cells=8),
    ):
        words = shlex.split(options_of(mechanism))
        name, values = words[1], {}
        parameters = {each.flag: each for each in parameters_of(type(mechanism))}
        for flag, following in zip(words[2:], [*words[3:], ""], strict=True):
            if flag.startswith("--no-"):
                values[flag[5:]] = False
            elif flag in parameters:
                hint = parameters[flag].hint
                values[parameters[flag].name] = hint is bool or (
                    following if parameters[flag].choices else read_value(following, hint)
                )
        assert build(find_method(name), values) == mechanism
