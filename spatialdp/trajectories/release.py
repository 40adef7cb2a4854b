"""What is published of trajectories, and what can be drawn from it? Synthetic trajectories, as tables and files.

A `TrajectoryRelease` holds released numbers and public parameters. Methods that publish import `outputs` when they are
called.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp._support.checks import whole_number
from spatialdp.estimates.sampling import LARGEST_SAMPLE
from spatialdp.estimates.trajectories.model import PathModel
from spatialdp.estimates.trajectories.walk import draw_ways
from spatialdp.privacy.certified import Certified
from spatialdp.privacy.noise.source import Noise, SystemNoise
from spatialdp.privacy.statement import Privacy
from spatialdp.space.domain import Domain

if TYPE_CHECKING:
    import geopandas

    from spatialdp.privacy.ledger.account import Account

__all__ = ["Positions", "TrajectoryRelease"]


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


@dataclass(frozen=True, eq=False, repr=False)
class TrajectoryRelease(Certified):
    """A released model of trajectories, from which synthetic ones are drawn. Experimental.

    The `release` method of `Trajectories` makes it.

    Attributes
    ----------
    domain : Domain
    privacy : Privacy
    estimate : PathModel
        The released numbers: ends, lengths, cells, moves and turns.
    step : Fraction
        Seconds from one position to the next.
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
    step: Fraction
    account: Account | None = field(default=None, repr=False, kw_only=True)

    @property
    def total(self) -> float:
        """Estimated number of trajectories with a position in the domain."""
        return self.estimate.total

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
        count = whole_number(max(0, round(self.total)) if n is None else n, "n", 0, LARGEST_SAMPLE)
        source, system = SystemNoise() if noise is None else noise, self.estimate.system
        ways = draw_ways(self.estimate, count, source)
        row, column = np.divmod(ways.cells, system.side)
        bounds = np.full(count, 1 << system.shift, dtype=np.int64)
        xy = (
            axis.centres((cells << system.shift) + np.repeat(source.below(bounds), np.diff(ways.starts)))
            for axis, cells in zip(self.domain.axes, (column, row), strict=True)
        )
        return Positions(ways.starts, *xy)

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
            statement. A trajectory keeps its place within cells, so that it stands still where it stays in one.

        Raises
        ------
        ReleaseError
            If trajectories are asked for and no pair of ends is on the released list.

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

    def save(
        self, path: str | PathLike[str], n: int | None = None, *, noise: Noise | None = None, overwrite: bool = False
    ) -> None:
        """Write synthetic trajectories to a GeoParquet file with the privacy statement: the whole file or nothing.

        Parameters
        ----------
        path : str or path
            Ends in ``.parquet``. Its rows are those of `sample`; the statement is in the metadata of the file.
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
        >>> release.save(path, 5)
        >>> geopandas.read_parquet(path).tid.nunique()
        5
        """
        from spatialdp.outputs.files.trajectories.save import save_trajectories

        save_trajectories(self, path, n, noise=noise, overwrite=overwrite)

    def __repr__(self) -> str:
        side = self.cells_a_side
        return f"<TrajectoryRelease in {side} x {side} cells: {self.privacy}>"
