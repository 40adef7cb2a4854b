"""Which mechanism, at which ε, answers these queries best? `evaluate` measures errors and returns a tidy table.

The evaluator makes many releases and compares their answers with the truth. Its results are computed from the records
and no budget covers them: they are for people who may see the records. Do not choose a mechanism for sensitive records
by an evaluation on the same records, because the choice leaks. Evaluate on public data that resemble yours.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialdp._support.arrays import Integers
from spatialdp._support.checks import whole_number
from spatialdp._version import __version__
from spatialdp.errors import ParameterError
from spatialdp.evaluation.cache import TrialCache, TrialResults
from spatialdp.evaluation.frames.tables import TableExperiment, table_workloads
from spatialdp.evaluation.frames.zones import ZoneExperiment, level_workloads
from spatialdp.evaluation.functions import check_functions
from spatialdp.evaluation.labels import Mechanisms, labelled, with_baselines
from spatialdp.evaluation.metrics import check_metrics
from spatialdp.evaluation.trials import WHOLE_MAP, Experiment, Trial, identity, run_trials
from spatialdp.privacy.budget import Budget, Number, exact
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.source import SeededNoise
from spatialdp.privacy.unit import Person, unit_of
from spatialdp.records.codes import as_zone_records
from spatialdp.records.persons.unbounded import PersonRecords
from spatialdp.records.points import LatticePoints, Points, as_points, lattice_points
from spatialdp.records.rows.rows import as_rows
from spatialdp.space.domain import Domain
from spatialdp.space.frames.frame import Frame
from spatialdp.space.polygons import read_polygons
from spatialdp.space.questions import require_inside
from spatialdp.space.zones.frame import Zones
from spatialdp.wording import either, parameter, quoted
from spatialdp.workload import Workload

if TYPE_CHECKING:
    import pandas

__all__ = ["NOTE", "NOTE_OF_PERSONS", "evaluate", "evaluate_subsamples", "write_frame"]

NOTE = "Private-only: compared with the true records; seeded noise, not private"
NOTE_OF_PERSONS = f"{NOTE}; errors include what the bound on persons cuts off"

FLOOR = 0.001  # relative errors divide by at least this share of the records

Workloads = Workload | Sequence[Workload]


def evaluate(
    mechanisms: Mechanisms,
    points: Any,
    domain: Domain | Zones | Frame,
    workload: Any,
    epsilons: Number | Sequence[Number],
    trials: int = 10,
    *,
    delta: Number = 0,
    neighbours: str = Neighbours.ADD_REMOVE,
    person: Person | None = None,
    metrics: Sequence[str] | None = None,
    floor: float = FLOOR,
    level: float = 0.95,
    seed: int = 1,
    dataset: str = "",
    processes: int = 1,
    cache: str | PathLike[str] | None = None,
    progress: bool = False,
) -> pandas.DataFrame:
    """Make many releases, answer the workload from each, and compare the answers with the truth.

    Parameters
    ----------
    mechanisms : Mechanism or function, sequence of them, or mapping of labels to them
        A function stands for any other method: ``function(points, domain, epsilon, noise)`` gets the records in the
        domain as an (n, 2) array, the `Domain`, ε as a float and a `SeededNoise`, and returns something with
        ``answer(boxes)``, such as a `Release`. Nothing is known of its noise: it is marked not private, and metrics
        of noise alone and of intervals have no rows.
        The baselines `Uniform` and `Flat` are added if they are missing. `Flat` gets the grid of the first mechanism
        that has one, else 256 × 256 cells.
    points : as for `Mechanism.release`
    domain : Domain, Zones or Frame
    workload : Workload or sequence of them
        Several workloads need different names. With zones: names of levels, or None for all levels; the queries are
        the zones of each level, and no baselines are added. With a frame: a mapping of names to what is asked along
        each axis, such as ``{"thefts": {"zone": "county", "kind": "theft"}}``, as for `TableRelease.answer`, where the
        name of a level stands for all its parts; None for the total, the parts of each axis, and all cells. Boxes must
        be made of whole cells, and no baselines are added.
    epsilons : number or sequence of numbers
    trials : int
        Number of releases for each mechanism and ε.
    delta, neighbours
        As for `Mechanism.release`; only mechanisms with Gaussian noise get δ.
    person : Person, optional
        As for `Mechanism.release`. The truth is then what a release would count if nothing of a person were cut off,
        so errors include what the bound cuts off. With a bound on records: all records that have a person. With shares:
        each person once in all, divided over their records. With a bound on cells: each person once in each cell of the
        mechanism's own grid (for kd-trees, of 4096 x 4096 cells), divided over the records there. So mechanisms with
        different grids have different truths under a bound on cells: compare those with the same grid.
    metrics : sequence of str, optional
        Names of `spatialdp.evaluation.metrics.METRICS`, and ``"earth_mover"``. By default all metrics that are quick to
        compute: those of intervals and the earth mover's distance are left out.
    floor : float
        Relative errors divide by the true count, but at least by this share of all that is counted (and by 1).
    level : float
        Confidence level of the intervals whose coverage and width are measured.
    seed : int
        Same seed, same results.
    dataset : str
        A name for the records, for tables of several data sets.
    processes : int
        Number of processes that run trials; it does not change the results. The processes are new interpreters, so a
        script must call `evaluate` under ``if __name__ == "__main__":``.
    cache : path, optional
        File that keeps the results of trials, so that an interrupted evaluation can go on, and an evaluation with more
        mechanisms, ε or trials computes only the new ones. A file of other records, queries or settings is refused. The
        file is as private as the records, so nobody but its owner may read it.
    progress : bool
        Show a progress bar on standard error.

    Returns
    -------
    pandas.DataFrame
        One row for each mechanism, ε, trial, workload and metric. The column `seed` holds the seed of the row's
        release, ``SeededNoise(seed)``; `floor` holds the least count that relative errors divide by; `unit` and `bound`
        say whose privacy was protected and what was bounded; `records` and, if persons are the unit, `persons` hold
        their numbers in the domain (of records, of those that have a person). The earth mover's
        distance belongs to the map and not to a workload. Metrics that a release does not have (intervals of biased
        releases) have no rows. ``attrs["note"]`` and the column `note` say that the table is computed from the true
        records.

    Privacy
    -------
    None. The table is computed from the true records; keep it as private as they are.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> domain = sdp.Domain((0, 0, 1, 1))
    >>> points = sdp.workload.random_boxes(domain, 100).boxes[:, :2]
    >>> boxes = sdp.workload.random_boxes(domain, 50, seed=2)
    >>> frame = sdp.evaluate(sdp.Quadtree(4), points, domain, boxes, [0.1, 1], trials=2)
    >>> sorted(frame["mechanism"].unique())
    ['flat', 'quadtree', 'uniform']
    >>> frame.attrs["note"]
    'Private-only: compared with the true records; seeded noise, not private'
    """
    compared, budgets = labelled(mechanisms), _budgets(epsilons)
    number_of_processes = whole_number(processes, "processes", 1, 1024)
    check_functions(compared, number_of_processes, cached=cache is not None)
    kind: type[Experiment] = Experiment
    records: Any
    queries: Any
    if isinstance(domain, Zones):
        _check_cache(cache)
        kind, queries = ZoneExperiment, level_workloads(domain, workload)
        records = as_zone_records(points, domain, person)
    elif isinstance(domain, Frame):
        _check_cache(cache)
        kind, queries = TableExperiment, table_workloads(domain, workload)
        records = as_rows(points, domain, person)
    else:
        compared = with_baselines(compared, _checked_domain(domain))
        records, queries = as_points(points, domain, person), _workloads(workload, domain)
    experiment = kind.prepare(
        mechanisms=compared,
        points=records,
        domain=domain,
        workloads=queries,
        delta=Budget(1, delta).delta,
        neighbours=Neighbours.parse(neighbours),
        person=person,
        metrics=check_metrics(metrics),
        floor_share=_share(floor, "floor"),
        level=_share(level, "level"),
        seed=whole_number(seed, "seed", 0, 2**63),
        epsilons=budgets,
    )
    numbers = range(whole_number(trials, "trials", 1, 10**6))
    todo = [Trial(label, epsilon, number) for label in compared for epsilon in budgets for number in numbers]
    results = _results(experiment, todo, number_of_processes, cache, progress=progress)
    return _frame(experiment, todo, results, dataset)


def evaluate_subsamples(
    mechanisms: Mechanisms,
    points: Any,
    domain: Domain,
    workload: Workloads,
    epsilons: Number | Sequence[Number],
    trials: int = 10,
    *,
    records: Sequence[int],
    person: Person | None = None,
    seed: int = 1,
    cache: str | PathLike[str] | None = None,
    **options: Any,
) -> pandas.DataFrame:
    """Evaluate on random parts of the records, to see how errors depend on the number of records.

    Parameters
    ----------
    records : sequence of int
        Sizes of the parts. Records in the domain are drawn without replacement; each part contains the smaller parts.
        With `person`, sizes are numbers of persons, who are drawn with all of their records.
    person : Person, optional
        As for `evaluate`.
    cache : path, optional
        Each part has a file of its own, with the size of the part in the name.
    mechanisms, points, domain, workload, epsilons, trials, seed, **options
        As for `evaluate`.

    Returns
    -------
    pandas.DataFrame
        As for `evaluate`; the column `records` holds the number of records in the part.

    Privacy
    -------
    None, as for `evaluate`.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> domain = sdp.Domain((0, 0, 1, 1))
    >>> points = sdp.workload.random_boxes(domain, 100).boxes[:, :2]
    >>> boxes = sdp.workload.random_boxes(domain, 10)
    >>> frame = evaluate_subsamples(sdp.Flat((8, 8)), points, domain, boxes, 1, 2, records=[10, 50])
    >>> sorted(frame["records"].unique().tolist())
    [10, 50]
    """
    import pandas

    subject = as_points(points, _checked_domain(domain), person)
    sizes = [whole_number(count, "records", 0, 2**62) for count in records]
    parts = []
    for count, part in zip(sizes, _parts(subject, domain, person, sizes, seed), strict=True):
        part_cache = None if cache is None else Path(cache).with_stem(f"{Path(cache).stem}-{count}")
        settings = {"person": person, "seed": seed, "cache": part_cache, **options}
        parts.append(evaluate(mechanisms, part, domain, workload, epsilons, trials, **settings))
    frame = pandas.concat(parts, ignore_index=True)
    frame.attrs = {"note": _note(person)}
    return frame


def _parts(points: Points, domain: Domain, person: Person | None, sizes: list[int], seed: int) -> Iterator[Points]:
    """Yield random parts of the points: so many records, or so many persons with all of their records."""
    if person is None:
        columns, rows = lattice_points(points, domain)
        order = _shuffled(columns.size, sizes, seed, "records")
        for count in sizes:
            yield LatticePoints([(columns[order[:count]], rows[order[:count]])], domain)
        return
    records = PersonRecords.of(points, domain)
    place = np.argsort(_shuffled(records.n_persons, sizes, seed, "persons"))
    for count in sizes:
        yield records.some(place[records.persons] < count).points()


def _shuffled(number: int, sizes: list[int], seed: int, what: str) -> Integers:
    """Return the numbers below `number` in a random order."""
    if max(sizes, default=0) > number:
        raise ParameterError(
            f"{parameter('records')} holds a size above the number of {what} in the domain; give sizes that are not "
            "larger."
        )
    return np.argsort(SeededNoise((seed, 0)).uniform_words(number), kind="stable")


def _note(person: Person | None) -> str:
    return NOTE if person is None else NOTE_OF_PERSONS


def write_frame(frame: pandas.DataFrame, path: str | PathLike[str]) -> None:
    """Write the table of an evaluation as CSV, completely or not at all; each row carries the note.

    The table is as private as the records: nobody but its owner may read the file.
    """
    from spatialdp._support.atomic import write_all

    write_all({Path(path): frame.to_csv(index=False).encode()}, overwrite=True, private=True)


def _check_cache(cache: Any) -> None:
    if cache is not None:
        raise ParameterError(
            f"{parameter('cache')} keeps trials of grids and trees, but this is one of zones or tables; leave it out."
        )


# --- checking arguments ----------------------------------------------------------------------------


def _checked_domain(domain: Any) -> Domain:
    if not isinstance(domain, Domain):
        raise ParameterError(f"domain is a {type(domain).__name__}; give a spatialdp.Domain with public bounds.")
    return domain


def _workloads(workload: Workloads, domain: Domain) -> tuple[Workload, ...]:
    workloads = (workload,) if isinstance(workload, Workload) else tuple(workload)
    if not workloads or any(not isinstance(each, Workload) for each in workloads):
        raise ParameterError(
            "workload is not a spatialdp.Workload or a sequence of them; make one, for instance with "
            "workload.random_boxes(domain)."
        )
    names = [each.name for each in workloads]
    if len(set(names)) < len(names):
        raise ParameterError(
            f"the workloads are named {quoted(names)}; the names must differ. "
            f"{either('Rename one of them', 'Leave one of them out, or rename its file')}."
        )
    for each in workloads:
        if each.boxes is not None:
            require_inside(each.boxes, domain, f"workload {each.name!r}")
        else:
            read_polygons(each.polygons, domain)
    return workloads


def _budgets(epsilons: Number | Sequence[Number]) -> tuple[Fraction, ...]:
    numbers = epsilons if isinstance(epsilons, Sequence | np.ndarray) else [epsilons]
    budgets = tuple(dict.fromkeys(Budget(epsilon).epsilon for epsilon in numbers))
    if not budgets:
        raise ParameterError(f"{parameter('epsilons')} holds no epsilon; give at least one.")
    return budgets


def _share(value: Any, name: str) -> float:
    share = float(exact(value, name))
    if not 0 <= share < 1:
        raise ParameterError(f"{parameter(name)} is {value}; it must be at least 0 and below 1.")
    return share


# --- running trials --------------------------------------------------------------------------------


def _results(
    experiment: Experiment, todo: Sequence[Trial], processes: int, cache: str | PathLike[str] | None, *, progress: bool
) -> dict[Trial, TrialResults]:
    if cache is None:
        return dict(_with_bar(run_trials(experiment, todo, processes), len(todo), progress=progress))
    with TrialCache(cache, _context(experiment), _note(experiment.person)) as stored:
        key = {trial: f"{identity(experiment.mechanisms[trial.label])} {trial.key}" for trial in todo}
        missing = [trial for trial in todo if key[trial] not in stored.done]
        for trial, measured in _with_bar(run_trials(experiment, missing, processes), len(missing), progress=progress):
            stored.add(key[trial], measured)
        return {trial: stored.done[key[trial]] for trial in todo}


def _with_bar(results: Any, total: int, *, progress: bool) -> Any:
    """Show a progress bar on standard error while results come; the number of trials is public."""
    if not progress:
        return results
    import sys

    from tqdm import tqdm

    return tqdm(results, total=total, desc="trials", file=sys.stderr)


def _context(experiment: Experiment) -> str:
    """Return a digest of everything that all trials share, records included: a cache belongs to one digest."""
    domain = experiment.domain
    region = b"" if domain.region is None else domain.region.wkb
    digest = hashlib.sha256(f"{__version__} {domain.bounds} {domain.crs} {domain.region_cells} ".encode() + region)
    for part in _contents(experiment):
        digest.update(part)
    for workload in experiment.workloads:
        digest.update(workload.digest().encode())
    settings = (
        experiment.delta,
        str(experiment.neighbours),
        experiment.metrics,
        experiment.floor_share,
        experiment.level,
        experiment.seed,
        experiment.person,
    )
    digest.update(repr(settings).encode())
    return digest.hexdigest()


def _contents(experiment: Experiment) -> Iterator[bytes]:
    """Yield everything about the records that results depend on: their places and, if persons are the unit, persons."""
    if experiment.person is None:
        yield from (positions.tobytes() for positions in lattice_points(experiment.points, experiment.domain))
        return
    import pyarrow as pa

    records = PersonRecords.of(experiment.points, experiment.domain)
    yield from (records.columns.tobytes(), records.rows.tobytes())
    yield pa.record_batch([records.names], names=["person"]).serialize().to_pybytes()


def _frame(
    experiment: Experiment, todo: Sequence[Trial], results: Mapping[Trial, TrialResults], dataset: str
) -> pandas.DataFrame:
    import pandas

    rows = []
    for trial in todo:
        stream = str(experiment.stream(trial))
        private = experiment.mechanisms[trial.label].private
        for index, metric, value in results[trial]:
            workload = None if index == WHOLE_MAP else experiment.workloads[index]
            rows.append(
                {
                    "dataset": dataset,
                    "mechanism": trial.label,
                    "private_by_design": private,
                    "epsilon": float(trial.epsilon),
                    "delta": float(experiment.delta_of(trial.label)),
                    "neighbours": str(experiment.neighbours),
                    "unit": unit_of(experiment.person),
                    "bound": "" if experiment.person is None else experiment.person.in_short(),
                    "trial": trial.number,
                    "workload": "map" if workload is None else workload.name,
                    "size": None if workload is None else workload.size,
                    "queries": 0 if workload is None else len(workload),
                    "metric": metric,
                    "value": value,
                    "records": experiment.records,
                    "persons": experiment.persons,
                    "floor": experiment.truth_of(trial.label).floor,
                    "seed": stream,
                    "note": _note(experiment.person),
                }
            )
    frame = pandas.DataFrame(rows)
    frame[["size", "persons"]] = frame[["size", "persons"]].astype(float)
    frame.attrs = {"note": _note(experiment.person)}
    return frame
