"""Errors of the library in the words of the command line."""

from __future__ import annotations

import click
import pytest

from spatialdp.cli.wording import in_options
from spatialdp.errors import ParameterError
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
    assert "--cell-size is -1.0; it must be one or two positive finite numbers." in plan
    evaluate = run("evaluate", "auckland", "-m", "flat:cell-size=-1", code=2).stderr
    assert "cell-size is -1.0" in evaluate
    assert "--cell-size" not in evaluate
