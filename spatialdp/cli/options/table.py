"""Which times and categories does a command count in, beside space? Options such as `--time` and `--categories`.

They are public, as bounds and zones are: limits of time and lists of categories must never be taken from the records.
With one of these options a command counts in a table, of which each axis has a name: `time`, and the names that
`--categories NAME=...` gives. The options of its grid are options of the method `table`, because other methods have
some of the same names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from spatialdp._support.override import override
from spatialdp.cli.parameters import INPUTS, read_value

if TYPE_CHECKING:
    from spatialdp.space.domain import Domain
    from spatialdp.space.frames.frame import Frame
    from spatialdp.space.zones.frame import Zones

__all__ = [
    "GRID_OPTIONS",
    "TABLE_FLAGS",
    "TABLE_OPTIONS",
    "Moments",
    "Named",
    "columns_by_axis",
    "grid_of",
    "table_axes",
    "table_frame",
]

T = TypeVar("T")

TIME, KIND = "time", "kind"  # the name of the axis of time, and that of categories without a name of their own
TABLE_FLAGS = ("--time", "--categories")  # with one of them, the default method is the table
_EXAMPLE = "kind=theft,assault"
_FILES = (".txt", ".csv", ".json")
_MOMENT = re.compile(r"\d{4}-\d|\d{1,2}:\d{2}|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b")


class Moments(click.ParamType):  # type: ignore[type-arg]  # generic only in recent versions
    """A click type for a time, or for two of them: as one word with a comma, or as separate words (`join_numbers`)."""

    count = 2

    def __init__(self, *, both: bool) -> None:
        self._both = both
        self.name = "START,STOP" if both else "TIME or START,STOP"

    @override
    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002 (click gives them)
        return self.name

    @staticmethod
    def accepts(word: str) -> bool:
        """Whether a word may be a time: a date, a clock time or a day of the week."""
        return "," not in word and _MOMENT.match(word) is not None

    @override
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        moments = tuple(part.strip() for part in str(value).split(","))
        if not all(moments) or len(moments) > 2 or (self._both and len(moments) < 2):
            wanted = "two times START,STOP are" if self._both else "a time, or two of them START,STOP, is"
            self.fail(f"{value!r} was given; {wanted} required, such as 2024-01-01,2025-01-01.", param, ctx)
        return moments


class Named(click.ParamType):  # type: ignore[type-arg]  # generic only in recent versions
    """A click type for a value that may have the name of its axis before it: NAME=VALUE, or VALUE alone."""

    def __init__(self, value: str) -> None:
        self.name = f"[NAME=]{value}"

    @override
    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002 (click gives them)
        return self.name

    @override
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str | None, str]:
        if isinstance(value, tuple):
            return value
        name, equals, text = str(value).partition("=")
        found = (name.strip(), text.strip()) if equals else (None, name.strip())
        if not all(part is None or part for part in found):
            self.fail(f"{value!r} was given; {self.name} is required, such as {_EXAMPLE}.", param, ctx)
        return found


# --- the axes --------------------------------------------------------------------------------------


def table_axes(
    time: tuple[str, ...] | None,
    step: str | None,
    zone: str | None,
    fold: str | None,
    time_levels: Sequence[str] | None,
    categories: Sequence[tuple[str | None, str]],
) -> dict[str, Any]:
    """Return the axes beside space that the options describe, by name; none if no option does."""
    from spatialdp.space.frames.categories import Categories
    from spatialdp.space.frames.time import Time

    given: dict[str, Any] = {"step": step, "zone": zone, "fold": fold, "levels": time_levels}
    of_time = {name: value for name, value in given.items() if value is not None}
    flags = {"step": "--tick", "zone": "--time-zone", "fold": "--fold", "levels": "--time-levels"}
    axes: dict[str, Any] = {}
    if time is not None:
        axes[TIME] = _in_words(partial(Time, time[0], time[1], **of_time), flags)
    elif of_time:
        raise click.UsageError(f"{flags[next(iter(of_time))]} is for --time, which was not given; give --time too.")
    for name, text in categories:
        axis = name or KIND
        if axis in axes:
            raise click.UsageError(
                f"two axes are called {axis!r}; give each list of categories a name: --categories NAME=LIST."
            )
        names, levels = _categories(text)
        axes[axis] = _in_words(partial(Categories, names, levels), {})
    return axes


def _in_words(make: Callable[[], T], flags: Mapping[str, str]) -> T:
    """Make an axis; an error speaks of the options that its parameters come from."""
    from spatialdp.cli.wording import in_options
    from spatialdp.errors import ParameterError

    options = [click.Option([name, flag]) for name, flag in flags.items()]
    try:
        return make()
    except ParameterError as error:
        raise click.UsageError(in_options(error, options)) from None


def _categories(text: str) -> tuple[Any, tuple[str, ...] | None]:
    """Return the categories of a list with commas, or of a file, and the names of their levels if there are any."""
    path = Path(text)
    if path.suffix.lower() not in _FILES:
        return [name.strip() for name in text.split(",")], None
    from spatialdp.space.public_files import read_categories

    click.get_current_context().meta.setdefault(INPUTS, []).append(path)  # which no output may replace
    return read_categories(path)


def columns_by_axis(
    axes: Mapping[str, Any], time_column: str | None, category_columns: Sequence[tuple[str | None, str]]
) -> dict[str, str]:
    """Return the names of the columns of axes beside space that options give; others are called like their axis."""
    others = [name for name in axes if name != TIME]
    if time_column is not None and TIME not in axes:
        raise click.UsageError("--time-column is for --time, which was not given; give --time START,STOP too.")
    columns = {} if time_column is None else {TIME: time_column}
    for name, column in category_columns:
        if name is None and len(others) != 1:
            raise click.UsageError(
                f"--category-column {column} does not say which of the axes {', '.join(others) or '(there are none)'} "
                "it is for; give --category-column NAME=COLUMN, with --categories NAME=LIST."
            )
        axis = name or others[0]
        if axis not in others or axis in columns:
            wrong = "has a column already" if axis in others else "is none of categories"
            raise click.UsageError(
                f"--category-column names the axis {axis!r}, which {wrong}; the axes of categories are "
                f"{', '.join(others) or 'none'}. Give each of them one column."
            )
        columns[axis] = column
    return columns


# --- space -----------------------------------------------------------------------------------------


def table_frame(space: Domain | Zones, grid: Mapping[str, Any], axes: Mapping[str, Any]) -> Frame:
    """Return the frame of a table: zones, or the cells of a domain by the options of a grid, beside other axes."""
    from spatialdp.space.frames.frame import Frame
    from spatialdp.space.zones.frame import Zones

    given = {name: value for name, value in grid.items() if value is not None}
    if isinstance(space, Zones):
        if given:
            flag = f"--{next(iter(given)).replace('_', '-')}"
            raise click.UsageError(f"{flag} is for the grid of a domain, but zones were given; leave it out.")
        return Frame(space, **axes)
    sides = {name: value for name, value in given.items() if name != "blocks"}
    if len(sides) != 1:
        raise click.UsageError(
            f"{'both' if sides else 'neither'} of --shape and --cell-size {'were' if sides else 'was'} given, but "
            "exactly one must divide the domain into cells, or zones must be given; give --shape NX,NY, "
            "--cell-size SIZE or --zones FILE."
        )
    return Frame(
        space.grid(sides.get("shape"), cell_size=sides.get("cell_size")), blocks=given.get("blocks", ()), **axes
    )


class _Cells(click.ParamType):  # type: ignore[type-arg]  # generic only in recent versions
    """A click type for numbers that describe the cells of a grid, read as a type hint requires."""

    def __init__(self, name: str, hint: Any) -> None:
        self.name, self._hint = name, hint
        self.count = name.count(",") + 1 if "..." not in name else 1

    @override
    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002 (click gives them)
        return self.name

    @override
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return read_value(value, self._hint)
        except ValueError:
            self.fail(f"{value!r} was given; {self.name} is required, such as 64,64.", param, ctx)


def grid_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what options say about the grid of a table, by the names of parameters; leave others out."""
    return {name.removeprefix("grid_"): value for name, value in values.items() if name.startswith("grid_")}


