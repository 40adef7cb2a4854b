"""Parameters as options: values are read as the types ask."""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction

import click
import pytest

import spatialdp as sdp
from spatialdp.cli.parameters import build, find_method, parameters_of, read_number, read_value, summary
from spatialdp.mechanisms import MECHANISMS


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


def test_numbers_are_read_exactly():
    assert read_number("0.1") * 10 == 1
    assert read_number("2/6") == Fraction(1, 3)
    for text in ("", "a", "1/0", "1/2/3"):
        with pytest.raises(ValueError, match=r"^$"):
            read_number(text)
