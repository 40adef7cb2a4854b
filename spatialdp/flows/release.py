"""What is published of flows, and what can be asked of it? Pairs of places, origins, destinations, by their names.

A `FlowRelease` holds released numbers and public parameters, as every `Release` does. Methods that publish import
`outputs` when they are called.
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, NoReturn

from spatialdp._support.override import override
from spatialdp.errors import ReleaseError
from spatialdp.estimates.flows.counts import Answers, FlowCounts, pairs_not_places
from spatialdp.release import Release
from spatialdp.space.frames.frame import Frame
from spatialdp.space.frames.selection import Selection, select

if TYPE_CHECKING:
    import geopandas
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["FlowRelease"]


class _NoMap:
    """What a release of one map can do and flows cannot, refused in words."""

    def _no_map(self, *_: Any, **__: Any) -> NoReturn:
        """Refused: flows are between places.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> trips = sdp.Trips([[0.1, 0.1]], [[0.9, 0.9]])
        >>> sdp.Flows().release(trips, sdp.Domain((0, 0, 1, 1)).grid((2, 2)), epsilon=1).sample()
        Traceback (most recent call last):
        spatialdp.errors.ReleaseError: flows are between places, and this needs a map of single places; take the ...
        """
        pairs_not_places()

    answer_polygons = interval_polygons = uniformity = to_xarray = explore = sample = _no_map


@dataclass(frozen=True, eq=False, repr=False)
class FlowRelease(_NoMap, Release):
    """Released flows between places.

    The `release` method of `Flows` or `spatialdp.load` makes it.

    Attributes
    ----------
    domain : Domain
        The domain of the places; None for zones without geometry.
    privacy : Privacy
    estimate : FlowCounts

    Privacy
    -------
    A release holds released numbers and public parameters. Every method is post-processing and costs nothing.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> zones = sdp.Zones.from_codes(["a1", "a2", "b1"], None, {"letter": 1, "code": 2})
    >>> trips = sdp.Trips(sdp.Codes(["a1"] * 5 + ["a2"]), sdp.Codes(["b1"] * 6))
    >>> release = sdp.Flows().release(trips, zones, epsilon=100)
    >>> release.answer(origin=["a1", "a2", "a"], destination="b1").round().tolist()
    [5.0, 1.0, 6.0]
    >>> round(release.answer(destination="b1")), round(release.total)
    (6, 6)
    """

    estimate: FlowCounts

    @property
    def frame(self) -> Frame:
        """The places."""
        return self.estimate.frame

    @property
    def listed_share(self) -> float | None:
        """The estimated share of all trips that are in listed pairs; None if all pairs are published.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> trips = sdp.Trips([[0.1, 0.1]] * 90, [[0.9, 0.9]] * 90)
        >>> release = sdp.Flows("listed").release(trips, sdp.Domain((0, 0, 1, 1)).grid((4, 4)), epsilon=100)
        >>> round(release.listed_share, 1)
        1.0
        """
        if self.estimate.listing is None:
            return None
        return float(self.estimate.values.sum()) / max(self.estimate.total, 1.0)

    @override
    def answer(self, *, origin: Any = None, destination: Any = None) -> Any:  # type: ignore[override]
        """Estimate how many trips go from some places to others.

        Parameters
        ----------
        origin, destination : optional
            A zone by its code, zones that are taken together as a tuple of codes; or a box, (xmin, ymin, xmax, ymax),
            if places are the cells of a grid. A list is answered one by one, and the answer has a dimension for each
            list. An end that is not named is summed over all places.

        Returns
        -------
        float or array
            If pairs are listed, an answer that names both ends is about **listed** pairs: flows below the threshold are
            missing. Answers that name one end, or none, come from the margins, which miss nothing.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> trips = sdp.Trips([[0.1, 0.1]] * 9, [[0.9, 0.9]] * 9)
        >>> release = sdp.Flows().release(trips, sdp.Domain((0, 0, 1, 1)).grid((2, 2)), epsilon=100)
        >>> round(release.answer(origin=(0, 0, 0.5, 0.5)))
        9
        """
        answers, shape = self._answers(origin, destination)
        values = answers.values.reshape(shape)
        return float(values) if values.ndim == 0 else values

    @override
    def interval(  # type: ignore[override]
        self, *, origin: Any = None, destination: Any = None, level: float = 0.95
    ) -> Any:
        """Intervals that cover the true counts with probability `level`.

        Parameters
        ----------
        origin, destination
            As for `answer`.
        level : float
            Between 0 and 1.

        Returns
        -------
        array
            Lower and upper ends in the last dimension. If pairs are listed and both ends are named, it is about the
            trips of listed pairs. Of a box that cuts cells, the interval covers the answer without noise.

        Raises
        ------
        ReleaseError
            If the counts of listed pairs are those by which they were listed, or estimates were rounded or made
            non-negative.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> trips = sdp.Trips([[0.1, 0.1]] * 9, [[0.9, 0.9]] * 9)
        >>> release = sdp.Flows().release(trips, sdp.Domain((0, 0, 1, 1)).grid((2, 2)), epsilon=1)
        >>> low, high = release.interval(origin=(0, 0, 0.5, 0.5))
        >>> bool(low < release.answer(origin=(0, 0, 0.5, 0.5)) < high)
        True
        """
        self._require_intervals()
        answers, shape = self._answers(origin, destination)
        return answers.ends(level).reshape((*shape, 2))

    def to_frame(self, *, level: float = 0.95) -> pd.DataFrame:
        """Return the published pairs as rows of `origin`, `destination` and `flow`, with intervals if there are any.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> zones = sdp.Zones.from_codes(["a1", "b1"], None, {"letter": 1, "code": 2})
        >>> release = sdp.Flows().release(sdp.Trips(sdp.Codes(["a1"]), sdp.Codes(["b1"])), zones, epsilon=100)
        >>> release.to_frame()[["origin", "destination", "flow"]].round().values.tolist()
        [['a1', 'a1', 0.0], ['a1', 'b1', 1.0], ['b1', 'a1', 0.0], ['b1', 'b1', 0.0]]
        """
        from spatialdp.outputs.files.flows.rows import pair_rows

        return self._stated(pair_rows(self.estimate, level))

    def places(self, *, level: float = 0.95) -> pd.DataFrame:
        """Return the margins: for each place, how many trips begin and end there, with intervals if there are any.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> zones = sdp.Zones.from_codes(["a1", "b1"], None, {"letter": 1, "code": 2})
        >>> release = sdp.Flows().release(sdp.Trips(sdp.Codes(["a1"]), sdp.Codes(["b1"])), zones, epsilon=100)
        >>> release.places()[["place", "begin", "end"]].round().values.tolist()
        [['a1', 1.0, 0.0], ['b1', 0.0, 1.0]]
        """
        from spatialdp.outputs.files.flows.rows import place_rows

        return self._stated(place_rows(self.estimate, level))

    @override
    def to_geodataframe(self) -> geopandas.GeoDataFrame:
        """Return the published pairs of different places as lines between their middles.

        Trips that stay in a place have no line; `to_frame` has them.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> trips = sdp.Trips([[0.1, 0.1]] * 90, [[0.9, 0.9]] * 90)
        >>> release = sdp.Flows("listed").release(trips, sdp.Domain((0, 0, 1, 1)).grid((2, 2)), epsilon=10)
        >>> release.to_geodataframe().geometry.iloc[0].wkt
        'LINESTRING (0.25 0.25, 0.75 0.75)'
        """
        from spatialdp.outputs.files.flows.rows import lines

        frame: geopandas.GeoDataFrame = self._stated(lines(self.estimate))
        return frame

    @override
    def plot(self, ax: Axes | None = None, *, most: int = 200, title: str = "Flows", **options: Any) -> Axes:
        """Draw the largest published flows as lines, as wide as they are large, above the places.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        most : int
            Number of flows that are drawn at most, the largest first.
        title : str
        **options
            None: those of maps of places are refused.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> trips = sdp.Trips([[0.1, 0.1]] * 90, [[0.9, 0.9]] * 90)
        >>> release = sdp.Flows().release(trips, sdp.Domain((0, 0, 1, 1)).grid((2, 2)), epsilon=10)
        >>> release.plot().get_title()
        'Flows'
        """
        from spatialdp.outputs.maps.flows.plot import plot_flows

        if options:
            pairs_not_places()
        return plot_flows(self, ax, most, title)

    @override
    def save(self, path: str | PathLike[str], *, overwrite: bool = False, shape: Any = None) -> None:
        """Write the flows to a file together with their privacy statement: the whole file or nothing.

        Parameters
        ----------
        path : str or path
            ``.parquet`` holds the complete release, which `spatialdp.load` reads, and for up to a million pairs lines
            between the places (zones are kept without their areas). ``.csv`` has the columns ``origin``,
            ``destination`` and ``flow``, which scikit-mobility and other tools read, with the statement in a
            ``.privacy.json`` file beside it.
        overwrite : bool
            Whether to replace an existing file.
        shape : None
            For rasters only, which flows are not.

        Examples
        --------
        >>> import tempfile, pathlib, spatialdp as sdp
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "flows.parquet"
        >>> trips = sdp.Trips([[0.1, 0.1]] * 9, [[0.9, 0.9]] * 9)
        >>> release = sdp.Flows().release(trips, sdp.Domain((0, 0, 1, 1)).grid((2, 2)), epsilon=1)
        >>> release.save(path)
        >>> sdp.load(path).total == release.total
        True
        """
        from spatialdp.outputs.files.save import save

        save(self, path, overwrite=overwrite, shape=shape)

    @override
    def __repr__(self) -> str:
        estimate = self.estimate
        what = "all" if estimate.numbers is None else "listed"
        return f"<FlowRelease of {estimate.n_cells:,} pairs ({what}) of {estimate.places:,} places: {self.privacy}>"

    def _answers(self, origin: Any, destination: Any) -> tuple[Answers, tuple[int, ...]]:
        """Return the answers to a query, and the shape that they are asked in."""
        sets: list[Selection | None] = [
            None if each is None else select(self.frame.space, each) for each in (origin, destination)
        ]
        answers = self.estimate.answers(*sets)
        lists = [each is not None and not each.single for each in sets]
        shape = tuple(size for size, is_list in zip(answers.values.shape, lists, strict=True) if is_list)
        return answers, shape

    def _require_intervals(self) -> None:
        """Refuse intervals where the errors of estimates do not average out."""
        if self.estimate.biased:
            raise ReleaseError(
                "the flows have no intervals: they were rounded, made non-negative, or are the counts by which pairs "
                "were listed; take the release before that, or release with a remeasure above 0."
            )

    def _stated(self, table: Any) -> Any:
        from spatialdp.outputs.files.statement import statement_members

        table.attrs["privacy"] = statement_members(self.privacy)
        return table
