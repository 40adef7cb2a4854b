"""What is published of a table, and what can be asked of it? Sums over places, times and categories, by their names.

A `TableRelease` holds released numbers and public parameters, as every `Release` does. Queries name what they want
along each axis; an axis that is not named is summed. Methods that publish import `outputs` when they are called.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp._support.override import override
from spatialdp.errors import ParameterError, ReleaseError
from spatialdp.estimates.answers import About
from spatialdp.estimates.tables.boxes import many_maps
from spatialdp.estimates.tables.counts import TableCounts
from spatialdp.release import Release
from spatialdp.space.frames.frame import Frame
from spatialdp.space.frames.selection import Selection, as_asked, parts_of
from spatialdp.wording import either, parameter

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from spatialdp.privacy.noise.source import Noise

__all__ = ["TableRelease"]

_MOST_ROWS = 2**25


class _ManyMaps:
    """What a release of one map can do and a table cannot, refused in words."""

    def _no_map(self, *_: Any, **__: Any) -> NoReturn:
        """Refused: a table has a map for every time and category.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> sdp.Table().release([], sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((2, 2))), epsilon=1).to_geodataframe()
        Traceback (most recent call last):
        spatialdp.errors.ReleaseError: a table has a map for every time and category, and this needs a single one; ...
        """
        many_maps()

    answer_polygons = interval_polygons = uniformity = to_geodataframe = to_xarray = _no_map


@dataclass(frozen=True, eq=False, repr=False)
class TableRelease(_ManyMaps, Release):
    """A released table of counts over space, time and categories.

    A `Table` mechanism's `release` method or `spatialdp.load` makes it.

    Attributes
    ----------
    domain : Domain
        The domain of space; None for zones without geometry.
    privacy : Privacy
    estimate : TableCounts

    Privacy
    -------
    A release holds released numbers and public parameters. Every method is post-processing and costs nothing.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((2, 1)), kind=sdp.Categories(["theft", "fraud"]))
    >>> rows = sdp.Rows([[0.1, 0.1], [0.9, 0.2], [0.8, 0.2]], kind=["theft", "fraud", "fraud"])
    >>> release = sdp.Table().release(rows, frame, epsilon=100)
    >>> release.answer(kind=["theft", "fraud"]).tolist(), release.answer(box=(0.5, 0, 1, 1))
    ([1.0, 2.0], 2.0)
    """

    estimate: TableCounts

    @property
    def frame(self) -> Frame:
        """The axes of the table."""
        return self.estimate.frame

    def at(self, **queries: Any) -> Release:
        """Return the map at one time, of one category: a release of space alone, which can do all that releases can.

        It answers boxes and polygons, with intervals about the truth, is drawn, explored and saved in every format.

        Parameters
        ----------
        **queries
            What is wanted along each axis beside space, by its name, as for `answer` and without lists; an axis that is
            not named is summed.

        Returns
        -------
        Release or ZoneRelease
            Its privacy statement is that of the whole table.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> frame = sdp.Frame(sdp.Domain((0, 0, 2, 1)).grid((2, 1)), kind=sdp.Categories(["theft", "fraud"]))
        >>> rows = sdp.Rows([[0.5, 0.5], [1.5, 0.5], [1.6, 0.5]], kind=["theft", "fraud", "fraud"])
        >>> fraud = sdp.Table().release(rows, frame, epsilon=100).at(kind="fraud")
        >>> fraud, fraud.answer([(0, 0, 1, 1), (1, 0, 2, 1)]).tolist()
        (<Release of 2 cells: ε = 100 (add-remove one record), table, spatialdp 0.1.0>, [0.0, 2.0])
        """
        from spatialdp.outputs.tables.single import single_map

        return single_map(self, queries)

    @override
    def plot(self, ax: Axes | None = None, **options: Any) -> Any:
        """Draw the map at one time, of one category, or several of them beside each other.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure by default.
        **options
            What is wanted along each axis beside space, as for `at`; an axis that is not named is summed. A list along
            one axis, or along two, draws a map for each of its parts, with one scale of colours for all. Other options
            are those of `spatialdp.outputs.maps.plot`; if an axis is called like one of them, draw the map of `at`.

        Returns
        -------
        matplotlib Axes, or an array of them for several maps

        Examples
        --------
        >>> import matplotlib, spatialdp as sdp
        >>> matplotlib.use("Agg")
        >>> frame = sdp.Frame(sdp.Domain((0, 0, 2, 1)).grid((2, 1)), kind=sdp.Categories(["theft", "fraud"]))
        >>> release = sdp.Table().release(sdp.Rows([], kind=[]), frame, epsilon=1)
        >>> release.plot(kind="theft").get_title(loc="left"), release.plot(kind=["theft", "fraud"]).shape
        ('kind theft', (2,))
        """
        from spatialdp.outputs.maps.tables.plot import plot_table

        return plot_table(self, ax, options)

    @override
    def answer(self, **queries: Any) -> Any:  # type: ignore[override]
        """Estimate how many records there are in a place, at a time, of a kind.

        Parameters
        ----------
        **queries
            What is wanted along each axis, by its name; an axis that is not named is summed. A list is answered one by
            one, and the answer has one dimension for each list. ``box=(xmin, ymin, xmax, ymax)`` for a grid (records
            are assumed to be evenly spread within a cell that is cut) or ``zone="37063"`` for zones. A pair of times is
            a half-open interval; clock times such as ``("22:00", "02:00")`` are meant every day, and may go past
            midnight. ``kind="theft"`` names a category or a group of categories; several in a tuple are taken together.

        Returns
        -------
        float or array

        Examples
        --------
        >>> import spatialdp as sdp
        >>> day = sdp.Time("2024-01-01", "2024-01-02", step="6 h")
        >>> frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((1, 1)), time=day)
        >>> rows = sdp.Rows([[0.1, 0.1]] * 3, time=["2024-01-01 05:00", "2024-01-01 07:00", "2024-01-01 23:00"])
        >>> release = sdp.Table().release(rows, frame, epsilon=100)
        >>> release.answer(time=[("06:00", "12:00"), ("18:00", "06:00")]).tolist()
        [1.0, 2.0]
        """
        selections = self.frame.select(queries)
        return as_asked(self.estimate.sums(selections), selections)

    @override
    def interval(  # type: ignore[override]
        self, *, level: float = 0.95, about: str = About.TRUTH, **queries: Any
    ) -> Any:
        """Intervals that cover the true counts, or the answers without noise, with probability `level`.

        Parameters
        ----------
        level : float
            Between 0 and 1.
        about : {"truth", "noise"}
            What is covered. The interval about the truth of a box that cuts cells goes from the lower end for the cells
            inside to the upper end for the cells that the box touches: it holds wherever in a cell its records are, and
            is as wide as what the cut cells hold. A map of `at` has narrower ones, from how its cells differ.
        **queries
            As for `answer`.

        Returns
        -------
        array
            Lower and upper ends in the last dimension, covered with the stated probability or a little more. About the
            truth, they are not below 0.

        Raises
        ------
        ReleaseError
            If the estimates were rounded or made non-negative.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((2, 1)), kind=sdp.Categories(["theft", "fraud"]))
        >>> release = sdp.Table().release(sdp.Rows([], kind=[]), frame, epsilon=1, noise=sdp.SeededNoise(1))
        >>> release.interval(kind=["theft", "fraud"]).shape
        (2, 2)
        """
        self._require_unbiased()
        selections = self.frame.select(queries)
        return as_asked(self.estimate.ends(selections, level, About.parse(about, "about")), selections)

    def marginal(self, *, level: float = 0.95, **levels: str) -> pd.DataFrame:
        """Return the estimates of all parts of some levels as a table; axes that are not named are summed.

        Parameters
        ----------
        level : float
            Of the intervals.
        **levels
            The name of a level for each axis, such as ``zone="county", time="day"``; `Frame.axes` has their `names`.

        Returns
        -------
        DataFrame
            A column for each axis that is named, and `estimate`; unless the release is biased, also `lower`, `upper`
            and `sd`. ``attrs["privacy"]`` is the whole privacy statement.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((2, 1)), kind=sdp.Categories(["theft", "fraud"]))
        >>> release = sdp.Table().release(sdp.Rows([[0.1, 0.1]], kind=["fraud"]), frame, epsilon=100)
        >>> release.marginal(kind="categories")[["kind", "estimate"]].values.tolist()
        [['theft', 0.0], ['fraud', 1.0]]
        """
        import pandas as pd

        from spatialdp.outputs.files.statement import statement_members

        frame = self.frame
        unknown = [name for name in levels if name not in frame.axes]
        if unknown:
            raise ParameterError(
                f"{parameter(unknown[0])} is no axis of this table; its axes are {', '.join(frame.names)}. Ask "
                "for these."
            )
        everything = dict(zip(frame.axes, self.estimate.every(), strict=True))
        chosen = {name: parts_of(frame.axes[name], part) for name, part in levels.items()}
        selections = tuple((everything | chosen)[name] for name in frame.axes)
        names = [name for name in frame.names if name in levels]
        _check_rows([chosen[name].count for name in names])
        labels = [frame.axes[name].part_labels(levels[name]) for name in names]
        columns = {name: values.ravel() for name, values in self._columns(selections, level).items()}
        grid = np.meshgrid(*(np.arange(len(each)) for each in labels), indexing="ij")
        places = {
            name: np.array(each, dtype=object)[index.ravel()]
            for name, each, index in zip(names, labels, grid, strict=True)
        }
        table = pd.DataFrame(places | columns)
        table.attrs["privacy"] = statement_members(self.privacy)
        return table

    def _columns(self, selections: tuple[Selection, ...], level: float) -> dict[str, Floats]:
        """Return estimates, ends of intervals and standard deviations, with space as the first dimension."""
        values = self.estimate.sums(selections)
        columns = {"estimate": values}
        if not self.estimate.biased:
            lower, upper = np.moveaxis(self.estimate.ends(selections, level), -1, 0)
            deviations = np.sqrt(self.estimate.moments_of_sums(selections)[0])
            columns |= {"lower": lower, "upper": upper, "sd": deviations}
        return {name: np.moveaxis(each, -1, 0) for name, each in columns.items()}

    def to_frame(self, *, level: float = 0.95) -> pd.DataFrame:
        """Return all cells of the table as rows: `marginal` at the finest level of every axis.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((2, 1)), kind=sdp.Categories(["theft", "fraud"]))
        >>> release = sdp.Table().release(sdp.Rows([], kind=[]), frame, epsilon=1)
        >>> list(release.to_frame().columns), len(release.to_frame())
        (['box', 'kind', 'estimate', 'lower', 'upper', 'sd'], 4)
        """
        return self.marginal(level=level, **{name: axis.names[-1] for name, axis in self.frame.axes.items()})

    @override
    def non_negative(self, method: str = "cells") -> TableRelease:  # noqa: ARG002 - there is one way
        """A copy without negative estimates; post-processing that costs nothing, but adds bias: sums are too high.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((8, 8)))
        >>> release = sdp.Table().release([], frame, epsilon=0.1)
        >>> float(release.non_negative().estimate.values.min())
        0.0
        """
        return replace(self, estimate=self.estimate.non_negative())

    @override
    def rounded(self) -> TableRelease:
        """A copy in whole numbers, which still add up; post-processing that costs nothing, but adds bias.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((8, 8)), blocks=2)
        >>> sdp.Table().release([], frame, epsilon=0.1).rounded().answer().is_integer()
        True
        """
        return replace(self, estimate=self.estimate.rounded())

    @override
    def sample(
        self, n: int | None = None, *, noise: Noise | None = None, as_geodataframe: bool = False
    ) -> pd.DataFrame:
        """Draw synthetic records that follow the table; post-processing that costs nothing.

        Parameters
        ----------
        n : int, optional
            Number of records; by default the released total, rounded and not below 0.
        noise : Noise, optional
            Source of random bits. A `SeededNoise` makes the records repeatable.
        as_geodataframe : bool
            Whether to return point geometries in the place of the columns `x` and `y`; zones keep their codes.

        Returns
        -------
        DataFrame or GeoDataFrame
            Places (`x` and `y`, or the code of a `zone`), and a column for each other axis. Times are evenly spread
            within their tick, with their offset from UTC; on folded axes they are names of ticks. ``attrs["privacy"]``
            is the whole privacy statement.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((2, 1)), kind=sdp.Categories(["theft", "fraud"]))
        >>> release = sdp.Table().release(sdp.Rows([[0.9, 0.1]] * 3, kind=["fraud"] * 3), frame, epsilon=100)
        >>> drawn = release.sample()
        >>> drawn["kind"].tolist(), bool((drawn["x"] > 0.5).all())
        (['fraud', 'fraud', 'fraud'], True)
        """
        from spatialdp.outputs.files.statement import statement_members
        from spatialdp.outputs.files.tables.sampling import sampled_table

        table = sampled_table(self, n, noise, as_geodataframe=as_geodataframe)
        table.attrs["privacy"] = statement_members(self.privacy)
        return table

    @override
    def save(self, path: str | PathLike[str], *, overwrite: bool = False, shape: Any = None) -> None:
        """Write the table to a file together with its privacy statement: the whole file or nothing.

        Parameters
        ----------
        path : str or path
            ``.parquet`` holds the complete release, which `spatialdp.load` reads; ``.csv`` the rows of `to_frame`, with
            the statement in a ``.privacy.json`` file beside it.
        overwrite : bool
            Whether to replace an existing file.
        shape : None
            For rasters only, which tables are not.

        Examples
        --------
        >>> import tempfile, pathlib, spatialdp as sdp
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "table.parquet"
        >>> frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((2, 1)), kind=sdp.Categories(["theft", "fraud"]))
        >>> release = sdp.Table().release(sdp.Rows([], kind=[]), frame, epsilon=1)
        >>> release.save(path)
        >>> sdp.load(path).answer(kind="theft") == release.answer(kind="theft")
        True
        """
        from spatialdp.outputs.files.save import save

        save(self, path, overwrite=overwrite, shape=shape)

    def in_words(self) -> str:
        """Return the promise in plain words, and why all times and categories together cost ε once.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((2, 1)), kind=sdp.Categories(["theft", "fraud"]))
        >>> words = sdp.Table().release(sdp.Rows([], kind=[]), frame, epsilon=1).in_words()
        >>> words[words.index("A record is"):]
        'A record is in one cell of this table at most (box, kind), so all cells together cost ε once.'
        """
        return f"{self.privacy.in_words()} {disjoint_in_words(self.frame)}"

    @override
    def __repr__(self) -> str:
        sizes = " x ".join(f"{self.frame.axes[name].size:,} {name}" for name in self.frame.names)
        return f"<TableRelease of {sizes}: {self.privacy}>"


def disjoint_in_words(frame: Frame) -> str:
    """Return why the whole table costs ε once, in words.

    Examples
    --------
    >>> from spatialdp.space.domain import Domain
    >>> disjoint_in_words(Frame(Domain((0, 0, 1, 1)).grid((2, 1))))
    'A record is in one cell of this table at most (box), so all cells together cost ε once.'
    """
    return (
        f"A record is in one cell of this table at most ({', '.join(frame.names)}), so all cells together cost ε once."
    )


def _check_rows(sizes: list[int]) -> None:
    rows = int(np.prod(sizes)) if sizes else 1
    if rows > _MOST_ROWS:
        raise ReleaseError(
            f"a table of these levels has {rows:,} rows; at most {_MOST_ROWS:,} are made at once. Name coarser levels, "
            f"or ask for parts of it{either(' with answer()', '')}."
        )
