"""What does a release promise, and what does it hold? `spatialdp info` prints it.

The command reads files of releases in any format, and never a record.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from spatialdp.outputs.files.formats import FORMATS, WITH_AXES

if TYPE_CHECKING:
    from spatialdp.estimates.flows.counts import FlowCounts
    from spatialdp.estimates.sparse.listed import ListedCells
    from spatialdp.estimates.sparse.over_map import ListOverMap
    from spatialdp.privacy.statement import Privacy
    from spatialdp.release import Release
    from spatialdp.space.domain import Domain
    from spatialdp.space.frames.frame import Frame
    from spatialdp.table_release import TableRelease
    from spatialdp.trajectories.release import TrajectoryRelease
    from spatialdp.zone_release import ZoneRelease

__all__ = ["command"]

_SHOWN = 12  # categories and zones that are listed by name


@click.command("info")
@click.argument("release", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def command(release: Path, as_json: bool) -> None:
    r"""Print the privacy promise and the contents of a release.

    The promise is printed in plain words and in numbers. RELEASE is a file in any of the formats that
    `spatialdp release` writes.

    \b
    Examples:
      spatialdp info homes.parquet
      spatialdp info homes.parquet --json | jq .privacy.epsilon
    """
    from spatialdp._support.terminal import printable, printable_json
    from spatialdp.outputs.files.geoparquet import load
    from spatialdp.outputs.files.statement import read_statement

    if FORMATS.get(release.suffix.lower(), "GeoParquet") != "GeoParquet" and release.is_file():
        privacy = read_statement(release)
        facts, lines = {"privacy": privacy.to_json()}, _privacy_lines(privacy)
    else:
        source = load(release)
        facts, lines = (
            _facts(source),
            [*_privacy_lines(source.privacy, disjoint=_disjoint(source)), *_map_lines(source)],
        )
    click.echo(printable_json(facts, indent=2) if as_json else "\n".join(printable(line, keep="\n") for line in lines))


def _facts(release: Release) -> dict[str, Any]:
    if release.estimate.kind == "trajectories":
        return {"privacy": release.privacy.to_json(), **_path_facts(cast("TrajectoryRelease", release))}
    return {
        "privacy": release.privacy.to_json(),
        **_place(release),
        "total": release.total,
        "counted": release.privacy.counted,
        "intervals": not release.estimate.biased,
    }


def _disjoint(release: Release) -> str:
    """Return why all cells of a table cost ε once; nothing for another release."""
    from spatialdp.table_release import disjoint_in_words

    return disjoint_in_words(cast("TableRelease", release).frame) if release.estimate.kind == "table" else ""


def _privacy_lines(privacy: Privacy, *, disjoint: str = "") -> list[str]:
    from spatialdp.privacy.statement import format_exact

    parameters = ", ".join(f"{name} {value}" for name, value in privacy.parameters.items() if value is not None)
    currency, paid = "ε" if privacy.currency == "epsilon" else "ρ", privacy.ledger
    costs = [f"{currency} {format_exact(cost)} for {step}" for step, cost in privacy.budget.items()]
    return [
        " ".join(filter(None, (privacy.in_words(), privacy.counted_in_words(), disjoint))).replace(". ", ".\n"),
        "",
        f"promise    {privacy}",
        f"method     {privacy.mechanism}: {parameters}",
        *(f"{'' if number else 'cost':10} {cost}" for number, cost in enumerate(costs)),
        *([] if paid is None else [f"ledger     {paid.ledger}, entry {paid.entry}, {paid.hash}"]),
    ]


def _path_facts(release: TrajectoryRelease) -> dict[str, Any]:
    """Return the facts of trajectories: systems, step of time, what can be drawn from, and the total."""
    domain, model = release.domain, release.estimate
    return {
        "bounds": list(domain.bounds),
        "crs": domain.crs,
        "region": domain.region is not None,
        "cells_a_side": release.cells_a_side,
        "blocks_a_side": model.blocks.side,
        "seconds": float(release.step),
        "longest": model.longest,
        "pairs_of_ends": model.ends.n_cells,
        "pairs_drawn_from": int(model.reachable[3].size),
        "total": release.total,
        "interval": release.interval().tolist(),
    }


def _path_lines(release: TrajectoryRelease) -> list[str]:
    facts = _path_facts(release)
    side, blocks, (low, high) = facts["cells_a_side"], facts["blocks_a_side"], facts["interval"]
    return [
        f"ends       in {blocks} x {blocks} blocks: {facts['pairs_of_ends']:,} pairs, of which "
        f"{facts['pairs_drawn_from']:,} are drawn from",
        f"ways       in {side} x {side} cells, at most {facts['longest']:,} steps of {facts['seconds']:g} s",
        *_place_lines(cast("Release", release)),
        f"total      about {facts['total']:,.0f} trajectories, 95 % interval {low:,.0f} to {high:,.0f}",
        "intervals  of counts of ends, lengths and extents; synthetic trajectories have none",
    ]


def _map_lines(release: Release) -> list[str]:
    if release.estimate.kind == "trajectories":
        return _path_lines(cast("TrajectoryRelease", release))
    return [
        _sizes(release),
        *_place_lines(release),
        f"total      about {release.total:,.0f} {release.privacy.counted}, estimated from the release",
        f"intervals  {'none: the estimates are biased' if release.estimate.biased else 'yes'}",
    ]


def _place(release: Release) -> dict[str, Any]:
    """Return the area of a release as plain values; nothing for zones that are codes without polygons."""
    domain: Domain | None = release.domain
    if release.estimate.kind in WITH_AXES:
        return _table_facts(cast("TableRelease", release))
    zones = _zone_facts(cast("ZoneRelease", release)) if release.estimate.kind == "zones" else {}
    place = {} if domain is None else {"bounds": list(domain.bounds), "crs": domain.crs}
    region = {} if zones or domain is None else {"region": domain.region is not None}
    listing = _listing(release)
    return {"cells": release.estimate.n_cells, **listing, **zones, **place, **region}


def _listing(release: Release) -> dict[str, Any]:
    """Return the facts of a list, alone or over a map, and of flows; nothing for other releases."""
    if release.estimate.kind == "listed-map":
        listed = cast("ListOverMap", release.estimate).listed
        return {"listed": listed.n_cells, **_list_facts(listed)}
    if release.estimate.kind == "flows":
        return _flow_facts(cast("FlowCounts", release.estimate))
    return _list_facts(cast("ListedCells", release.estimate)) if release.estimate.kind == "listed" else {}


def _list_facts(estimate: ListedCells) -> dict[str, Any]:
    """Return what a list was made of: the grid, the threshold, and how many empty cells are expected on it."""
    return {"shape": list(estimate.grid.shape), "threshold": estimate.threshold, "false": estimate.false}


def _flow_facts(estimate: FlowCounts) -> dict[str, Any]:
    """Return between how many places flows are, and by what rule they are listed."""
    listing = estimate.listing
    rule = {} if listing is None else {"threshold": listing.threshold, "false": listing.false}
    return {"places": estimate.places, "listed": listing is not None, **rule}


def _flows_in_words(estimate: FlowCounts, counted: str) -> str:
    number = f"pairs      {estimate.n_cells:,}{', all of them' if estimate.listing is None else ' listed'}"
    lines = [f"places     {estimate.places:,}", number]
    if estimate.listing is not None:
        lines += [
            f"{'':10} Listed are pairs whose noisy count was at least {estimate.listing.threshold:,.6g} {counted}.",
            f"{'':10} About {estimate.listing.false:,.3g} of them are expected to be without any.",
        ]
    return "\n".join(lines)


def _table_facts(release: TableRelease) -> dict[str, Any]:
    """Return where a table is, and what its axes are."""
    axes = {name: {"cells": axis.size, "levels": list(axis.names)} for name, axis in release.frame.axes.items()}
    described: dict[str, dict[str, Any]] = {
        name: getattr(axis, "to_json", dict)() for name, axis in release.frame.axes.items()
    }
    domain: Domain | None = release.domain
    return {
        "cells": release.estimate.n_cells,
        "axes": {name: described[name] | axes[name] for name in release.frame.names},
        **({} if domain is None else {"bounds": list(domain.bounds), "crs": domain.crs}),
    }


def _zone_facts(release: ZoneRelease) -> dict[str, Any]:
    """Return what the frame of zones is: its name, its digest, and how many zones each level has."""
    zones = release.zones
    sizes = (int(stop - start) for start, stop in itertools.pairwise(zones.shape.offsets))
    return {"levels": dict(zip(zones.levels, sizes, strict=True)), "frame": zones.name, "frame_digest": zones.digest}


def _place_lines(release: Release) -> list[str]:
    domain: Domain | None = release.domain
    if domain is None:
        return ["place      none: the zones are codes without polygons"]
    edges = ", ".join(f"{edge:.15g}" for edge in domain.bounds)
    return [
        f"bounds     {edges}{'' if domain.region is None else ', with a region inside'}",
        f"CRS        {' '.join((domain.crs or 'none').split())}",  # WKT may have several lines
    ]


def _sizes(release: Release) -> str:
    """Return the number of cells; adaptive trees have blocks of cells, and the plan speaks of the cells in them."""
    if release.estimate.kind in WITH_AXES:
        return "\n".join(_table_lines(cast("TableRelease", release).frame))
    if release.estimate.kind == "zones":
        facts = _zone_facts(cast("ZoneRelease", release))
        levels = ", ".join(f"{size:,} of level {name}" for name, size in facts["levels"].items())
        named = "" if facts["frame"] is None else f"frame      {facts['frame']}\n"
        return f"zones      {levels}\n{named}digest     {facts['frame_digest']}"
    number = f"{release.estimate.n_cells:,}"
    if release.estimate.kind == "listed":
        words = cast("ListedCells", release.estimate).in_words(release.privacy.counted)
        lines = words.replace(". ", ".\n").split("\n")
        return "\n".join([f"listed     {number} cells", *(f"{'':10} {line}" for line in lines)])
    if release.estimate.kind == "listed-map":
        words = cast("ListOverMap", release.estimate).in_words(release.privacy.counted)
        lines = words.replace(". ", ".\n").split("\n")
        return "\n".join([f"blocks     {number}", *(f"{'':10} {line}" for line in lines)])
    if release.estimate.kind == "flows":
        return _flows_in_words(cast("FlowCounts", release.estimate), release.privacy.counted)
    if release.privacy.mechanism != "adaptive":
        return f"cells      {number}"
    return f"blocks     {number}, of different sizes"


def _table_lines(frame: Frame) -> list[str]:
    """Return what the axes of a table are: cells and levels, times, categories."""
    sizes = " x ".join(f"{frame.axes[name].size:,} {name}" for name in frame.names)
    lines = [f"cells      {sizes} = {frame.n_cells:,}"]
    for name in frame.names:
        axis = frame.axes[name]
        lines.append(f"{name:<10} {_axis_in_words(axis)}; levels {', '.join(axis.names)}")
    return lines


def _axis_in_words(axis: Any) -> str:
    from spatialdp.space.frames.categories import Categories
    from spatialdp.space.frames.cells import Cells
    from spatialdp.space.frames.time import Time

    if isinstance(axis, Time):
        folded = "" if axis.fold is None else f", laid over each other by {axis.fold}"
        return f"{axis.start} to {axis.stop} in {axis.zone}, in ticks of {axis.step}{folded}"
    if isinstance(axis, Cells):
        return "{} x {} cells".format(*axis.grid.shape)
    labels = axis.labels() if isinstance(axis, Categories) else sorted(axis.labels())
    more = f" and {len(labels) - _SHOWN:,} more" if len(labels) > _SHOWN else ""
    return f"{'' if isinstance(axis, Categories) else 'zones '}{', '.join(labels[:_SHOWN])}{more}"
