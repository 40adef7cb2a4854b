"""`spatialdp evaluate`: which method, at which ε, for these queries? A table, a figure and a ranking."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

import click

from spatialdp.cli.options.domain import optional_domain_options
from spatialdp.cli.options.output import folder_options, quiet_option
from spatialdp.cli.options.points import PointsFile, points_options
from spatialdp.cli.options.values import Exact

if TYPE_CHECKING:
    from fractions import Fraction

    from spatialdp.mechanisms import Mechanism
    from spatialdp.space.domain import Domain
    from spatialdp.workload import Workload

__all__ = ["command"]

T = TypeVar("T")

METHODS = ("quadtree:height=8", "hierarchy:shape=256,256", "tailored:shape=256,256", "kd-tree:height=6")

# Names on the command line, and the functions of spatialdp.workload that make them.
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
    """Values with commas between them."""

    def __init__(self, read: Callable[[str], Any], name: str) -> None:
        self.name = name
        self._read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read each of them."""
        if not isinstance(value, str):
            return value
        try:
            return tuple(self._read(part.strip()) for part in value.split(","))
        except (ValueError, ArithmeticError):
            self.fail(f"{value!r} was given; {self.name} with commas between them are required.", param, ctx)


@click.command("evaluate")
@points_options
@optional_domain_options
@click.option(
    "-m",
    "--method",
    "methods",
    multiple=True,
    default=METHODS,
    show_default=True,
    metavar="[LABEL=]NAME[:PARAMETER=VALUE]...",
    help="A method and its parameters, as in `spatialdp methods`; may be repeated. Uniform and flat are always added.",
)
@click.option(
    "-w",
    "--workload",
    "workloads",
    multiple=True,
    metavar="NAME[:PARAMETER=VALUE]...",
    help=f"Queries: {', '.join(WORKLOADS)}; may be repeated. [default: random, if there are no others]",
)
@click.option("--boxes", multiple=True, type=click.Path(path_type=Path), help="File of boxes to ask for.")
@click.option("--polygons", multiple=True, type=click.Path(path_type=Path), help="File of polygons to ask for.")
@click.option("--epsilons", type=_List(str, "numbers"), default="0.01,0.1,1", show_default=True, help="Budgets.")
@click.option("--delta", type=Exact(), default="0", help="For Gaussian noise.  [default: 0]")
@click.option("--neighbours", type=click.Choice(["add-remove", "replace"]), default="add-remove", show_default=True)
@click.option("--trials", type=click.IntRange(1), default=10, show_default=True, help="Releases for each method and ε.")
@click.option("--metric", "metrics", multiple=True, help="What to measure; may be repeated; by default all quick ones.")
@click.option("--show", default="rmse", show_default=True, help="The metric of the figure and the ranking.")
@click.option("--floor", type=float, default=0.001, show_default=True, help="Of relative errors: share of the records.")
@click.option("--level", type=float, default=0.95, show_default=True, help="Of intervals whose coverage is measured.")
@click.option("--records", type=_List(int, "numbers"), help="Evaluate random parts of the records of these sizes.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Same seed, same results.")
@click.option("--processes", type=click.IntRange(1), default=1, show_default=True, help="Trials at a time.")
@click.option("--cache", type=click.Path(dir_okay=False, path_type=Path), help="File of trials that were run before.")
@folder_options("errors.csv", "ranking.md", "errors.png", "sizes.png", "records.png")
@quiet_option
def command(
    points: PointsFile,
    domain: Domain | None,
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
    r"""Compare methods with the truth: error against ε, for the queries that matter.

    POINTS is a file of points, as for `spatialdp release`, or the name of data that ship: highways-us, chattanooga,
    salt-lake-city, auckland or liege, each with a public domain of its own. What is printed and written has seen the
    records and is for people who may see them; to choose by it for sensitive records leaks. Noise is seeded.

    \b
    Examples:
      spatialdp evaluate auckland --epsilons 0.1,1 --trials 5
      spatialdp evaluate homes.csv --x lon --y lat --bounds -85.6,34.9,-84.9,35.5 --crs EPSG:4326 \
          -m quadtree:height=7 -m "plain=quadtree:height=7:budget=uniform:consistent=no" \
          -w random:count=2000 -w sized:width=0.1:height=0.05 --processes 2 --cache trials.jsonl
    """
    import matplotlib

    matplotlib.use("Agg")
    from spatialdp.evaluation.evaluate import NOTE, evaluate, evaluate_subsamples, write_frame
    from spatialdp.evaluation.metrics import DEFAULT_METRICS

    mechanisms = dict(_mechanism(text) for text in methods)
    if len(mechanisms) < len(methods):
        raise click.UsageError("two methods have the same label; give one a label of its own: LABEL=NAME:...")
    held, area, name = _records(points, domain)
    queries = _queries(workloads, boxes, polygons, area, options["seed"])
    chosen = tuple(dict.fromkeys((*(metrics or DEFAULT_METRICS), show)))
    settings = {**options, "metrics": chosen, "dataset": name, "progress": not quiet}
    given = mechanisms, held, area, queries, [_epsilon(text) for text in epsilons]
    frame = evaluate_subsamples(*given, records=records, **settings) if records else evaluate(*given, **settings)
    folder.mkdir(parents=True, exist_ok=True)
    write_frame(frame, folder / "errors.csv")
    written = ["errors.csv", *_figures(frame, show, folder)]
    click.echo(_ranking(frame, show, folder))
    click.echo(f"\nwrote {', '.join([*written, 'ranking.md'])} in {folder}")
    click.echo(f"{NOTE}. Floor of relative errors: {', '.join(f'{f:g}' for f in sorted(set(frame['floor'])))}.")


def _figures(frame: Any, metric: str, folder: Path) -> list[str]:
    """Error against ε; and against the queries' size and the number of records, where there are several."""
    from spatialdp.evaluation.figures import plot_errors
    from spatialdp.outputs.maps.save import save_figure

    several = {x: frame[x].dropna().nunique() > 1 for x in ("size", "records")}
    drawn = {"errors.png": ("epsilon", "records" if several["records"] else "workload")}
    if several["size"] and not several["records"]:
        drawn["sizes.png"] = ("size", "epsilon")
    if several["records"]:
        drawn["records.png"] = ("records", "epsilon")
    for name, (x, panels) in drawn.items():
        save_figure(plot_errors(frame, metric, x=x, panels=panels), folder / name)
    return list(drawn)


def _ranking(frame: Any, metric: str, folder: Path) -> str:
    from spatialdp._support.atomic import write_all
    from spatialdp.evaluation.figures import ranking

    text = ranking(frame[frame["records"] == frame["records"].max()], metric)
    write_all({folder / "ranking.md": f"{text}\n".encode()}, overwrite=True)
    return text


# --- what is evaluated -----------------------------------------------------------------------------


def _records(points: PointsFile, domain: Domain | None) -> tuple[Any, Domain, str]:
    """Records, their domain and a name for them: of data that ship, or of a file."""
    from spatialdp.datasets import DATASETS

    shipped = DATASETS.get(str(points.path))
    if shipped is not None and not points.path.exists():
        return shipped.points(), domain or shipped.domain, shipped.title
    if domain is None:
        raise click.UsageError(
            f"no domain was given for {points.path}; give --bounds XMIN,YMIN,XMAX,YMAX or --region FILE, or the name "
            f"of data that ship: {', '.join(DATASETS)}."
        )
    return points.read(domain), domain, points.path.stem


def _epsilon(text: str) -> Fraction:
    exact: Fraction = Exact().convert(text, None, None)
    return exact


def _parts(text: str) -> tuple[str, dict[str, str]]:
    """NAME:PARAMETER=VALUE:PARAMETER=VALUE in parts."""
    name, *rest = text.split(":")
    pairs = [part.partition("=") for part in rest]
    for key, equals, _ in pairs:
        if not equals:
            raise click.UsageError(f"{key!r} in {text!r} is no parameter with a value; write {name}:PARAMETER=VALUE.")
    return name, {key.replace("-", "_"): value for key, _, value in pairs}


def _mechanism(text: str) -> tuple[str, Mechanism]:
    """A mechanism and its label, which is its text unless one was given."""
    from spatialdp.cli.parameters import build, find_method, parameters_of

    head, given = _parts(text)
    label, equals, name = head.rpartition("=")
    method = find_method(name)
    known = {parameter.name: parameter for parameter in parameters_of(method)}
    values = {
        key: value if key not in known or known[key].choices else _value(value, known[key].hint, text)
        for key, value in given.items()
    }
    shown = ", ".join(f"{key}={value}" for key, value in given.items())
    return label if equals else f"{name}({shown})" if shown else name, build(method, values)


def _queries(
    texts: Sequence[str], boxes: Sequence[Path], polygons: Sequence[Path], domain: Domain, seed: int
) -> list[Workload]:
    from spatialdp import workload as made

    files = [*(made.read_boxes(path, domain) for path in boxes), *(made.polygons(path, domain) for path in polygons)]
    queries: list[Workload] = []
    for text in texts or (() if files else ("random",)):
        name, given = _parts(text)
        if name not in WORKLOADS:
            raise click.UsageError(f"workload {name!r} was given; it must be one of {', '.join(WORKLOADS)}.")
        found = _called(getattr(made, WORKLOADS[name]), domain, given, seed, text)
        queries += found if isinstance(found, list) else [found]
    return queries + files


def _called(make: Callable[..., T], domain: Domain, given: dict[str, str], seed: int, text: str) -> T:
    """Call a function that makes a workload, with values read as its signature asks for."""
    signature, hints = inspect.signature(make).parameters, get_type_hints(make)
    known = [name for name in signature if name != "domain"]
    for name in given:
        if name not in known:
            raise click.UsageError(f"{text!r} has no parameter {name!r}; it has {', '.join(known)}.")
    missing = [name for name in known if signature[name].default is inspect.Parameter.empty and name not in given]
    if missing:
        raise click.UsageError(f"{text!r} needs {missing[0]}; write it as :{missing[0]}=VALUE.")
    values = {name: _value(value, hints[name], text) for name, value in given.items()}
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
        raise click.UsageError(
            f"{text!r} in {whole!r} can not be read; give a value such as 8, 0.5 or 64,64."
        ) from None
