"""Which method, at which ε, answers these queries best? `spatialdp evaluate` writes a table, figures and a ranking.

Everything that the command prints and writes is computed from the true records: it is for people who may see them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

import click

from spatialdp._support.override import override
from spatialdp.cli.options.frame import ZONES_FLAGS, check_frame, optional_space_options
from spatialdp.cli.options.output import folder_options, quiet_option
from spatialdp.cli.options.points import PointsFile, points_options
from spatialdp.cli.options.terms import delta_option, neighbours_option, person_option
from spatialdp.cli.options.values import Exact

if TYPE_CHECKING:
    from fractions import Fraction

    from spatialdp.mechanisms import Mechanism
    from spatialdp.space.domain import Domain
    from spatialdp.space.zones.frame import Zones
    from spatialdp.workload import Workload

__all__ = ["command"]

T = TypeVar("T")

METHODS = ("quadtree:height=8", "hierarchy:shape=256,256", "tailored:shape=256,256", "kd-tree:height=6")

ZONE_METHODS = ("zone-tree", "zone-tree:budget=leaves")

# Names of workloads on the command line, and the functions of spatialdp.workload that make them.
WORKLOADS = {
    "random": "random_boxes",
    "sized": "sized_boxes",
    "area": "area_boxes",
    "squares": "squares",
    "cells": "all_cells",
    "prefixes": "prefix_boxes",
    "slabs": "slabs",
}


class _List(click.ParamType):  # type: ignore[type-arg]  # generic only in recent versions
    """A click type for values with commas between them."""

    def __init__(self, read: Callable[[str], Any], name: str) -> None:
        self.name = name
        self._read = read

    @override
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return tuple(self._read(part.strip()) for part in value.split(","))
        except (ValueError, ArithmeticError):
            self.fail(f"{value!r} was given; {self.name} with commas between them are required.", param, ctx)


@click.command("evaluate")
@points_options
@optional_space_options
@click.option(
    "-m",
    "--method",
    "methods",
    multiple=True,
    metavar="[LABEL=]NAME[:PARAMETER=VALUE]...",
    help="A method and its parameters, as `spatialdp methods` lists them; may be repeated. The baselines uniform and "
    f"flat are always added, but not with zones.  [default: {', '.join(METHODS)}; "
    f"with zones {', '.join(ZONE_METHODS)}]",
)
@click.option(
    "-w",
    "--workload",
    "workloads",
    multiple=True,
    metavar="NAME[:PARAMETER=VALUE]...",
    help=f"Queries to evaluate: {', '.join(WORKLOADS)}; may be repeated. With zones: names of levels. "
    "[default: random, if no other queries are given; with zones all levels]",
)
@click.option(
    "--boxes", multiple=True, type=click.Path(path_type=Path), help="File of boxes to evaluate; may be repeated."
)
@click.option(
    "--polygons", multiple=True, type=click.Path(path_type=Path), help="File of polygons to evaluate; may be repeated."
)
@click.option(
    "--epsilons", type=_List(str, "numbers"), default="0.01,0.1,1", show_default=True, help="Privacy budgets ε."
)
@delta_option
@neighbours_option
@person_option
@click.option(
    "--trials", type=click.IntRange(1), default=10, show_default=True, help="Number of releases for each method and ε."
)
@click.option(
    "--metric", "metrics", multiple=True, help="Metric to measure; may be repeated. By default all quick ones."
)
@click.option("--show", default="rmse", show_default=True, help="Metric of the figures and the ranking.")
@click.option(
    "--floor",
    type=float,
    default=0.001,
    show_default=True,
    help="Relative errors divide by the true count, but at least by this share of all that is counted.",
)
@click.option(
    "--level", type=float, default=0.95, show_default=True, help="Confidence level of the intervals that are measured."
)
@click.option(
    "--records",
    type=_List(int, "numbers"),
    help="Evaluate on random parts of the records with these sizes; with --person, on so many persons with all of "
    "their records.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=1,
    show_default=True,
    help="Seed of the noise; the same seed gives the same results.",
)
@click.option("--processes", type=click.IntRange(1), default=1, show_default=True, help="Number of processes.")
@click.option(
    "--cache",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File that keeps the results of trials, so that an interrupted evaluation can go on.",
)
@folder_options("errors.csv", "ranking.md", "errors.png", "sizes.png", "records.png")
@quiet_option
def command(
    points: PointsFile,
    frame: Domain | Zones | None,
    methods: Sequence[str],
    workloads: Sequence[str],
    boxes: Sequence[Path],
    polygons: Sequence[Path],
    epsilons: Sequence[str],
    folder: Path,
    metrics: Sequence[str],
    show: str,
    records: Sequence[int] | None,
    quiet: bool,
    **options: Any,
) -> None:
    r"""Compare the errors of methods, at each ε, for your queries.

    POINTS is a file of points, as for `spatialdp release`, or the name of a data set of spatialdp: highways-us,
    chattanooga, salt-lake-city, auckland or liege, each with its own public domain. With --zones or --h3, the queries
    are the zones of each level.

    The output is computed from the true records, with seeded noise: it is not private, and only people who may see the
    records may see it. Do not choose a method for sensitive records by their own evaluation, because the choice leaks.
    With --person, releases are compared with what they would count if nothing of a person were cut off: errors include
    what the bound cuts off.

    \b
    Examples:
      spatialdp evaluate auckland --epsilons 0.1,1 --trials 5
      spatialdp evaluate homes.csv --x lon --y lat --bounds -85.6,34.9,-84.9,35.5 --crs EPSG:4326 \
          -m quadtree:height=7 -m "plain=quadtree:height=7:budget=uniform:consistent=no" \
          -w random:count=2000 -w sized:width=0.1:height=0.05 --processes 2 --cache trials.jsonl
      spatialdp evaluate highways-us --zones counties.parquet --levels state,county \
          -m zone-tree -m zone-tree:budget=leaves -w county
    """
    import matplotlib

    matplotlib.use("Agg")
    from spatialdp.evaluation.evaluate import evaluate, evaluate_subsamples, write_frame
    from spatialdp.evaluation.metrics import DEFAULT_METRICS
    from spatialdp.space.domain import Domain

    zones = None if frame is None or isinstance(frame, Domain) else frame
    methods = methods or (METHODS if zones is None else ZONE_METHODS)
    mechanisms = dict(_mechanism(text) for text in methods)
    if len(mechanisms) < len(methods):
        raise click.UsageError(
            "two methods have the same label; labels must differ. Give one of them another label: LABEL=NAME:..."
        )
    if zones is not None:
        _check_zones(zones, mechanisms, points, [*boxes, *polygons, *(["records"] if records else [])])
    true_records, area, name = _records(points, frame)
    queries = workloads or None if zones is not None else _queries(workloads, boxes, polygons, area, options["seed"])
    all_metrics = tuple(dict.fromkeys((*(metrics or DEFAULT_METRICS), show)))
    settings = {**options, "metrics": all_metrics, "dataset": name, "progress": not quiet}
    subject: Any = mechanisms, true_records, area, queries, [_epsilon(text) for text in epsilons]
    errors = evaluate_subsamples(*subject, records=records, **settings) if records else evaluate(*subject, **settings)
    folder.mkdir(parents=True, exist_ok=True)
    write_frame(errors, folder / "errors.csv")
    names = ["errors.csv", *_figures(errors, show, folder), "ranking.md"]
    click.echo(_ranking(errors, show, folder))
    click.echo(f"\nwrote {', '.join(names)} in {folder}")
    floors = ", ".join(f"{floor:g}" for floor in sorted(set(errors["floor"])))
    click.echo(f"{errors.attrs['note']}. Floor of relative errors: {floors}.")


def _figures(frame: Any, metric: str, folder: Path) -> list[str]:
    """Draw errors against ε, and against the size of queries or the number of records if there are several."""
    from spatialdp.evaluation.figures import plot_errors
    from spatialdp.outputs.maps.save import save_figure

    several = {x: frame[x].dropna().nunique() > 1 for x in ("size", "records")}
    figures = {"errors.png": ("epsilon", "records" if several["records"] else "workload")}
    if several["size"] and not several["records"]:
        figures["sizes.png"] = ("size", "epsilon")
    if several["records"]:
        figures["records.png"] = ("records", "epsilon")
    for name, (x, panels) in figures.items():
        save_figure(plot_errors(frame, metric, x=x, panels=panels), folder / name, private=True)
    return list(figures)


def _ranking(frame: Any, metric: str, folder: Path) -> str:
    from spatialdp._support.atomic import write_all
    from spatialdp.evaluation.figures import ranking

    text = ranking(frame[frame["records"] == frame["records"].max()], metric)
    write_all({folder / "ranking.md": f"{text}\n".encode()}, overwrite=True, private=True)
    return text


# --- reading the arguments -------------------------------------------------------------------------


def _check_zones(zones: Zones, mechanisms: dict[str, Mechanism], points: PointsFile, others: Sequence[Any]) -> None:
    """Refuse methods that do not count in zones, and queries that are no levels."""
    for mechanism in mechanisms.values():
        check_frame(zones, mechanism, codes=points.code_column is not None)
    if others:
        raise click.UsageError(
            f"--boxes, --polygons or --records was given with {' or '.join(ZONES_FLAGS)}, where the queries are zones "
            "and all records count; leave it out, and name levels with --workload."
        )


def _records(points: PointsFile, domain: Domain | Zones | None) -> tuple[Any, Any, str]:
    """Return records, their frame and their name, from a data set of spatialdp or from a file."""
    from spatialdp.datasets import DATASETS

    shipped = DATASETS.get(str(points.path))
    if shipped is not None and not points.path.exists():
        return shipped.points(), domain or shipped.domain, shipped.title
    if domain is None:
        raise click.UsageError(
            f"no domain was given for {points.path}; give --bounds XMIN,YMIN,XMAX,YMAX, --region FILE or --zones "
            f"FILE, or name a data set of spatialdp instead of a file: {', '.join(DATASETS)}."
        )
    points.check(domain)
    return points.read(domain), domain, points.path.stem


def _epsilon(text: str) -> Fraction:
    exact: Fraction = Exact().convert(text, None, None)
    return exact


def _parts(text: str) -> tuple[str, dict[str, str]]:
    """Split NAME:PARAMETER=VALUE:PARAMETER=VALUE into the name and the parameters."""
    name, *rest = text.split(":")
    pairs = [part.partition("=") for part in rest]
    for key, equals, _ in pairs:
        if not equals:
            raise click.UsageError(f"{key!r} in {text!r} has no value; write {name}:PARAMETER=VALUE.")
    return name, {key.replace("-", "_"): value for key, _, value in pairs}


def _mechanism(text: str) -> tuple[str, Mechanism]:
    """Return the label and the mechanism of a text; without a given label, the text is the label."""
    from spatialdp.cli.parameters import build, find_method, parameters_of

    head, parameters = _parts(text)
    label, equals, name = head.rpartition("=")
    method = find_method(name)
    known = {parameter.name: parameter for parameter in parameters_of(method)}
    values = {
        key: value if key not in known or known[key].choices else _value(value, known[key].hint, text)
        for key, value in parameters.items()
    }
    listed = ", ".join(f"{key}={value}" for key, value in parameters.items())
    return label if equals else f"{name}({listed})" if listed else name, build(method, values)


def _queries(
    texts: Sequence[str], boxes: Sequence[Path], polygons: Sequence[Path], domain: Domain, seed: int
) -> list[Workload]:
    from spatialdp import workload as makers

    files = [
        *(makers.read_boxes(path, domain) for path in boxes),
        *(makers.polygons(path, domain) for path in polygons),
    ]
    queries: list[Workload] = []
    for text in texts or (() if files else ("random",)):
        name, parameters = _parts(text)
        if name not in WORKLOADS:
            raise click.UsageError(f"workload {name!r} was given; it must be one of {', '.join(WORKLOADS)}.")
        workload = _call(getattr(makers, WORKLOADS[name]), domain, parameters, seed, text)
        queries += workload if isinstance(workload, list) else [workload]
    return queries + files


def _call(make: Callable[..., T], domain: Domain, parameters: dict[str, str], seed: int, text: str) -> T:
    """Call a function that makes a workload; its signature says how the parameters are read."""
    signature, hints = inspect.signature(make).parameters, get_type_hints(make)
    known = [name for name in signature if name != "domain"]
    for name in parameters:
        if name not in known:
            raise click.UsageError(f"{text!r} has no parameter {name!r}; it has {', '.join(known)}.")
    missing = [name for name in known if signature[name].default is inspect.Parameter.empty and name not in parameters]
    if missing:
        raise click.UsageError(f"{text!r} needs {missing[0]}; write it as :{missing[0]}=VALUE.")
    values = {name: _value(value, hints[name], text) for name, value in parameters.items()}
    if "seed" in known:
        values.setdefault("seed", seed)
    return make(domain, **values)


def _value(text: str, hint: Any, whole: str) -> Any:
    from spatialdp.cli.parameters import read_value

    if hint is bool and text.lower() in ("yes", "true", "on", "no", "false", "off"):
        return text.lower() in ("yes", "true", "on")
    try:
        return read_value(text, hint)
    except (ValueError, ArithmeticError):
        raise click.UsageError(f"{text!r} in {whole!r} cannot be read; give a value such as 8, 0.5 or 64,64.") from None
