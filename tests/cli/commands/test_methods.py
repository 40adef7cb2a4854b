"""`spatialdp methods`: what there is to choose from."""

from __future__ import annotations

import re

from spatialdp.cli.parameters import methods, parameters_of
from spatialdp.mechanisms import LISTS, MECHANISMS, ON_OTHER_FRAMES
from tests.helpers.commands import run


def test_every_parameter_is_an_option_with_help():
    listed = run("methods").stdout
    for name, method in (MECHANISMS | ON_OTHER_FRAMES).items():
        assert name in listed
        shown = run("methods", name).stdout
        helped = run("release", "--method", name, "--help").stdout
        for parameter in parameters_of(method):
            assert parameter.text, f"{name} {parameter.name}"
            assert parameter.flag in shown
            assert parameter.flag in helped


def test_no_help_has_types_of_python_or_markup():
    for name in methods():
        told = run("methods", name).stdout
        assert not re.search(r"VALUE\s+(sequence|mapping|list|tuple)", told), name
        assert "**" not in told, name
        assert "see Privacy" not in told, name


def test_names_that_are_close_are_suggested():
    assert "Did you mean 'hierarchy'" in run("methods", "hierachy", code=2).stderr
    assert run("methods", "FLAT").stdout == run("methods", "flat").stdout


def test_methods_of_other_frames_are_listed_last():
    assert list(methods()) == [*MECHANISMS, *LISTS, "zone-tree", "table", "privbayes", "flows"]
    assert "--budget" in run("methods", "table").stdout
    assert "zone=0,1,2;time=1,1" in "".join(run("methods", "table").stdout.split())
