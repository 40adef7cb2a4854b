"""How is one trial of an evaluation run, and how are many? Release, answer, measure; in one process or several.

The noise of a trial must depend on the seed, the mechanism, ε and the trial's number alone. So neither the order of
trials, nor the number of processes, nor an interruption changes a result. Results are computed from the records and are
as private as they are.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp._support.override import override
from spatialdp.errors import ParameterError
from spatialdp.estimates.answers import About
from spatialdp.estimates.decomposition import Decomposition
from spatialdp.evaluation.cache import TrialResults
from spatialdp.evaluation.functions import Answered
from spatialdp.evaluation.metrics import COARSE, EARTH_MOVER, INTERVALS, METRICS, Outcome, earth_movers_distance
from spatialdp.evaluation.truth import TrueCounts, Truth, grid_of_truth
from spatialdp.mechanisms import Mechanism, PreparedRelease
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.laws import Law
from spatialdp.privacy.noise.source import SeededNoise
from spatialdp.privacy.noise.wide import Wide
from spatialdp.privacy.statement import listed
from spatialdp.privacy.unit import Person
from spatialdp.records.points import Points, in_memory
from spatialdp.release import Release
from spatialdp.space.domain import Domain
from spatialdp.space.polygons import read_polygons
from spatialdp.trees.shape import sums
from spatialdp.wording import parameter
from spatialdp.workload import Workload, all_cells

__all__ = ["Experiment", "Trial", "run_trials"]

WHOLE_MAP = -1  # stands for the whole map where results name a workload by its number


@dataclass(frozen=True)
class Trial:
    """One release of an evaluation.

    Attributes
    ----------
    label : str
        Label of the mechanism.
    epsilon : Fraction
    number : int
        Number of the trial among those with this label and ε, counted from 0.
    """

    label: str
    epsilon: Fraction
    number: int

    @property
    def key(self) -> str:
        """Name of the trial in the cache."""
        return json.dumps([self.label, str(self.epsilon), self.number])


class _NoNoise(SeededNoise):
    """A source that adds no noise. Everything that a mechanism chooses by other draws is chosen as with noise."""

    @override
    def laplace(self, scale: Any, size: int | tuple[int, ...]) -> Integers:  # noqa: ARG002 - no noise
        return np.zeros(size, dtype=np.int64)

    @override
    def gaussian(self, variance: Any, size: int | tuple[int, ...]) -> Integers:  # noqa: ARG002 - no noise
        return np.zeros(size, dtype=np.int64)

    @override
    def wide_laplace(self, scale: Any, size: int | tuple[int, ...]) -> Wide:
        return Wide.shifted(self.laplace(scale, size))

    @override
    def wide_gaussian(self, variance: Any, size: int | tuple[int, ...]) -> Wide:
        return Wide.shifted(self.gaussian(variance, size))


@dataclass(frozen=True, eq=False)
class Experiment:
    """Everything that the trials have in common. Each process gets it once.

    The truth depends on the mechanism if persons are counted once in each cell: `truths` has it by the shape of the
    grid, and under None where it is the same for all (`evaluation.truth`).
    """

    mechanisms: dict[str, Mechanism]
    points: Points
    domain: Domain
    workloads: tuple[Workload, ...]
    delta: Fraction
    neighbours: Neighbours
    person: Person | None
    metrics: tuple[str, ...]
    floor_share: float
    level: float
    seed: int
    truths: dict[tuple[int, int] | None, Truth]
    records: int
    persons: int | None = None
    _noise_free: dict[tuple[str, Fraction], list[Floats] | None] = field(default_factory=dict)

    _current: ClassVar[Experiment]  # the experiment of a worker process

    @classmethod
    def prepare(cls, *, epsilons: Sequence[Fraction], **parts: Any) -> Experiment:
        """Check all public parameters first; then count the true answers of all queries, once."""
        blank = cls(truths={}, records=0, **parts)
        for label in blank.mechanisms:
            for epsilon in epsilons:
                blank._prepared(label, epsilon)  # raises an error that says what is wrong with the parameters
        blank = replace(blank, points=in_memory(blank.points, blank.domain))  # each trial would read the files again
        shapes = dict.fromkeys(map(blank._grid_of, blank.mechanisms))
        counts = {shape: blank._true_counts(shape) for shape in shapes}
        truths = {shape: Truth.of(each, blank.workloads, blank.floor_share) for shape, each in counts.items()}
        any_counts = next(iter(counts.values()))
        experiment = replace(blank, truths=truths, records=any_counts.n_records, persons=any_counts.n_persons)
        experiment.__dict__["_counts"] = blank._counts  # kept, because building a counter takes longer than many trials
        return experiment

    def __getstate__(self) -> dict[str, Any]:
        """Leave the counters out when the experiment is sent to a process: most trials do not need them."""
        return {name: value for name, value in self.__dict__.items() if name != "_counts"}

    @cached_property
    def _counts(self) -> dict[Any, TrueCounts]:
        """What is known about the truth, and about what releases of a mechanism keep of it."""
        return {}

    def _grid_of(self, label: str) -> tuple[int, int] | None:
        return grid_of_truth(self.mechanisms[label], self.domain, self.person)

    def _true_counts(self, shape: tuple[int, int] | None) -> TrueCounts:
        if shape not in self._counts:
            self._counts[shape] = TrueCounts.of(self.points, self.domain, self.person, shape)
        return self._counts[shape]

    def _kept_counts(self, label: str) -> TrueCounts:
        """What the releases of a mechanism count, before noise."""
        if self.person is None:
            return self._true_counts(None)
        if label not in self._counts:
            mechanism = self.mechanisms[label]
            self._counts[label] = TrueCounts.kept(self.points, self.domain, self.person, mechanism)
        return self._counts[label]

    def truth_of(self, label: str) -> Truth:
        """Return the truth that releases of a mechanism are compared with."""
        return self.truths[self._grid_of(label)]

    def _prepared(self, label: str, epsilon: Fraction) -> PreparedRelease:
        """Return a mechanism whose public decisions are made, ready to release."""
        prepared = self.mechanisms[label].prepare(
            self.domain,
            epsilon=epsilon,
            delta=self.delta_of(label),
            neighbours=self.neighbours,
            person=self.person,
        )
        if prepared.statement.invariants:
            raise ParameterError(
                f"mechanism {label!r} publishes exact totals ({listed(prepared.statement.invariants)}), so its errors "
                f"cannot be compared with those of mechanisms that protect them; leave {parameter('invariants')} out."
            )
        return prepared

    def delta_of(self, label: str) -> Fraction:
        """Return the δ of a mechanism: 0 if its noise is not Gaussian."""
        return self.delta if self.mechanisms[label].law is Law.GAUSSIAN else Fraction(0)

    def stream(self, trial: Trial) -> tuple[int, ...]:
        """Return the seed of a trial's noise."""
        digest = hashlib.sha256(f"{trial.label} {identity(self.mechanisms[trial.label])}".encode()).digest()
        number = int.from_bytes(digest[:4], "little")
        return (self.seed, number, trial.epsilon.numerator, trial.epsilon.denominator, trial.number)

    def run(self, trial: Trial) -> TrialResults:
        """Make one release and measure all metrics for all workloads."""
        release: Any = self._release(trial, SeededNoise(self.stream(trial)))
        measured: TrialResults = []
        for index, outcome in enumerate(self._outcomes(trial, release)):
            values = ((name, METRICS[name](outcome)) for name in self.metrics if name != EARTH_MOVER)
            measured += [(index, name, value) for name, value in values if value is not None]
        if EARTH_MOVER in self.metrics:
            true_map = self._true_counts(self._grid_of(trial.label)).counter.count(self._coarse)
            maps = (self._coarse_map(release), true_map.astype(np.float64))
            distance = earth_movers_distance(*(each.reshape(COARSE[::-1]) for each in maps))
            measured.append((WHOLE_MAP, EARTH_MOVER, distance))
        return measured

    def _outcomes(self, trial: Trial, release: Release | Answered) -> Iterator[Outcome]:
        """Yield the answers of a release, or of what a function returned, to each workload, and the true answers."""
        truth = self.truth_of(trial.label)
        if isinstance(release, Answered):
            for workload, answers in zip(self.workloads, truth.answers, strict=True):
                found = release.answers(workload)
                yield Outcome(found, answers, found, None, None, None, truth.total, truth.floor)
            return
        even, noise_free = self._with_and_without_noise(trial, release)
        for index, (workload, answers) in enumerate(zip(self.workloads, truth.answers, strict=True)):
            yield Outcome(
                answers=even[index] + _shift(release, workload),
                truth=answers,
                even=even[index],
                noise_free=noise_free[index],
                intervals=self._intervals(release, workload, About.TRUTH),
                noise_intervals=self._intervals(release, workload, About.NOISE),
                records=truth.total,
                floor=truth.floor,
            )

    def _release(self, trial: Trial, noise: SeededNoise) -> Release:
        return self._prepared(trial.label, trial.epsilon).release(self.points, noise=noise)

    def _answers(self, release: Release) -> list[Floats]:
        """Answer every workload; the boxes of all workloads are answered together."""
        return self._by_workload(release, release.estimate.answer(self._boxes))

    def _by_workload(self, release: Release, box_answers: Floats) -> list[Floats]:
        """Divide the answers to all boxes among the workloads, and answer the workloads of polygons."""
        counts = [0 if workload.boxes is None else len(workload) for workload in self.workloads]
        parts = np.split(box_answers, np.cumsum(counts)[:-1])
        return [
            part if workload.boxes is not None else release.answer_polygons(workload.polygons, extrapolate=False)
            for workload, part in zip(self.workloads, parts, strict=True)
        ]

    def _with_and_without_noise(self, trial: Trial, release: Release) -> tuple[list[Floats], list[Floats]]:
        """Return the answers of a release, and the answers of the same structure without noise.

        Both take records to be evenly spread within leaves.

        If the structure is public, one release without noise serves all trials. A tree whose boxes depend on records or
        noise gets the true counts of its own leaves. Anything else that is chosen at random (the block of a Fourier
        histogram) is chosen again, by the same draws.
        """
        key = trial.label, trial.epsilon
        if key not in self._noise_free:
            public = self._prepared(*key).is_foreseeable
            self._noise_free[key] = self._answers(self._release_without_noise(trial)) if public else None
        noise_free = self._noise_free[key]
        unbiased = release.estimate.unbiased
        if noise_free is None and isinstance(unbiased, Decomposition):
            return self._tree_answers(trial.label, release, unbiased)
        answers = self._answers(release)
        return answers, self._answers(self._release_without_noise(trial)) if noise_free is None else noise_free

    def _tree_answers(self, label: str, release: Release, estimate: Decomposition) -> tuple[list[Floats], list[Floats]]:
        counts = sums(estimate.tree, self._kept_counts(label).counter.count(estimate.leaf_boxes()))
        exact = replace(release, estimate=replace(estimate, values=counts, consistent=True))
        noisy, noise_free = estimate.answers(self._boxes, (estimate.values, counts))
        if release.estimate is not estimate:  # a field has answers of its own
            noisy = release.estimate.answer(self._boxes)
        return self._by_workload(release, noisy), self._by_workload(exact, noise_free)

    def _release_without_noise(self, trial: Trial) -> Release:
        return self._release(trial, _NoNoise(self.stream(trial)))

    def _intervals(self, release: Release, workload: Workload, about: About) -> Floats | None:
        measured = any(name in self.metrics for name in INTERVALS)
        if not measured or release.estimate.biased:
            return None
        if workload.boxes is None:
            return release.interval_polygons(workload.polygons, self.level, about=about)
        return release.interval(workload.boxes, self.level, about=about)

    @cached_property
    def _boxes(self) -> Integers:
        """Lattice boxes of all workloads."""
        boxes = [self.domain.boxes(workload.boxes) for workload in self.workloads if workload.boxes is not None]
        return np.concatenate([np.empty((0, 4), dtype=np.int64), *boxes])

    @cached_property
    def _coarse(self) -> Integers:
        """Lattice boxes of the cells on which maps are compared."""
        boxes = self._coarse_cells.boxes
        assert boxes is not None
        return self._whole.boxes(boxes)

    @property
    def _whole(self) -> Domain:
        """The domain without its region."""
        return Domain(self.domain.bounds, self.domain.crs)

    @property
    def _coarse_cells(self) -> Workload:
        return all_cells(self._whole, COARSE)

    def _coarse_map(self, release: Release | Answered) -> Floats:
        if isinstance(release, Answered):
            return release.answers(self._coarse_cells)
        return release.estimate.answer(self._coarse)


