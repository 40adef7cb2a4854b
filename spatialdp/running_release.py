"""What is published month after month? Running totals and single months so far, with intervals.

A `RunningRelease` holds the released measurements of all months so far, and public parameters. Each measurement is a
mixture of the months with noise of its own (`strategies.frames.square_root`); months and totals follow from all of
them. Nothing here is private: what must be kept secret is in the series (`mechanisms.running.series`).
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp._support.checks import whole_number
from spatialdp.estimates.intervals import half_width
from spatialdp.privacy.certified import Certified
from spatialdp.privacy.statement import Privacy
from spatialdp.space.frames.frame import Frame
from spatialdp.space.frames.selection import Selection, as_asked
from spatialdp.strategies.frames.square_root import SquareRoot

if TYPE_CHECKING:
    import pandas as pd

    from spatialdp.release import Release

__all__ = ["RunningRelease"]


@dataclass(frozen=True, eq=False, repr=False)
class RunningRelease(Certified):
    """Released running totals and months of a frame's cells, up to a month.

    `RunningSeries.add` makes one after every month.

    Attributes
    ----------
    frame : Frame
    privacy : Privacy
        The promise for all months up to the horizon together.
    root : SquareRoot
    measured : (months, ...) float array
        The released measurements, in counts.
    variance, kurtosis : float
        Of the noise in each measurement.

    Privacy
    -------
    A release holds released numbers and public parameters. Every method is post-processing and costs nothing.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((1, 1)))
    >>> series = sdp.Running(horizon=12).start(frame, epsilon=1, delta=1e-6)
    >>> release = series.add([[0.5, 0.5]] * 1000, noise=sdp.SeededNoise(1))
    >>> release
    <RunningRelease of month 1 of 12: NOT PRIVATE (seeded noise or true medians), would be ε = 1, ...
    """

    frame: Frame
    privacy: Privacy
    root: SquareRoot
    measured: Floats
    variance: float
    kurtosis: float

    @property
    def months(self) -> int:
        """Number of months that have been released."""
        return len(self.measured)

    def answer(self, *, first: int = 1, last: int | None = None, **queries: Any) -> Any:
        """Estimate how many records there were in some months; by default the running total of all so far.

        Parameters
        ----------
        first, last : int
            The first and the last month, counted from 1, both included; ``first=3, last=3`` is a single month.
        **queries
            What is wanted along each axis of the frame, as for `TableRelease.answer`.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((1, 1)))
        >>> series = sdp.Running(horizon=2).start(frame, epsilon=100, delta=1e-6)
        >>> _, release = series.add([[0.5, 0.5]] * 3), series.add([[0.5, 0.5]] * 4)
        >>> release.answer().__round__(), release.answer(first=2, last=2).__round__()
        (7, 4)
        """
        selections = self.frame.select(queries)
        return as_asked(np.tensordot(self._weights(first, last), self._sums(selections), axes=1), selections)

    def interval(self, *, level: float = 0.95, first: int = 1, last: int | None = None, **queries: Any) -> Any:
        """Intervals that cover the true counts of some months with probability `level`.

        Parameters
        ----------
        level : float
            Between 0 and 1.
        first, last, **queries
            As for `answer`. Of a box that cuts cells, the interval covers the answer without noise.

        Returns
        -------
        array
            Lower and upper ends in the last dimension.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((1, 1)))
        >>> release = sdp.Running(horizon=2).start(frame, epsilon=1, delta=1e-6).add([])
        >>> release.interval().shape
        (2,)
        """
        selections = self.frame.select(queries)
        values, variance, kurtosis = self.moments(selections, first=first, last=last)
        half = half_width(variance, kurtosis, self.step, level)
        return as_asked(np.stack([values - half, values + half], axis=-1), selections)

    def moments(
        self, selections: tuple[Selection, ...], *, first: int = 1, last: int | None = None
    ) -> tuple[Floats, Floats, Floats]:
        """Return estimates of sums over sets of cells, and the variances and the excess kurtosis of their noise.

        Parameters
        ----------
        selections : tuple of Selection
            The sets along each axis of the frame, in the order of arrays, as from ``frame.select``.
        first, last : int
            As for `answer`.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((1, 1)))
        >>> release = sdp.Running(horizon=2).start(frame, epsilon=1, delta=1e-6).add([])
        >>> release.moments(frame.select({}))[1].shape
        (1,)
        """
        weights = self._weights(first, last)
        values = np.tensordot(weights, self._sums(selections), axes=1)
        squares, fourths = (self._powers(selections, power) for power in (2, 4))
        variance = self.variance * (weights**2).sum() * squares
        fourth = self.kurtosis * self.variance**2 * (weights**4).sum() * fourths
        with np.errstate(divide="ignore", invalid="ignore"):
            kurtosis = np.where(variance > 0, fourth / variance**2, 0.0)
        return values, variance, kurtosis

    @property
    def step(self) -> float:
        """Width of the lattice on which the noise of a measurement lies."""
        return float(2.0**-self.root.bits)

    def at(self, *, first: int = 1, last: int | None = None, **queries: Any) -> Release:
        """Return the map of some months: a release of space alone, which can do all that releases can.

        It answers boxes and polygons, with intervals about the truth, is drawn, explored and saved in every format.

        Parameters
        ----------
        first, last : int
            As for `answer`; by default the running total of all months so far.
        **queries
            What is wanted along each axis beside space, without lists; an axis that is not named is summed.

        Returns
        -------
        Release or ZoneRelease
            Its privacy statement is that of all months up to the horizon together.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> frame = sdp.Frame(sdp.Domain((0, 0, 2, 1)).grid((2, 1)))
        >>> series = sdp.Running(horizon=12).start(frame, epsilon=100, delta=1e-6)
        >>> january, february = series.add([[0.5, 0.5]] * 30), series.add([[1.5, 0.5]] * 40)
        >>> february.at(), february.at(last=1).answer((0, 0, 1, 1)).__round__()
        (<Release of 2 cells: ε = 100, δ = 1e-06 (add-remove one record), running, spatialdp 0.1.0>, 30)
        """
        from spatialdp.outputs.tables.single import map_of_months

        return map_of_months(self, first, last, queries)

    def to_frame(self, *, level: float = 0.95, **queries: Any) -> pd.DataFrame:
        """Return a row for each month: its estimate and the running total, with intervals.

        Parameters
        ----------
        level : float
            Of the intervals.
        **queries
            What is wanted along each axis, without lists.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((1, 1)))
        >>> release = sdp.Running(horizon=2).start(frame, epsilon=1, delta=1e-6).add([])
        >>> list(release.to_frame().columns)
        ['month', 'estimate', 'lower', 'upper', 'total', 'total_lower', 'total_upper']
        """
        import pandas as pd

        from spatialdp.outputs.files.statement import statement_members

        rows = []
        for month in range(1, self.months + 1):
            alone, total = ({"first": month, "last": month}, {"last": month})
            ends = [self.interval(level=level, **each, **queries).tolist() for each in (alone, total)]
            values = [self.answer(**each, **queries) for each in (alone, total)]
            rows.append([month, values[0], *ends[0], values[1], *ends[1]])
        names = ["month", "estimate", "lower", "upper", "total", "total_lower", "total_upper"]
        table = pd.DataFrame(rows, columns=names)
        table.attrs["privacy"] = statement_members(self.privacy)
        return table

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write all months that have been released to a complete file, which `load` reads; nothing of it is secret.

        Parameters
        ----------
        path : str or path
            Ends in ``.parquet``.
        overwrite : bool
            Whether to replace an existing file. After each month, the file of the month before can be replaced.

        Examples
        --------
        >>> import tempfile, pathlib, spatialdp as sdp
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "year.parquet"
        >>> frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((1, 1)))
        >>> release = sdp.Running(horizon=12).start(frame, epsilon=1, delta=1e-6).add([])
        >>> release.save(path)
        >>> RunningRelease.load(path).answer() == release.answer()
        True
        """
        from spatialdp.outputs.files.tables.months import save_months

        save_months(self, path, overwrite=overwrite)

    @staticmethod
    def load(path: str | PathLike[str]) -> RunningRelease:
        """Read the months that `save` wrote, and check that the file is intact.

        Raises
        ------
        FileFormatError
            If the file holds no months of a series, is truncated, or was altered.

        Examples
        --------
        >>> import tempfile, pathlib, spatialdp as sdp
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "year.parquet"
        >>> frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((1, 1)))
        >>> sdp.Running(horizon=12).start(frame, epsilon=1, delta=1e-6).add([]).save(path)
        >>> RunningRelease.load(path)
        <RunningRelease of month 1 of 12: ε = 1, δ = 1e-06 (add-remove one record), running, spatialdp ...>
        """
        from spatialdp.outputs.files.tables.months import load_months

        return load_months(path)

    def __repr__(self) -> str:
        return f"<RunningRelease of month {self.months} of {self.root.horizon}: {self.privacy}>"

    def _weights(self, first: int, last: int | None) -> Floats:
        """Return the weights of all measurements so far in the sum of some months."""
        end = whole_number(self.months if last is None else last, "last", 1, self.months)
        start = whole_number(first, "first", 1, end)
        weights = self.root.weights(start - 1, end)
        return np.pad(weights, (0, self.months - end))

    def _sums(self, selections: tuple[Selection, ...]) -> Floats:
        """Return the sums over sets of cells of each measurement, (months, ...)."""
        values = self.measured
        for place, selection in enumerate(selections, start=1):
            values = np.moveaxis(selection.sums(np.moveaxis(values, place, -1)), -1, place)
        return values

    def _powers(self, selections: tuple[Selection, ...], power: int) -> Floats:
        """Return the sums of powers of the cells' shares in each product of sets."""
        result = np.ones(())
        for each in selections:
            shares = np.ones(each.cells.size) if each.shares is None else each.shares**power
            owner = np.repeat(np.arange(each.count), each.sizes)
            result = np.multiply.outer(result, np.bincount(owner, shares, each.count))
        return result
