"""Options that are called like the axes of a table: taken out of the words, and refused if there is no such axis."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

import spatialdp as sdp
from spatialdp.cli.options.axes import AxisCommand, Levels, axis_queries

FRAME = sdp.Frame(
    sdp.Domain((0, 0, 1, 1)).grid((2, 2)),
    month=sdp.Time("2024-01-01", "2025-01-01", step="month"),
    road_kind=sdp.Categories({"theft": ["burglary", "theft, other"], "assault": []}),
)


@click.command(cls=AxisCommand)
@click.argument("name")
@click.option("-o", "--output")
@click.option("--force/--no-force")
def command(name, output, force, asked):
    click.echo(repr((name, output, force, asked)))


def said(*words, code=0):
    result = CliRunner().invoke(command, words)
    assert result.exit_code == code, result.output
    return result.output


def test_other_options_are_axes():
    words = ("--road-kind", "theft", "in.csv", "--month=2024-01-01", "-o", "out", "--no-force")
    assert said(*words) == f"{('in.csv', 'out', False, (('road-kind', 'theft'), ('month', '2024-01-01')))!r}\n"
    assert "(('month', '2024-01-01,2024-03-01'),)" in said("in.csv", "--month", "2024-01-01", "2024-03-01")
    assert "(('kind', '-5,0,7'),)" in said("in.csv", "--kind", "-5", "0", "7")
    assert "'--kind', None, False, ()" in said("--", "--kind")
    assert "--kind" in said("in.csv", "--kind", code=2)
    assert "No such option" in said("in.csv", "-k", "5", code=2)


def test_texts_become_queries():
    def queries(*asked, together=False):
        return axis_queries(FRAME, asked, together=together)

    assert queries(("month", "2024-01-01,2024-03-01"), ("month", "2024-05-01")) == {
        "month": [("2024-01-01", "2024-03-01"), "2024-05-01"]
    }
    assert queries(("road-kind", "theft, assault"), ("road-kind", "burglary")) == {
        "road_kind": ["theft", "assault", "burglary"]
    }
    assert queries(("road_kind", "theft, other")) == {"road_kind": ["theft, other"]}  # a name on the list has a comma
    assert queries(("road-kind", "burglary,assault"), ("road-kind", "theft"), together=True) == {
        "road_kind": [("burglary", "assault"), "theft"]
    }
    assert FRAME.select(queries(("month", "2024-01-01,2024-03-01")))[0].cells.tolist() == [0, 1]


@pytest.mark.parametrize("frame", [FRAME, None])
def test_what_is_no_axis_is_refused_in_clicks_words(frame):
    with click.Context(command), pytest.raises(click.NoSuchOption) as caught:
        axis_queries(frame, (("road-kinds", "theft"),), together=False)
    assert bool(caught.value.possibilities) == (frame is not None)
    with click.Context(command), pytest.raises(click.UsageError, match="is no axis of this release"):
        axis_queries(frame, (("output", "theft"),), together=False)
    with click.Context(command), pytest.raises(click.NoSuchOption):
        axis_queries(FRAME, (("box", "0,0,1,1"),), together=False)


def test_levels_are_named_or_not():
    kind = Levels()
    assert kind.convert("kind,time=hour of day", None, None) == (("kind", None), ("time", "hour of day"))
    for text in ("", "kind,,time", "kind="):
        with pytest.raises(click.BadParameter, match="axes of the table are required"):
            kind.convert(text, None, None)