def _grid_options() -> list[click.Option]:
    return [
        click.Option(
            ["grid_shape", "--shape"],
            type=_Cells("NX,NY", Sequence[int]),
            help="Number of columns and rows of the cells, if the table has no zones.",
        ),
        click.Option(
            ["grid_cell_size", "--cell-size"],
            type=_Cells("SIZE", float | Sequence[float]),
            help="Side of the cells, or WIDTH,HEIGHT, instead of --shape; must divide the domain.",
        ),
        click.Option(
            ["grid_blocks", "--blocks"],
            type=_Cells("SIDE,SIDE...", Sequence[int]),
            help="Sides of square blocks of cells that may be counted too, in cells, such as 16,4.",
        ),
    ]


GRID_OPTIONS = _grid_options()
TABLE_OPTIONS = (
    click.option(
        "--time",
        type=Moments(both=True),
        help="Public start and stop of a table's axis of time, such as 2024-01-01 2025-01-01; the stop is outside. "
        "Records at other times are not counted.",
    ),
    click.option(
        "--tick",
        "step",
        metavar="LENGTH",
        help='Length of a tick: a number with s, min or h, or d, week or month.  [default: "1 h"]',
    ),
    click.option(
        "--time-zone",
        "zone",
        metavar="NAME",
        help="Time zone of the start, the stop, days, and times of records without an offset, such as Europe/Vienna.  "
        "[default: UTC]",
    ),
    click.option(
        "--fold",
        type=click.Choice(["hour of day", "day of week"]),
        help="Lay all days over each other, or all weeks (with --tick 1d).",
    ),
    click.option(
        "--time-levels",
        type=_Cells("LEVEL,LEVEL...", Sequence[str]),
        help="Coarser parts of time that may be counted too: hour, day, week, month, year.",
    ),
    click.option(
        "--categories",
        type=Named("LIST|FILE"),
        multiple=True,
        help="Public list of the categories of an axis of a table, with commas, or a file: .txt (one in a line), .json "
        "(a list, or groups by name) or .csv (a header; groups before categories). NAME is the axis, by default kind; "
        "may be repeated with other names. Records of other categories are not counted.",
    ),
)
