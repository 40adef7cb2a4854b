"""`spatialdp methods`: what there is to choose from."""

from __future__ import annotations

from spatialdp.cli.parameters import methods, parameters_of
from spatialdp.mechanisms import MECHANISMS
from tests.helpers.commands import run


def test_every_parameter_is_an_option_with_help():
    listed = run("methods").stdout
    for name, method in MECHANISMS.items():
        assert name in listed
        shown = run("methods", name).stdout
        helped = run("release", "--method", name, "--help").stdout
        for parameter in parameters_of(method):
            assert parameter.text or parameter.name == "law", f"{name} {parameter.name}"
            assert parameter.flag in shown
            assert parameter.flag in helped


def test_names_that_are_close_are_suggested():
    assert "Did you mean 'hierarchy'" in run("methods", "hierachy", code=2).stderr
    assert run("methods", "FLAT").stdout == run("methods", "flat").stdout


def test_only_methods_that_options_can_ask_for_are_listed():
    assert list(methods()) == [*MECHANISMS, "zone-tree"]
    assert "'table' was given" in run("methods", "table", code=2).stderr
