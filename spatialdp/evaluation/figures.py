"""Which mechanism has the smaller error? Figures and rankings of the tables that `evaluate` returns.

Lines differ by colour, marker and dash, so that they can be told apart in grey and by colour-blind readers. Their names
stand at their ends instead of in a legend. Figures and rankings are computed from the records, as the tables are: they
are for people who may see the records.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialdp._support.arrays import Floats, Objects
from spatialdp._support.tables import markdown
from spatialdp.errors import ParameterError
from spatialdp.wording import either, parameter

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "STYLES",
    "draw_line",
    "finish",
    "label_lines",
    "plot_errors",
    "push_apart",
    "ranking",
    "style_axes",
    "summary",
]


# Colours (the first ones by Okabe and Ito), each with its own marker and dash.
STYLES = (
    ("#000000", "o", "-"),
    ("#D55E00", "s", "--"),
    ("#0072B2", "^", "-"),
    ("#009E73", "D", "-."),
    ("#CC79A7", "v", "--"),
    ("#E69F00", "P", ":"),
    ("#56B4E9", "X", "-."),
    ("#666666", "*", "-"),
    ("#8B4513", "<", "--"),
    ("#4B0082", ">", ":"),
)
BASELINE = ("#999999", ".", "-")

LEADER = {"arrowstyle": "-", "linewidth": 0.5, "relpos": (0, 0.5), "shrinkA": 1, "shrinkB": 3}

CONFIDENCE = 0.95
MOST_COLUMNS = 4
MOST_TICKS = 4

NAMES = {
    "epsilon": "privacy budget ε",
    "size": "share of the domain's area",
    "records": "number of records",
    "mean_error": "mean absolute error",
    "median_error": "median absolute error",
    "p95_error": "95th percentile of absolute errors",
    "max_error": "largest absolute error",
    "rmse": "root-mean-square error",
    "relative_error": "mean relative error",
    "median_relative_error": "median relative error",
    "scaled_error": "scaled average per-query error",
    "uniformity_rmse": "error without noise (RMSE)",
    "noise_rmse": "error from noise (RMSE)",
    "coverage": "share of intervals that contain the true answer",
    "noise_coverage": "share of intervals that contain the answer without noise",
    "interval_width": "mean width of intervals",
    "earth_mover": "earth mover's distance",
}
LINEAR = ("coverage", "noise_coverage")


def summary(frame: pandas.DataFrame, by: Sequence[str]) -> pandas.DataFrame:
    """Return the mean over trials of each group, with its 95 % confidence interval (Student's t).

    Parameters
    ----------
    frame : DataFrame
        Rows of `evaluate` with one metric.
    by : sequence of str
        Rows that are equal in these columns are a group.

    Returns
    -------
    DataFrame
        Columns `mean`, `low`, `high` and `trials`. With a single trial, the interval is the mean itself.
    """
    from scipy.stats import t

    # Several workloads or data sets of one trial are not repetitions of the trial: their mean counts, once.
    trials = frame.groupby([*by, "trial"], sort=False, dropna=False)["value"].mean().reset_index()
    grouped = trials.groupby(list(by), sort=False, dropna=False)["value"].agg(["mean", "std", "count"]).reset_index()
    count = grouped["count"].to_numpy()
    quantile = np.where(count > 1, t.ppf((1 + CONFIDENCE) / 2, np.maximum(count - 1, 1)), 0.0)
    half = quantile * grouped["std"].fillna(0.0) / np.sqrt(count)
    grouped["low"], grouped["high"] = grouped["mean"] - half, grouped["mean"] + half
    return grouped.drop(columns="std").rename(columns={"count": "trials"})


def plot_errors(
    frame: pandas.DataFrame,
    metric: str | Sequence[str] = "rmse",
    *,
    x: str = "epsilon",
    panels: str = "workload",
    title: str | None = None,
    caption: str | None = None,
) -> Figure:
    """Draw errors as lines with confidence bands on logarithmic axes, one panel for each workload.

    Parameters
    ----------
    frame : DataFrame
        Table of `evaluate` or `evaluate_subsamples`, or several tables, concatenated.
    metric : str or sequence of str
        Several metrics get one row of panels each.
    x : {"epsilon", "size", "records"}
        Column for the horizontal axis: ε, the area of the queries as a share of the domain's area, or the number of
        records.
    panels : str
        Column of the table, such as "workload", "epsilon" or "dataset"; each of its values gets a panel.
    title, caption : str, optional
        The default caption explains the bands and the floor of relative errors, and says that the figure is computed
        from the true records.

    Returns
    -------
    matplotlib Figure
        Lines are means over trials, and over all other rows of a panel with the same mechanism and x. Bands are 95 %
        confidence intervals of these means (Student's t). On logarithmic axes they are intervals of the mean's
        logarithm, so that they stay above zero.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> domain = sdp.Domain((0, 0, 1, 1))
    >>> points = sdp.workload.random_boxes(domain, 100).boxes[:, :2]
    >>> frame = sdp.evaluate(sdp.Quadtree(3), points, domain, sdp.workload.random_boxes(domain, 9), [0.1, 1], 2)
    >>> len(plot_errors(frame).axes)
    1
    """
    import matplotlib.pyplot as plt

    metrics = [metric] if isinstance(metric, str) else list(metric)
    _check(frame, metrics, x, panels)
    selected = frame[frame["metric"].isin(metrics)].dropna(subset=[x])
    panel_values = list(dict.fromkeys(selected[panels]))
    lines = 1 if len(metrics) > 1 else -(-len(panel_values) // MOST_COLUMNS)
    columns = -(-len(panel_values) // lines)  # as even as possible: five panels are three and two
    rows = len(metrics) * lines
    names = 0.5 + 0.085 * max(len(name) for name in selected["mechanism"])  # inches, beside the last column
    size = (0.6 + 3.4 * columns + names, 1.3 + 2.8 * rows)
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, sharex=True, sharey="row")
    styles = _styles(selected)
    for ax, (name, panel) in zip(axes.flat, product(metrics, panel_values), strict=False):
        part = selected[(selected["metric"] == name) & (selected[panels] == panel)]
        _panel(ax, part, x, styles, logarithmic=name not in LINEAR)
        ax.set_title(_panel_title(panels, panel), fontsize="medium")
        if ax.get_subplotspec().is_first_col():
            ax.set_ylabel(NAMES.get(name, name))
        ax.set_xlabel(NAMES[x])
    for ax in axes.flat[len(metrics) * len(panel_values) :]:
        ax.remove()
    finish(figure, title or "", _caption(selected) if caption is None else caption)
    for row in axes:
        _limit(row)
    for ax in axes[:, -1]:
        label_lines(ax)
    return figure


def _limit(row: Objects) -> None:
    """Set the limits of logarithmic axes by the lines, not by the bands, which may be wide."""
    panels = [ax for ax in row if ax.figure is not None and ax.get_yscale() == "log"]
    values = np.concatenate([np.empty(0), *(line.get_ydata() for ax in panels for line in ax.lines)])
    values = values[values > 0]
    if values.size:
        panels[0].set_ylim(values.min() / 1.6, values.max() * 1.6)


def _check(frame: pandas.DataFrame, metrics: Sequence[str], x: str, panels: str) -> None:
    if x not in ("epsilon", "size", "records"):
        raise ParameterError(f"x is {x!r}; it must be 'epsilon', 'size' or 'records'.")
    if panels not in frame.columns:
        raise ParameterError(f"panels is {panels!r}; it must be a column of the frame, such as 'workload'.")
    metrics_there = set(frame["metric"])
    for name in metrics:
        if name not in metrics_there:
            raise ParameterError(
                f"{parameter('metric')} is {name!r}; the frame holds {', '.join(sorted(metrics_there))}. Choose one of "
                f"these, or evaluate with {either(f'metrics=[{name!r}, ...]', f'--metric {name}')}."
            )
    if frame[x].dropna().empty:
        raise ParameterError(
            f"no row has a {x}; for x='size' evaluate workloads whose queries have one size, such as "
            "workload.area_boxes(domain)."
        )


def _styles(frame: pandas.DataFrame) -> dict[str, tuple[str, str, str]]:
    """Return a style for each mechanism, the same in all panels."""
    names = [name for name in dict.fromkeys(frame["mechanism"]) if name != "uniform"]
    return {name: STYLES[index % len(STYLES)] for index, name in enumerate(names)} | {"uniform": BASELINE}


def _panel(
    ax: Axes, part: pandas.DataFrame, x: str, styles: dict[str, tuple[str, str, str]], *, logarithmic: bool
) -> None:
    ax.set_xscale("log")
    if logarithmic:
        ax.set_yscale("log")
    for name, rows in summary(part, ["mechanism", x]).groupby("mechanism", sort=False):
        line = rows.sort_values(x)
        low, middle, high = line["low"], line["mean"], line["high"]
        if logarithmic:  # zero has no place there: the interval of log(mean), by the delta method
            middle = middle.where(middle > 0)
            factor = np.exp((high - middle) / middle)
            low, high = middle / factor, middle * factor
        draw_line(ax, line[x], low, middle, high, styles[str(name)], label=str(name))
    places = sorted(set(part[x]))
    if len(places) <= MOST_TICKS:
        ax.set_xticks(places)
    style_axes(ax)


def _panel_title(panels: str, panel: Any) -> str:
    return f"ε = {panel:g}" if panels == "epsilon" else f"{panel:,} records" if panels == "records" else str(panel)


def _caption(frame: pandas.DataFrame) -> str:
    trials = frame.groupby(["mechanism", "epsilon"])["trial"].nunique()
    text = (
        f"Lines: means of {trials.max()} releases. Bands: 95 % confidence intervals of the mean (Student's t; on "
        "logarithmic axes, of its logarithm). "
    )
    if frame["metric"].str.contains("relative").any():
        floors = sorted(set(frame["floor"]))
        text += (
            f"Relative errors divide by the true count, but at least by {', '.join(f'{floor:g}' for floor in floors)}. "
        )
    if not frame["private_by_design"].all():
        names = dict.fromkeys(frame.loc[~frame["private_by_design"], "mechanism"])
        text += f"Not private by design, for comparison: {', '.join(names)}. "
    return f"{text}{'; '.join(dict.fromkeys(frame['note']))}."


# --- drawing ---------------------------------------------------------------------------------------


def draw_line(
    ax: Axes, x: Any, low: Any, middle: Any, high: Any, style: tuple[str, str, str], *, label: str = ""
) -> None:
    """Draw a line with markers, and a band around it."""
    colour, marker, dash = style
    ax.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
    ax.plot(x, middle, color=colour, marker=marker, linestyle=dash, markersize=4, linewidth=1.4, label=label)


def style_axes(ax: Axes) -> None:
    """Give axes a light grid, and remove the frame at the top and at the right."""
    ax.grid(which="major", color="0.9", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def label_lines(ax: Axes, *, gap: float = 0.085) -> None:
    """Write the name of every line at its right end, without overlaps, once the limits of the axes are final."""
    named = [line for line in ax.lines if not str(line.get_label()).startswith("_")]
    lines = [line for line in named if np.isfinite(np.asarray(line.get_xydata())).all(axis=1).any()]
    if not lines:
        return
    ends = [_last(np.asarray(line.get_xydata())) for line in lines]
    places = ax.transAxes.inverted().transform(ax.transData.transform(ends))[:, 1]
    heights = push_apart(places, gap)
    order = np.argsort(heights)
    heights[order] = np.maximum(
        heights[order], gap * np.arange(order.size)
    )  # not so low that they overlap the numbers of the ticks
    for line, end, height in zip(lines, ends, heights, strict=True):
        ax.annotate(
            str(line.get_label()),
            xy=end,
            xytext=(1.04, height),
            textcoords="axes fraction",
            color=line.get_color(),
            fontsize="small",
            va="center",
            arrowprops={**LEADER, "color": line.get_color()},
            annotation_clip=False,
        )


def _last(points: Floats) -> tuple[float, float]:
    """Return the last point of a line that is finite."""
    x, y = points[np.isfinite(points).all(axis=1)][-1]
    return float(x), float(y)


def push_apart(heights: Floats, gap: float) -> Floats:
    """Move heights apart until neighbours differ by at least `gap`; their order stays the same."""
    order = np.argsort(heights, kind="stable")
    places = heights[order]
    for _ in range(500):
        push = np.maximum(gap - np.diff(places), 0) / 2
        places[:-1] -= push
        places[1:] += push
    moved = np.empty_like(places)
    moved[order] = places
    return moved


def finish(figure: Figure, title: str, caption: str) -> None:
    """Add title and caption to a figure, and write plain numbers on its axes."""
    import textwrap

    from matplotlib.ticker import FuncFormatter, NullFormatter

    for ax in figure.axes:
        ax.tick_params(labelbottom=True, labelleft=True)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
            axis.set_minor_formatter(NullFormatter())
    figure.set_layout_engine("constrained")
    if title:
        figure.suptitle(title, fontsize="large")
    width = int(15.5 * figure.get_size_inches()[0])
    figure.supxlabel("\n".join(textwrap.wrap(caption, width)), fontsize="small", x=0.01, ha="left")


# --- ranking ---------------------------------------------------------------------------------------


def ranking(frame: pandas.DataFrame, metric: str = "rmse") -> str:
    """Rank the mechanisms in a Markdown table: the best first, with the mean error at each ε.

    Parameters
    ----------
    frame : DataFrame
        Table of `evaluate`.
    metric : str
        Name of the metric to rank by.

    Returns
    -------
    str
        One table for each data set and workload. The column "rank" is the mean of a mechanism's places over all ε;
        place 1 is the best. Errors are means over trials ± half a 95 % confidence interval.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> domain = sdp.Domain((0, 0, 1, 1))
    >>> points = sdp.workload.random_boxes(domain, 100).boxes[:, :2]
    >>> frame = sdp.evaluate(sdp.Quadtree(3), points, domain, sdp.workload.random_boxes(domain, 9), [0.1, 1], 2)
    >>> print(ranking(frame).splitlines()[0])
    random boxes: root-mean-square error, mean of 2 trials ± half a 95 % confidence interval
    """
    _check(frame, [metric], "epsilon", "workload")
    selected = frame[frame["metric"] == metric]
    tables = []
    for (dataset, workload), part in selected.groupby(["dataset", "workload"], sort=False):
        trials = int(part.groupby(["mechanism", "epsilon"])["trial"].nunique().max())
        name = f"{dataset}, {workload}" if dataset else workload
        head = f"{name}: {NAMES.get(metric, metric)}, mean of {trials} trials ± half a 95 % confidence interval"
        tables.append(f"{head}\n\n{_ranked(part)}")
    note = "; ".join(dict.fromkeys(selected["note"]))
    floors = ", ".join(f"{floor:g}" for floor in sorted(set(selected["floor"])))
    ending = f"Floor of relative errors: {floors} records. " if "relative" in metric else ""
    return "\n\n".join([*tables, f"{ending}{note}."])


def _ranked(part: pandas.DataFrame) -> str:
    means = summary(part, ["mechanism", "epsilon"])
    means["rank"] = means.groupby("epsilon")["mean"].rank()
    order = means.groupby("mechanism", sort=False)["rank"].mean().sort_values(kind="stable")
    epsilons = sorted(set(means["epsilon"]))
    cells = {
        (row.mechanism, row.epsilon): f"{_number(row.mean)} ± {_number((row.high - row.low) / 2)}"
        for row in means.itertuples(index=False)
    }
    body = [[name, f"{rank:.2g}", *(cells.get((name, e), "") for e in epsilons)] for name, rank in order.items()]
    return markdown([["mechanism", "rank", *(f"ε = {epsilon:g}" for epsilon in epsilons)], *body])


def _number(value: float) -> str:
    """Write a number with three significant digits, without an exponent unless the number is tiny."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.2e}" if digits > 6 else f"{round(value, digits):,.{digits}f}"
