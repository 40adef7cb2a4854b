"""How are months released one by one, so that running totals stay accurate? With correlated noise, fixed beforehand.

`Running` fixes the number of months and the terms; `RunningSeries` takes the records of each month and gives a release.
A month is in one measurement with every later one, so the measurement of a month needs the counts of the months before.
The series keeps no records and no counts for that. It keeps the **noise** of each measurement. With the noise, the
published measurements tell the exact counts of all months. So the state of a series is as secret as the records, in
memory and in its file; whoever has it can take the noise out of everything that was published. Delete it after the last
month. See ``docs/design/running.md``.

Each month's measurement must be published once only: a series that is loaded from an older state and given a month
again would draw new noise for it, and two noisy copies of one number cost twice. Save the state before you publish.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp._support.atomic import write_all
from spatialdp._support.checks import whole_number
from spatialdp._support.json_values import parsed, whole
from spatialdp._version import __version__
from spatialdp.errors import BudgetError, FileFormatError, ParameterError
from spatialdp.mechanisms.prepared import checked_noise
from spatialdp.privacy.budget import Budget, Number
from spatialdp.privacy.ledger.account import Spender
from spatialdp.privacy.neighbours import Neighbours, Sensitivity
from spatialdp.privacy.noise.laws import Law, NoiseLaw, calibrate, spendable
from spatialdp.privacy.noise.source import WIDEST, Noise, is_system_noise
from spatialdp.privacy.noise.stated import stated
from spatialdp.privacy.payment import PaidNoise
from spatialdp.privacy.receipt import Receipt
from spatialdp.privacy.statement import Privacy
from spatialdp.records.formats.base import forgetful
from spatialdp.records.rows.rows import as_rows, count_rows
from spatialdp.running_release import RunningRelease
from spatialdp.space.frames.frame import Frame
from spatialdp.strategies.frames.square_root import LONGEST_HORIZON, SquareRoot
from spatialdp.wording import parameter

__all__ = ["Running", "RunningSeries"]

_STEP = "running totals, by the square root of summation"
_FORMAT = "spatialdp-running-secret"
_MOST_STATE = 2**28  # numbers that a state holds: months times cells


@dataclass(frozen=True)
class Running:
    """Counts of one month after the other, whose running totals stay accurate.

    Parameters
    ----------
    horizon : int
        Number of months, or of whatever comes one after the other. It is fixed beforehand: after the last one, nothing
        more can be released for this budget.

    Notes
    -----
    If a record is in one month only, single months at ε each cost ε together, and are better for single months. But the
    error of their sum grows with the number of months. Here the variance of the running total of T months is about
    (ln T / π)² times that of a single count, and that of a single month is two to four times as large. Noise is
    Gaussian. See ``docs/design/running.md``.

    Privacy
    -------
    Neighbours differ in one record, in one cell of one month. It moves the measurements of its month and of all later
    ones by the entries of a column of a public matrix of whole numbers; the square of the L2 norm is at most that of
    the first column, exactly, and twice that if records are replaced. The discrete Gaussian noise is calibrated to it
    for the whole horizon, as ρ-zCDP. All releases of all months together cost ε once, also if later records depend on
    earlier releases: each measurement has noise of its own. So an account pays the whole before the first month: paid
    month by month, each at its own worst case, the months would cost more than together. A record that occurs in
    several months counts in each, and so does a person: bounds on persons are not offered here. The state of the series
    is secret; see `RunningSeries`. The argument is in ``docs/design/running.md``;
    ``tests/mechanisms/running/test_series.py`` computes the sensitivity by brute force and replays neighbours.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((2, 2)))
    >>> series = sdp.Running(horizon=12).start(frame, epsilon=1, delta=1e-6)
    >>> january = series.add([[0.1, 0.1], [0.9, 0.9]])
    >>> february = series.add([[0.1, 0.2]])
    >>> february.months, series.left
    (2, 10)
    """

    name: ClassVar[str] = "running"

    horizon: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "horizon", whole_number(self.horizon, "horizon", 1, LONGEST_HORIZON))

    def start(
        self,
        frame: Frame,
        *,
        epsilon: Number,
        delta: Number,
        neighbours: str = Neighbours.ADD_REMOVE,
        account: Spender | None = None,
    ) -> RunningSeries:
        """Decide everything public, and return the series that takes the months.

        Parameters
        ----------
        frame : Frame
            Public; the same for all months. Only its cells are counted.
        epsilon, delta
            The budget of all months together.
        neighbours : {"add-remove", "replace"}
        account : Account or Prepaid, optional
            The account of a `Ledger` that pays for all months at once, before the noise of the first one is drawn. The
            secret file keeps the receipt, so that a series that is resumed does not pay again.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((2, 2)))
        >>> print(sdp.Running(horizon=12).start(frame, epsilon=1, delta=1e-6).statement)
        ε = 1, δ = 1e-06 (add-remove one record), running, spatialdp ...
        """
        if not isinstance(frame, Frame):
            raise ParameterError(
                f"running was given a {type(frame).__name__} as its public frame, but needs a spatialdp.Frame; give "
                "one, such as Frame(domain.grid((10, 10)))."
            )
        if frame.n_cells * self.horizon > _MOST_STATE:
            raise ParameterError(
                f"{self.horizon} months of {frame.n_cells:,} cells are more than {_MOST_STATE:,} numbers, which the "
                "series would keep; take fewer cells or months."
            )
        budget, relation = Budget(epsilon, delta), Neighbours.parse(neighbours, "neighbours")
        cost, root = spendable(Law.GAUSSIAN, budget), SquareRoot(self.horizon)
        law = _law(root, cost, relation)
        return RunningSeries(frame, root, law, self._statement(budget, relation, cost, law), account)

    def _statement(self, budget: Budget, neighbours: Neighbours, cost: Fraction, law: NoiseLaw) -> Privacy:
        return Privacy(
            epsilon=budget.epsilon,
            delta=budget.delta,
            neighbours=str(neighbours),
            unit="record",
            mechanism=self.name,
            parameters={"horizon": self.horizon},
            currency="rho",
            budget={_STEP: cost},
            private=True,
            version=__version__,
            noise=stated({_STEP: law}),
        )


def _law(root: SquareRoot, cost: Fraction, neighbours: Neighbours) -> NoiseLaw:
    """Return the noise of each measurement, in whole numbers of 2^-bits."""
    times = 1 if neighbours is Neighbours.ADD_REMOVE else 2
    sensitivity = Sensitivity(times * root.norm, times * root.norm_squared, 2**root.bits)
    law = calibrate(Law.GAUSSIAN, cost, sensitivity)
    if law.parameter > WIDEST**2:
        raise BudgetError(
            f"the budget requires noise with a standard deviation of {float(law.parameter) ** 0.5 / 2**root.bits:.3g}, "
            f"which running totals do not draw; give a larger {parameter('epsilon')}."
        )
    return law


class RunningSeries:
    """What the curator holds between months: **as secret as the records**.

    `Running.start` makes it. It holds the published measurements and their noise, which together tell the exact counts
    of all months. Never publish it, nor the file that `save` writes.

    Attributes
    ----------
    frame : Frame
    statement : Privacy
        The promise of all months together.

    Privacy
    -------
    The object shows nothing of what it holds, and cannot be copied. It keeps no records. Save it before you publish a
    month, and never add a month to an older state a second time: that would publish the same counts with new noise.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((2, 2)))
    >>> sdp.Running(horizon=12).start(frame, epsilon=1, delta=1e-6)
    RunningSeries(<secret>, 12 of 12 months left)
    """

    def __init__(
        self, frame: Frame, root: SquareRoot, law: NoiseLaw, statement: Privacy, account: Spender | None = None
    ) -> None:
        self.frame, self.statement = frame, statement
        self._root, self._law, self._account = root, law, account
        self._published: list[Integers] = []  # the measurements, in whole numbers of 2^-bits
        self._noise: list[Integers] = []  # secret
        self._process, self._lock = os.getpid(), threading.Lock()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a series cannot be copied or sent to another process: both would release the same month")

    def __repr__(self) -> str:
        return f"RunningSeries(<secret>, {self.left} of {self._root.horizon} months left)"

    @property
    def left(self) -> int:
        """Number of months that can still be added."""
        return self._root.horizon - len(self._published)

    def add(self, records: Any, *, noise: Noise | None = None) -> RunningRelease:
        """Release the next month.

        Parameters
        ----------
        records : Rows, Points or array-like
            The records of this month.
        noise : Noise, optional
            `SystemNoise` by default. A `SeededNoise` makes the release reproducible and not private, and is refused if
            an account pays.

        Returns
        -------
        RunningRelease
            The totals and months up to this one.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((2, 2)))
        >>> sdp.Running(horizon=12).start(frame, epsilon=1, delta=1e-6).add([[0.5, 0.5]])
        <RunningRelease of month 1 of 12: ε = 1, δ = 1e-06 (add-remove one record), running, spatialdp ...>
        """
        if self._process != os.getpid():
            raise ParameterError(
                "the series was started or resumed in another process, which may release the same month; add the month "
                "there, or save it there and resume it here."
            )
        with self._lock:  # two months at once would be measured as one and the same
            return self._add(records, checked_noise(noise))

    @forgetful
    def _add(self, records: Any, noise: Noise) -> RunningRelease:
        if not self.left:
            raise BudgetError(
                f"all {self._root.horizon} months have been released, and the budget was divided over these; start a "
                "new series, which costs its own budget."
            )
        source = self._paying(noise)
        rows = as_rows(records, self.frame)
        months = [*self._past_counts(), count_rows(rows, self.frame)]
        exact = self._measurement(months)
        outcome = self._law.add_to(exact, source)
        if isinstance(source, PaidNoise):
            self.statement = replace(self.statement, ledger=source.pay())
        elif not is_system_noise(source):
            self.statement = replace(self.statement, private=False)
        published = np.rint(outcome * 2.0**self._root.bits).astype(np.int64)
        self._published, self._noise = [*self._published, published], [*self._noise, published - exact]
        return self._release()

    def _paying(self, source: Noise) -> Noise:
        """Return the noise of the next month; that of the first one has to be paid for, with all months to come."""
        if self._account is not None and not self._published:
            return PaidNoise(source, self._account, self.statement)
        if self._account is not None and self.statement.ledger is None:
            raise ParameterError(
                "the first month of this series was released without an account, which cannot pay afterwards; leave "
                f"{parameter('account')} out, or start a new series, which costs its own budget."
            )
        if self.statement.ledger is not None and not is_system_noise(source):
            raise ParameterError(
                f"{parameter('noise')} is a {type(source).__name__}, but an account paid for this series, and only the "
                f"system's own noise keeps it private; leave {parameter('noise')} out."
            )
        return source

    def _measurement(self, months: list[Integers]) -> Integers:
        """Return the exact measurement of the last of some months: the sum of all with the entries of a row of F."""
        exact = np.zeros(self.frame.shape, dtype=np.int64)
        for entry, counts in zip(self._root.entries.tolist(), reversed(months), strict=False):
            exact += entry * counts
        return exact

    def _past_counts(self) -> list[Integers]:
        """Return the exact counts of the months so far, by substitution; private, and forgotten after use."""
        months: list[Integers] = []
        for published, noise in zip(self._published, self._noise, strict=True):
            months.append(np.zeros(self.frame.shape, dtype=np.int64))
            rest = published - noise - self._measurement(months)
            months[-1] = rest // int(self._root.entries[0])
        return months

    def _release(self) -> RunningRelease:
        measured: Floats = np.stack(self._published) / 2.0**self._root.bits
        measured.setflags(write=False)
        law = self._law
        return RunningRelease(self.frame, self.statement, self._root, measured, law.variance, law.kurtosis)

    # --- the secret file ---------------------------------------------------------------------------

    @forgetful
    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the state to a **secret** file that only its owner may read; the name must end in ``.secret``.

        Examples
        --------
        >>> import tempfile, pathlib, spatialdp as sdp
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "year.secret"
        >>> frame = sdp.Frame(sdp.Domain((0, 0, 1, 1)).grid((2, 2)))
        >>> series = sdp.Running(horizon=12).start(frame, epsilon=1, delta=1e-6)
        >>> _ = series.add([[0.5, 0.5]])
        >>> series.save(path)
        >>> series.resume(path)
        RunningSeries(<secret>, 11 of 12 months left)
        """
        target = _secret(path)
        receipt = self.statement.ledger
        header = {
            "format": _FORMAT,
            **self._terms(),
            "months": len(self._published),
            "private": self.statement.private,
            **({} if receipt is None else {"ledger": receipt.to_json()}),
        }
        shape = (len(self._published), *self.frame.shape)
        buffer = io.BytesIO()
        published, noise = (np.array(each, dtype=np.int64).reshape(shape) for each in (self._published, self._noise))
        text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
        np.savez(buffer, header=text, published=published, noise=noise)
        write_all({target: buffer.getvalue()}, overwrite=overwrite, private=True)

    @forgetful
    def resume(self, path: str | os.PathLike[str]) -> RunningSeries:
        """Return the series whose state a secret file holds; it must have been started on the same terms as this one.

        Call it on a series that was started with the same frame and budget: ``Running(horizon=12).start(...)``. A file
        of other terms, or of another frame, is refused.
        """
        target = _secret(path)
        series = RunningSeries(self.frame, self._root, self._law, self.statement, self._account)
        try:
            with np.load(io.BytesIO(target.read_bytes()), allow_pickle=False) as state:
                header = parsed(state["header"].tobytes())
                published, noise = state["published"], state["noise"]
            series._take(header, published, noise)
        except (FileFormatError, OSError):
            raise
        except Exception:  # numpy raises many kinds; a message could quote the state
            failure = FileFormatError(
                f"{target} holds no state of this series, or was damaged; give the file that `save` wrote, to a series "
                "that was started with the same frame, horizon and budget."
            )
        else:
            return series
        raise failure

    def _take(self, header: Mapping[str, Any], published: Integers, noise: Integers) -> None:
        months = whole(header["months"], 0, self._root.horizon)
        wanted = {"format": _FORMAT, **self._terms()}
        shape = (months, *self.frame.shape)
        same = all(header[name] == value for name, value in wanted.items())
        sound = all(each.shape == shape and each.dtype == np.int64 for each in (published, noise))
        if not same or not sound or not isinstance(header["private"], bool):
            raise ValueError("the state of another series")
        self._published, self._noise = list(published), list(noise)
        receipt = Receipt.from_json(header["ledger"]) if "ledger" in header else None
        private = header["private"] and self.statement.private
        if receipt is not None and not (months and private):
            raise ValueError("a receipt for what was not released")
        self.statement = replace(self.statement, private=private, ledger=receipt)

    def _terms(self) -> dict[str, Any]:
        """Return what must be the same in a file and in the series that takes it up."""
        return {
            "frame": f"{self.frame!r} {self.frame.domain!r}",
            "labels": [_digest(axis.labels()) for axis in self.frame.axes.values()],
            "horizon": self._root.horizon,
            "bits": self._root.bits,
            "law": str(self._law.parameter),
        }


def _digest(labels: list[str]) -> str:
    return hashlib.sha256(json.dumps(labels).encode()).hexdigest()


def _secret(path: str | os.PathLike[str]) -> Path:
    target = Path(path)
    if target.suffix != ".secret":
        raise ParameterError(
            f"{target.name} does not end in .secret; the state of a series tells the exact counts of all months, so "
            "its name must say so."
        )
    return target
