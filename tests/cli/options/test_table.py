"""The axes of a table on the command line: times, categories, cells, and the columns of the records."""

from __future__ import annotations

import click
import pytest

import spatialdp as sdp
from spatialdp.cli.options.table import Moments, Named, columns_by_axis, grid_of, table_axes, table_frame
from spatialdp.cli.options.values import join_numbers
from tests.helpers.commands import BOUNDS, run

AREA = ("--shape=4,2", "--epsilon=1", BOUNDS)
YEAR = "--time=2024-01-01,2025-01-01"


def plan(*options, code=0):
    result = run("plan", *options, *AREA, code=code)
    return " ".join((result.stderr if code else result.stdout).split())


def test_times_are_one_word_or_two():
    option = click.Option(["--time"], type=Moments(both=True))
    for words in (["2024-01-01", "2025-01-01"], ["2024-01-01,2025-01-01"]):
        joined = join_numbers(["--time", *words, "in.csv", "5"], [option])
        assert joined[2:] == ["in.csv", "5"]
        assert option.type.convert(joined[1], None, None) == ("2024-01-01", "2025-01-01")
    either = Moments(both=False)
    assert either.convert("08:00, 10:00", None, None) == ("08:00", "10:00")
    assert either.convert("Monday", None, None) == ("Monday",)
    for kind, text in ((either, "a,b,c"), (either, "08:00,"), (option.type, "2024-01-01")):
        with pytest.raises(click.BadParameter, match="required, such as 2024-01-01,2025-01-01"):
            kind.convert(text, None, None)
    assert [word for word in ("2024-01-01", "8:00", "Sunday", "Sundays", "in.csv", "2,3") if Moments.accepts(word)] == [
        "2024-01-01",
        "8:00",
        "Sunday",
    ]


def test_values_may_have_the_name_of_their_axis():
    kind = Named("LIST|FILE")
    assert kind.convert("theft,assault", None, None) == (None, "theft,assault")
    assert kind.convert("offence = theft", None, None) == ("offence", "theft")
    for text in ("", "=theft", "offence="):
        with pytest.raises(click.BadParameter, match="is required, such as kind=theft,assault"):
            kind.convert(text, None, None)


def test_axes_are_those_of_python(tmp_path):
    hours = ("--tick=1 h", "--time-zone=Europe/Vienna", "--fold=hour of day")
    told = run("plan", *AREA, YEAR, *hours, "--categories", "theft,assault").stdout
    frame = sdp.Frame(
        sdp.Domain((0, 0, 1, 1)).grid((4, 2)),
        time=sdp.Time("2024-01-01", "2025-01-01", zone="Europe/Vienna", fold="hour of day"),
        kind=sdp.Categories(["theft", "assault"]),
    )
    assert told == f"{sdp.Table().plan(frame, epsilon=1)}\n"
    days = run("plan", *AREA, YEAR, "--tick=1d", "--time-levels=week", "--method=table", "--cell-size=0.5", code=2)
    assert "both of --shape and --cell-size were given" in " ".join(days.stderr.split())
    weeks = run("plan", BOUNDS, "--epsilon=1", YEAR, "--tick=1d", "--time-levels=week", "--cell-size=0.5")
    assert "cells x week" in weeks.stdout


LISTS = {
    "kinds.txt": "burglary\n\nshoplifting\nassault\n",
    "kinds.json": '{"theft": ["burglary", "shoplifting"], "assault": []}',
    "kinds.csv": "class,offence\ntheft,burglary\ntheft,shoplifting\nassault,\n",
}


@pytest.mark.parametrize("name", LISTS)
def test_categories_come_from_files(name, tmp_path):
    (tmp_path / name).write_text(LISTS[name], encoding="utf-8")
    told = run("plan", *AREA, "--categories", f"offence={tmp_path / name}").stdout
    assert "cells     24" in told
    assert ("class" in told) == (name == "kinds.csv")
    assert ("groups" in told) == (name == "kinds.json")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "neither of --shape and --cell-size"),
        (("--zones=zones.parquet", "--levels=a,b", "--shape=2,2"), "zones.parquet cannot be opened"),
    ],
)
def test_a_table_needs_cells_or_zones(options, words):
    given = options or (BOUNDS,)
    told = run("plan", "--epsilon=1", YEAR, *given, code=2).stderr
    assert words in " ".join(told.split())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--tick=1 h",), "--tick is for --time"),
        (("--method=table", "--tick=1 h"), "--tick is for --time"),
        ((YEAR, "--tick=7 h"), "--tick is '7 h'"),
        ((YEAR, "--time-zone=Vienna"), "--time-zone is 'Vienna'"),
        ((YEAR, "--time-levels=decade"), "--time-levels are decade"),
        ((YEAR, "--tick=7 min", "--fold=hour of day"), "which does not go with --fold hour of day"),
        (("--time=2024-01-01",), "two times START,STOP are required"),
        ((YEAR, "--categories=a,b", "--categories=c"), "two axes are called 'kind'"),
        ((YEAR, "--categories=time=c"), "two axes are called 'time'"),
        (("--categories=Kind=c",), "an axis is called 'Kind'"),
        (("--categories=a,a",), "a category occurs twice"),
        (("--categories=nix.csv",), "nix.csv cannot be opened"),
        ((YEAR, "--method=flat"), "--time is for tables; leave --method out"),
        ((YEAR, "--blocks=3,2"), "--blocks are 3,2"),
        ((YEAR, "--budget=time=1"), "cells"),
        ((YEAR, "--budget=nix=1"), "weights for 'nix', which is no axis"),
    ],
)
def test_axes_that_do_not_fit_are_refused(options, words):
    assert words in plan(*options, code=0 if words == "cells" else 2)


def test_columns_belong_to_axes():
    axes = {"time": 1, "kind": 2}
    assert columns_by_axis(axes, "when", [(None, "offence")]) == {"time": "when", "kind": "offence"}
    assert columns_by_axis(axes, None, []) == {}
    both = {"kind": 1, "sex": 2}
    assert columns_by_axis(both, None, [("sex", "SEX"), ("kind", "K")]) == {"sex": "SEX", "kind": "K"}
    for given, words in {
        ("when", ((None, "K"),)): "--time-column is for --time",
        (None, ((None, "K"),)): "which of the axes kind, sex",
        (None, (("nix", "K"),)): "'nix', which is none of categories",
        (None, (("sex", "K"), ("sex", "L"))): "has a column already",
    }.items():
        with pytest.raises(click.UsageError, match=words):
            columns_by_axis(both, *given)


def test_frames_are_made_of_zones_or_cells():
    assert grid_of({"grid_shape": (4, 2), "parameter_law": 1}) == {"shape": (4, 2)}
    zones = sdp.Zones.from_codes(["A1"], None, {"state": 1, "county": 2})
    assert table_frame(zones, {"shape": None}, {}).names == ("zone",)
    with pytest.raises(click.UsageError, match="--cell-size is for the grid of a domain"):
        table_frame(zones, {"cell_size": 3}, {})
    axes = table_axes(("2024-01-01", "2024-01-03"), "1d", None, None, None, [])
    cells = table_frame(sdp.Domain((0, 0, 4, 4)), {"shape": (4, 4), "blocks": (2,)}, axes)
    assert cells.space.blocks == (2,)
    assert cells.names == ("box", "time")