def _shift(release: Release, workload: Workload) -> Floats | float:
    """Return how far the answers of a release differ from those that take records to be evenly spread within leaves."""
    estimate, domain = release.estimate, release.domain
    if not estimate.extrapolates:
        return 0.0
    if workload.boxes is None:
        return estimate.polygon_allowance(read_polygons(workload.polygons, domain)).shift
    return estimate.allowance(domain.boxes(workload.boxes)).shift


def identity(mechanism: Mechanism) -> str:
    """Return a text that differs for mechanisms with different parameters."""
    return f"{type(mechanism).__qualname__} {json.dumps(mechanism.parameters(), default=repr, sort_keys=True)}"


# --- many trials -----------------------------------------------------------------------------------


def run_trials(experiment: Experiment, trials: Sequence[Trial], processes: int) -> Iterator[tuple[Trial, TrialResults]]:
    """Yield results as they come; with several processes their order is not fixed.

    This process works too, from the end of the list, so that no time is lost while the worker processes start.
    """
    if processes == 1 or len(trials) < 2:
        for trial in trials:
            yield trial, experiment.run(trial)
        return
    # New interpreters rather than forks: threads of numerical libraries do not survive a fork.
    with ProcessPoolExecutor(
        processes - 1, multiprocessing.get_context("spawn"), initializer=_enter, initargs=(experiment,)
    ) as pool:
        waiting = {pool.submit(_run, trial): trial for trial in trials}
        finished: deque[Future[TrialResults]] = deque()
        for future in waiting:
            future.add_done_callback(finished.append)
        try:
            for future, trial in reversed(list(waiting.items())):
                if not future.cancel():  # a worker has begun this trial: the two ends have met
                    break
                del waiting[future]
                yield trial, experiment.run(trial)
                while finished:
                    if (done := finished.popleft()) in waiting:
                        yield waiting.pop(done), done.result()
            for future in as_completed(list(waiting)):
                yield waiting[future], future.result()
        except BaseException:  # an interruption, or the caller stopped: do not begin the trials that are left
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _enter(experiment: Experiment) -> None:
    Experiment._current = experiment


def _run(trial: Trial) -> TrialResults:
    return Experiment._current.run(trial)
