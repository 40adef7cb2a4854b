"""The evaluator: which mechanism, at which ε, for these queries? Error against ε, as a tidy table.

It compares releases with the truth. Whatever it returns has seen the records and is not covered by any budget: it is
for people who may see them, and to choose a mechanism for sensitive records by it would leak. Choose on public data
like yours.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from spatialdp._support.checks import whole_number
from spatialdp._version import __version__
from spatialdp.errors import ParameterError
from spatialdp.evaluation.cache import TrialCache, TrialResults
from spatialdp.evaluation.metrics import check_metrics
from spatialdp.evaluation.trials import WHOLE_MAP, Experiment, Trial, identity, run_trials
from spatialdp.mechanisms import Flat, Mechanism, Uniform
from spatialdp.privacy.budget import Budget, Number, exact
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.noise.source import SeededNoise
from spatialdp.records.points import LatticePoints, as_points, lattice_points
from spatialdp.space.domain import Domain
from spatialdp.space.polygons import read_polygons
from spatialdp.workload import Workload

if TYPE_CHECKING:
    import pandas

__all__ = ["NOTE", "evaluate", "evaluate_subsamples", "write_frame"]

NOTE = "Private-only: compared with the true records; seeded noise, not private"

FLOOR = 0.001  # of the records: smaller true counts do not make an error relatively larger
BASELINE_SHAPE = (256, 256)

Mechanisms = Mechanism | Sequence[Mechanism] | Mapping[str, Mechanism]
Workloads = Workload | Sequence[Workload]


def evaluate(
    mechanisms: Mechanisms,
    points: Any,
    domain: Domain,
    workload: Workloads,
    epsilons: Number | Sequence[Number],
    trials: int = 10,
    *,
    delta: Number = 0,
    neighbours: str = Neighbours.ADD_REMOVE,
    metrics: Sequence[str] | None = None,
    floor: float = FLOOR,
    level: float = 0.95,
    seed: int = 1,
    dataset: str = "",
    processes: int = 1,
    cache: str | PathLike[str] | None = None,
    progress: bool = False,
) -> pandas.DataFrame:
    """Release many times, answer the workload, and compare with the truth.

    Parameters
    ----------
    mechanisms : Mechanism, sequence of them, or mapping of labels to them
        The baselines `Uniform` and `Flat` are added where they are missing; `Flat` on the grid of the first mechanism
        that has one, else on 256 x 256 cells.
    points : as for `Mechanism.release`
    domain : Domain
    workload : Workload or sequence of them
        With different names.
    epsilons : number or sequence of numbers
    trials : int
        Releases for each mechanism and ε.
    delta, neighbours
        As for `Mechanism.release`; δ is given to Gaussian noise only.
    metrics : sequence of str, optional
        Among the names in `spatialdp.evaluation.metrics.METRICS`, and ``"earth_mover"``. By default all that take no
        time to speak of: without intervals and the earth mover's distance.
    floor : float
        Relative errors divide by the true count, but at least by this share of the records (and by one record).
    level : float
        Of the intervals whose coverage and width are measured.
    seed : int
        Same seed, same results.
    dataset : str
        A name for the records, for tables of several data sets.
    processes : int
        Trials run in so many processes; results are the same. They are new interpreters, so a script must do its work
        under ``if __name__ == "__main__":``.
    cache : path, optional
        File that keeps the results of trials: an interrupted evaluation goes on, and one with more mechanisms, ε or
        trials computes only what is new. One of other records, queries or settings is refused. As private as the
        records.
    progress : bool
        Show a bar on standard error.

    Returns
    -------
    pandas.DataFrame
        One row for each mechanism, ε, trial, workload and metric. `seed` is that of the row's release,
        ``SeededNoise(seed)``; `floor` the least count that relative errors divide by. The earth mover's distance is of
        the map and not of a workload. Rows of metrics that a release does not offer (intervals of biased releases) are
        missing. ``attrs["note"]``, and the column `note`, say that the frame has seen the truth.

    Privacy
    -------
    None. The frame tells the truth about the records; keep it with them.

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
    held = as_points(points, _checked_domain(domain))
    labelled = _with_baselines(_labelled(mechanisms), domain)
    budgets = _budgets(epsilons)
    experiment = Experiment.prepare(
        mechanisms=labelled,
        points=held,
        domain=domain,
        workloads=_workloads(workload, domain),
        delta=Budget(1, delta).delta,
        neighbours=Neighbours.parse(neighbours),
        metrics=check_metrics(metrics),
        floor_share=_share(floor, "floor"),
        level=_share(level, "level"),
        seed=whole_number(seed, "seed", 0, 2**63),
        epsilons=budgets,
    )
    repeats = range(whole_number(trials, "trials", 1, 10**6))
    todo = [Trial(label, epsilon, number) for label in labelled for epsilon in budgets for number in repeats]
    results = _results(experiment, todo, whole_number(processes, "processes", 1, 1024), cache, progress=progress)
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
    seed: int = 1,
    cache: str | PathLike[str] | None = None,
    **options: Any,
) -> pandas.DataFrame:
    """Evaluate on random parts of the records: error against their number.

    Parameters
    ----------
    records : sequence of int
        How many of the records in the domain are taken, without replacement; each part holds the smaller ones.
    cache : path, optional
        One file for each part, with its number in the name.
    mechanisms, points, domain, workload, epsilons, trials, seed, **options
        As for `evaluate`.

    Returns
    -------
    pandas.DataFrame
        As of `evaluate`; the column `records` tells the parts apart.

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

    columns, rows = lattice_points(as_points(points, _checked_domain(domain)), domain)
    wanted = [whole_number(count, "records", 0, 2**62) for count in records]
    if max(wanted, default=0) > columns.size:
        raise ParameterError("records asks for more than there are in the domain; give smaller numbers.")
    order = np.argsort(SeededNoise((seed, 0)).uniform_words(columns.size), kind="stable")
    parts = []
    for count in wanted:
        part = LatticePoints([(columns[order[:count]], rows[order[:count]])], domain)
        kept = None if cache is None else Path(cache).with_stem(f"{Path(cache).stem}-{count}")
        parts.append(evaluate(mechanisms, part, domain, workload, epsilons, trials, seed=seed, cache=kept, **options))
    frame = pandas.concat(parts, ignore_index=True)
    frame.attrs = {"note": NOTE}
    return frame


def write_frame(frame: pandas.DataFrame, path: str | PathLike[str]) -> None:
    """Write the table as CSV, whole or not at all; each row says that it has seen the truth."""
    from spatialdp._support.atomic import write_all

    write_all({Path(path): frame.to_csv(index=False).encode()}, overwrite=True)


# --- what is evaluated -----------------------------------------------------------------------------


def _checked_domain(domain: Any) -> Domain:
    if not isinstance(domain, Domain):
        raise ParameterError(f"domain is a {type(domain).__name__}; give a spatialdp.Domain with public bounds.")
    return domain


def _labelled(mechanisms: Mechanisms) -> dict[str, Mechanism]:
    """Mechanisms by label: the ones given, or their names, with parameters where a name is not enough."""
    if isinstance(mechanisms, Mapping):
        labelled = {str(label): mechanism for label, mechanism in mechanisms.items()}
    else:
        held = [mechanisms] if isinstance(mechanisms, Mechanism) else list(mechanisms)
        names = [getattr(mechanism, "name", "") for mechanism in held]
        labelled = {
            name if names.count(name) == 1 else _described(mechanism): mechanism
            for name, mechanism in zip(names, held, strict=True)
        }
        if len(labelled) < len(held):
            raise ParameterError("a mechanism is given twice; leave one out, or give labels: {label: mechanism, ...}.")
    for mechanism in labelled.values():
        if not isinstance(mechanism, Mechanism):
            raise ParameterError(f"{mechanism!r} is no mechanism; give such as spatialdp.Quadtree(height=8).")
    return labelled


def _described(mechanism: Mechanism) -> str:
    """The name, and the parameters that are not the defaults."""
    if not isinstance(mechanism, Mechanism):
        return repr(mechanism)
    default = {field.name: field.default for field in fields(cast(Any, mechanism)) if field.default is not MISSING}
    given = mechanism.parameters()
    shown = [f"{name}={given[name]}" for name in given if str(given[name]) != str(default.get(name, MISSING))]
    return f"{mechanism.name}({', '.join(shown)})"


def _with_baselines(mechanisms: dict[str, Mechanism], domain: Domain) -> dict[str, Mechanism]:
    found = {type(mechanism) for mechanism in mechanisms.values()}
    added: dict[str, Mechanism] = {}
    if Uniform not in found:
        added["uniform"] = Uniform()
    if Flat not in found:
        # A uniform release has a grid only to take the region at.
        grids = (each.leaf_grid(domain) for each in mechanisms.values() if not isinstance(each, Uniform))
        added["flat"] = Flat(next((grid.shape for grid in grids if grid is not None), BASELINE_SHAPE))
    clash = set(added) & set(mechanisms)
    if clash:
        raise ParameterError(f"the label {clash.pop()!r} is that of a baseline; give your mechanism another one.")
    return mechanisms | added


def _workloads(workload: Workloads, domain: Domain) -> tuple[Workload, ...]:
    held = (workload,) if isinstance(workload, Workload) else tuple(workload)
    if not held or any(not isinstance(part, Workload) for part in held):
        raise ParameterError(
            "workload is no spatialdp.Workload nor a sequence of them; make one, such as workload.random_boxes(domain)."
        )
    names = [part.name for part in held]
    if len(set(names)) < len(names):
        raise ParameterError(f"two workloads have the same name; they are {names}: give different ones.")
    for part in held:
        if part.boxes is not None:
            domain.boxes(part.boxes)  # says what is wrong with them
        else:
            read_polygons(part.polygons, domain)
    return held


def _budgets(epsilons: Number | Sequence[Number]) -> tuple[Fraction, ...]:
    held = epsilons if isinstance(epsilons, Sequence | np.ndarray) else [epsilons]
    budgets = tuple(dict.fromkeys(Budget(epsilon).epsilon for epsilon in held))
    if not budgets:
        raise ParameterError("there is no epsilon; give at least one.")
    return budgets


def _share(value: Any, name: str) -> float:
    share = float(exact(value, name))
    if not 0 <= share < 1:
        raise ParameterError(f"{name} is {value}; it must be at least 0 and below 1.")
    return share


# --- running it ------------------------------------------------------------------------------------


def _results(
    experiment: Experiment, todo: Sequence[Trial], processes: int, cache: str | PathLike[str] | None, *, progress: bool
) -> dict[Trial, TrialResults]:
    if cache is None:
        return dict(_shown(run_trials(experiment, todo, processes), len(todo), progress=progress))
    with TrialCache(cache, _context(experiment), NOTE) as kept:
        key = {trial: f"{identity(experiment.mechanisms[trial.label])} {trial.key}" for trial in todo}
        missing = [trial for trial in todo if key[trial] not in kept.done]
        for trial, measured in _shown(run_trials(experiment, missing, processes), len(missing), progress=progress):
            kept.add(key[trial], measured)
        return {trial: kept.done[key[trial]] for trial in todo}


def _shown(results: Any, total: int, *, progress: bool) -> Any:
    """A bar on standard error; how many trials there are is public."""
    if not progress:
        return results
    import sys

    from tqdm import tqdm

    return tqdm(results, total=total, desc="trials", file=sys.stderr)


def _context(experiment: Experiment) -> str:
    """Digest of everything that trials have in common, the records among it."""
    domain = experiment.domain
    region = b"" if domain.region is None else domain.region.wkb
    digest = hashlib.sha256(f"{__version__} {domain.bounds} {domain.crs} ".encode() + region)
    for positions in lattice_points(experiment.points, domain):
        digest.update(positions.tobytes())
    for workload in experiment.workloads:
        digest.update(workload.digest().encode())
    settings = (
        experiment.delta,
        str(experiment.neighbours),
        experiment.metrics,
        experiment.floor,
        experiment.level,
        experiment.seed,
    )
    digest.update(repr(settings).encode())
    return digest.hexdigest()


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
                    "trial": trial.number,
                    "workload": "map" if workload is None else workload.name,
                    "size": None if workload is None else workload.size,
                    "queries": 0 if workload is None else len(workload),
                    "metric": metric,
                    "value": value,
                    "records": experiment.records,
                    "floor": experiment.floor,
                    "seed": stream,
                    "note": NOTE,
                }
            )
    frame = pandas.DataFrame(rows)
    frame["size"] = frame["size"].astype(float)
    frame.attrs = {"note": NOTE}
    return frame
