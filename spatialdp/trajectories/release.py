"""What is published of trajectories? Counts of ends, lengths and extents, and a model to draw synthetic ones from.

Counts have intervals; whatever is drawn from the model, or counted in that, has none. A `TrajectoryRelease` holds
released numbers and public parameters. Methods that publish import `outputs` when they are called.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from os import PathLike
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp.errors import ReleaseError
from spatialdp.estimates.flows.counts import Answers
from spatialdp.estimates.sampling import sample_size
from spatialdp.estimates.trajectories.choice import draw_squares
from spatialdp.estimates.trajectories.model import PathModel
from spatialdp.flows.release import FlowRelease
from spatialdp.privacy.certified import Certified
from spatialdp.privacy.noise.source import Noise, SystemNoise
from spatialdp.privacy.statement import Privacy
from spatialdp.space.domain import Domain
from spatialdp.space.paths.systems import EXTENTS, length_edges
from spatialdp.space.regions.within import moved_inside
from spatialdp.wording import either

if TYPE_CHECKING:
    import geopandas
    import pandas as pd

    from spatialdp.privacy.ledger.account import Account

__all__ = ["Positions", "TrajectoryRelease"]

LARGEST_DEFAULT = 2**22  # trajectories


@dataclass(frozen=True, eq=False)
class Positions:
    """Synthetic trajectories, position by position.

    Attributes
    ----------
    starts : (n + 1,) integer array
        Where the positions of each trajectory begin, and the end of the last.
    x, y : float arrays
        In the domain's coordinates.
    """

    starts: Integers
    x: Floats
    y: Floats


class _NoMap:
    """What a release of one map can do and trajectories cannot, refused in words."""

    def _no_map(self, *_: Any, **__: Any) -> NoReturn:
        """Refused: trajectories are no map.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> tracks = sdp.Tracks([], tid=[], time=[])
        >>> sdp.Trajectories().release(tracks, sdp.Domain((0, 0, 1, 1)), epsilon=1).plot()
        Traceback (most recent call last):
        spatialdp.errors.ReleaseError: trajectories are no map of places, which this needs; ...
        """
        raise ReleaseError(
            "trajectories are no map of places, which this needs; "
            f"{either('take release.flows, or draw with release.sample()', 'draw with `spatialdp sample`')}."
        )

    answer = answer_polygons = interval_polygons = uniformity = _no_map
    plot = explore = to_geodataframe = to_xarray = non_negative = rounded = _no_map


@dataclass(frozen=True, eq=False, repr=False)
class TrajectoryRelease(_NoMap, Certified):
    """Released counts of trajectories, and a model from which synthetic ones are drawn. Experimental.

    The `release` method of `Trajectories` or `spatialdp.load` makes it.

    Attributes
    ----------
    domain : Domain
    privacy : Privacy
    estimate : PathModel
        The released numbers: ends, lengths, extents, cells, moves and turns.
    account : Account or None
        The account that paid.

    Privacy
    -------
    A release holds released numbers and public parameters. Every method is post-processing and costs nothing.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> times = ["2024-01-01 08:00", "2024-01-01 08:02"] * 40
    >>> tracks = sdp.Tracks([[0.1, 0.1], [0.2, 0.2]] * 40, tid=[i // 2 for i in range(80)], time=times)
    >>> release = sdp.Trajectories().release(tracks, sdp.Domain((0, 0, 1, 1)), epsilon=100)
    >>> round(release.total), release.cells_a_side
    (40, 64)
    """

    domain: Domain
    privacy: Privacy
    estimate: PathModel
    account: Account | None = field(default=None, repr=False, kw_only=True)

    @property
    def total(self) -> float:
        """Estimated number of trajectories with a position in the domain."""
        return self.estimate.total

    def interval(self, *, level: float = 0.95) -> Floats:
        """Return an interval that covers the true number of trajectories with probability `level`.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> tracks = sdp.Tracks([[0.1, 0.1]] * 40, tid=range(40), time=["2024-01-01"] * 40)
        >>> low, high = sdp.Trajectories().release(tracks, sdp.Domain((0, 0, 1, 1)), epsilon=10).interval()
        >>> bool(high - low > 20)
        True
        """
        return np.asarray(self.estimate.lengths.total.ends(level)[0])

    @property
    def flows(self) -> FlowRelease:
        """How many trajectories go from each block of the domain to each other: flows of their ends, with intervals.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> tracks = sdp.Tracks([[0.1, 0.1]] * 40, tid=range(40), time=["2024-01-01"] * 40)
        >>> flows = sdp.Trajectories(ends=1).release(tracks, sdp.Domain((0, 0, 1, 1)), epsilon=100).flows
        >>> round(flows.answer(origin=(0, 0, 0.5, 0.5))), flows.interval(origin=(0, 0, 0.5, 0.5)).shape
        (40, (2,))
        """
        return FlowRelease(self.domain, self.privacy, self.estimate.ends, account=self.account)

    def lengths(self, *, level: float = 0.95) -> pd.DataFrame:
        """Return how many trajectories are of each length, with intervals about the truth.

        Returns
        -------
        DataFrame
            Steps `from` and `to`, both counted in, the number of `trajectories`, and `low` and `high`.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> tracks = sdp.Tracks([[0.1, 0.1]] * 40, tid=range(40), time=["2024-01-01"] * 40)
        >>> release = sdp.Trajectories(longest=9).release(tracks, sdp.Domain((0, 0, 1, 1)), epsilon=100)
        >>> release.lengths().round().head(2).values.tolist()[0][:3]
        [0.0, 0.0, 40.0]
        """
        edges = length_edges(self.estimate.longest)
        return self._rows({"from": edges[:-1], "to": edges[1:] - 1}, self.estimate.lengths.by_length, level)

    def extents(self, *, level: float = 0.95) -> pd.DataFrame:
        """Return how many trajectories are of each extent, with intervals about the truth.

        The extent is the longer side of the box around a trajectory, as a share of that side of the domain.

        Returns
        -------
        DataFrame
            Shares `from` and up to `to`, the number of `trajectories`, and `low` and `high`.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> tracks = sdp.Tracks([[0.1, 0.1]] * 40, tid=range(40), time=["2024-01-01"] * 40)
        >>> release = sdp.Trajectories().release(tracks, sdp.Domain((0, 0, 1, 1)), epsilon=100)
        >>> release.extents().columns.tolist()
        ['from', 'to', 'trajectories', 'low', 'high']
        """
        shares = 1 / np.array([*EXTENTS, 1.0])
        return self._rows({"from": shares[:-1], "to": shares[1:]}, self.estimate.extents.by_kind, level)

    def _rows(self, classes: dict[str, Any], answers: Answers, level: float) -> pd.DataFrame:
        import pandas as pd

        from spatialdp.outputs.files.statement import statement_members

        low, high = answers.ends(level).T
        table = pd.DataFrame(classes | {"trajectories": answers.values, "low": low, "high": high})
        table.attrs["privacy"] = statement_members(self.privacy)
        return table

    @property
    def step(self) -> Fraction:
        """Seconds from one position to the next."""
        return self.estimate.seconds

    @property
    def cells_a_side(self) -> int:
        """Cells along a side of the reference system that was used; it was chosen privately if there were several."""
        return self.estimate.system.side

    def positions(self, n: int | None = None, *, noise: Noise | None = None) -> Positions:
        """Draw synthetic trajectories as arrays; parameters are those of `sample`.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> tracks = sdp.Tracks([[0.1, 0.1]] * 40, tid=range(40), time=["2024-01-01"] * 40)
        >>> release = sdp.Trajectories().release(tracks, sdp.Domain((0, 0, 1, 1)), epsilon=100)
        >>> release.positions(5).starts.size
        6
        """
        count = sample_size(self.total, n, counted="trajectories", drawn="trajectories", most=LARGEST_DEFAULT)
        squares = draw_squares(self.estimate, count, SystemNoise() if noise is None else noise)
        places = zip(self.domain.axes, (squares.columns, squares.rows), strict=True)
        x, y = (axis.centres(each) for axis, each in places)
        return Positions(squares.starts, *moved_inside(self.domain, x, y))

    def sample(self, n: int | None = None, *, noise: Noise | None = None) -> geopandas.GeoDataFrame:
        """Draw synthetic trajectories that follow the release.

        Parameters
        ----------
        n : int, optional
            Number of trajectories; by default the released total.
        noise : Noise, optional
            Source of random bits. A `SeededNoise` makes the trajectories repeatable, and no less private than the
            release is.

        Returns
        -------
        GeoDataFrame
            A row for each position, with the columns `tid`, `time`, `x`, `y` and `geometry`. All trajectories begin at
            the start of 1970: when they began is not part of the release. ``attrs["privacy"]`` is the privacy
            statement. A trajectory keeps its place within cells, so that it stands still where it stays in one. If the
            domain has a region, places outside of it are moved to the nearest place in it.

        Raises
        ------
        ReleaseError
            If trajectories are asked for and no pair of ends is likely to have any.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> tracks = sdp.Tracks([[0.1, 0.1]] * 40, tid=range(40), time=["2024-01-01"] * 40)
        >>> release = sdp.Trajectories().release(tracks, sdp.Domain((0, 0, 1, 1)), epsilon=100)
        >>> release.sample(5).columns.tolist()
        ['tid', 'time', 'x', 'y', 'geometry']
        """
        from spatialdp.outputs.files.trajectories.save import frame_of

        return frame_of(self, self.positions(n, noise=noise))

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the release to a file, completely or not at all; `spatialdp.load` reads it.

        Parameters
        ----------
        path : str or path
            Ends in ``.parquet``.
        overwrite : bool
            Whether to replace an existing file.

        Examples
        --------
        >>> import pathlib, tempfile, spatialdp as sdp
        >>> tracks = sdp.Tracks([[0.1, 0.1]] * 40, tid=range(40), time=["2024-01-01"] * 40)
        >>> release = sdp.Trajectories().release(tracks, sdp.Domain((0, 0, 1, 1)), epsilon=100)
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "taxis.parquet"
        >>> release.save(path)
        >>> sdp.load(path).total == release.total
        True
        """
        from spatialdp.outputs.files.trajectories.save import save_trajectories

        save_trajectories(self, path, overwrite=overwrite)

    def save_sample(
        self, path: str | PathLike[str], n: int | None = None, *, noise: Noise | None = None, overwrite: bool = False
    ) -> None:
        """Write synthetic trajectories to a file with the privacy statement: the whole file or nothing.

        Parameters
        ----------
        path : str or path
            Ends in ``.parquet``, for GeoParquet with the statement in its metadata, or in ``.csv``, with the statement
            beside it. Its rows are those of `sample`.
        n, noise
            As for `sample`.
        overwrite : bool
            Whether to replace an existing file.

        Examples
        --------
        >>> import pathlib, tempfile, geopandas, spatialdp as sdp
        >>> tracks = sdp.Tracks([[0.1, 0.1]] * 40, tid=range(40), time=["2024-01-01"] * 40)
        >>> release = sdp.Trajectories().release(tracks, sdp.Domain((0, 0, 1, 1)), epsilon=100)
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "synthetic.parquet"
        >>> release.save_sample(path, 5)
        >>> geopandas.read_parquet(path).tid.nunique()
        5
        """
        from spatialdp.outputs.files.trajectories.save import save_sample

        save_sample(self, path, n, noise=noise, overwrite=overwrite)

    def __repr__(self) -> str:
        side = self.cells_a_side
        return f"<TrajectoryRelease in {side} x {side} cells: {self.privacy}>"
