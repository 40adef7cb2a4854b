"""How can people without Python explore a release? `write_page` makes one HTML file for any browser.

The page is put together from the files in ``assets/``: the map library Leaflet with its licence, a style sheet, and
small JavaScript modules that answer boxes as the library does. They are joined into one script, so their top-level
names must be unique.

The page must load nothing from the network, and run nothing but the scripts that are written here: its content policy
names them by their hashes. It is made from the release and public boundaries alone, so it is as public as the release,
and equal releases give equal bytes.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
from collections.abc import Iterable
from functools import singledispatch
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from spatialdp._support.terminal import printable
from spatialdp.errors import ParameterError, ReleaseError
from spatialdp.estimates.base import Estimate
from spatialdp.estimates.decomposition import Decomposition
from spatialdp.estimates.fields.field import Field
from spatialdp.estimates.histogram import Histogram
from spatialdp.estimates.intervals import quantile_table
from spatialdp.estimates.networks.counts import NetworkCounts
from spatialdp.estimates.sparse.listed import ListedCells
from spatialdp.estimates.sparse.over_map import ListOverMap
from spatialdp.estimates.tables.counts import TableCounts
from spatialdp.estimates.zones.counts import ZoneCounts
from spatialdp.outputs.explorer.data import estimate_data, packed
from spatialdp.outputs.explorer.lines import boundary_lines, outline
from spatialdp.outputs.explorer.questions import asset, decimals_of, question
from spatialdp.outputs.explorer.tables import parts_of_table, table_maps
from spatialdp.outputs.explorer.zones import drawn_depth, zone_view
from spatialdp.outputs.maps.cells import MapCells, Per, map_cells, measured
from spatialdp.outputs.maps.colours import (
    NOISE_INK,
    NOISE_PAPER,
    SHADES,
    SOFT,
    UNCERTAINTIES,
    VEIL,
    palette,
    uncertainty_colours,
)
from spatialdp.outputs.maps.ground import square_kilometres
from spatialdp.outputs.maps.values import aspect
from spatialdp.outputs.tables.single import single_map
from spatialdp.privacy.statement import Privacy, format_exact
from spatialdp.space import crs as crs_
from spatialdp.space.coverage import prefix_sums
from spatialdp.space.domain import Domain

if TYPE_CHECKING:
    from spatialdp.release import Release
    from spatialdp.table_release import TableRelease

__all__ = ["page_text", "write_page"]


# Each module comes after those that it uses.
_MODULES = (
    "lattice",
    "borders",
    "unpack",
    "lines",
    "noise",
    "uneven",
    "grid",
    "tree",
    "field",
    "listed",
    "overmap",
    "zones",
    "answers",
    "colours",
    "text",
    "parts",
    "map",
    "zonemap",
    "drag",
    "page",
    "zonepage",
    "start",
)

_BIASED = (
    "This release was truncated, rounded, made non-negative, smoothed, listed by its own noise or stopped where counts "
    "were small. Its errors do not average out, so it has no intervals."
)

_AREA_PARTS = 16  # along each side: colours need areas to about a hundredth
_LONGEST = 20.0  # a map is at most this many times as high as wide, or as wide as high


def write_page(
    release: Release,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    boundaries: Any = None,
    level: float = 0.95,
    overwrite: bool = False,
) -> None:
    """Write a release as one self-contained page, to pan, zoom, read cells and ask about boxes, or zones by code.

    Parameters
    ----------
    release : Release
        It may have at most 2^22 cells or nodes. Of zones, the lowest level with at most 20,000 of them is drawn, and
        the reader can choose higher ones.
    path : str or path
        File name that ends in ``.html``.
    title : str, optional
        Heading of the page; by default one that says whether the release is private.
    boundaries : GeoDataFrame, GeoSeries, shapely geometry or path, optional
        Public polygons or lines to draw on top, with a switch to hide them. They are reprojected to the domain's CRS;
        plain geometries are taken to be in it. Details that a screen cannot show are left out.
    level : float
        Confidence level of the intervals, at most 0.999.
    overwrite : bool
        Replace an existing file.

    Privacy
    -------
    The page is made from the release and public parameters: this is post-processing and costs no budget. If the release
    is not private, the page says so at the top.

    Examples
    --------
    >>> import spatialdp as sdp, tempfile, pathlib
    >>> release = sdp.Quadtree(height=3).release([[0.1, 0.2]], sdp.Domain((0, 0, 1, 1)), epsilon=1)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "map.html"
    >>> write_page(release, path, title="A small map")
    >>> "<h1>A small map</h1>" in path.read_text()
    True
    """
    from spatialdp._support.atomic import write_all

    target = Path(path)
    if target.suffix.lower() != ".html":
        raise ParameterError(
            f"{target.name} does not end in .html; the explorer is a web page. Give a name such as map.html."
        )
    text = page_text(release, title=title, boundaries=boundaries, level=level)
    write_all({target: text.encode()}, overwrite=overwrite)


def page_text(release: Release, *, title: str | None = None, boundaries: Any = None, level: float = 0.95) -> str:
    """Return the page that `write_page` writes, as text.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> release = sdp.Flat(shape=(4, 4)).release([], sdp.Domain((0, 0, 1, 1)), epsilon=1)
    >>> page_text(release, title="An empty map").startswith("<!DOCTYPE html>")
    True
    """
    privacy, biased = release.privacy, release.estimate.biased
    heading = title or ("Map of a private release" if privacy.private else "Map of a release that is not private")
    texts = {
        "title": html.escape(heading),
        "summary": _words(f"{size_in_words(release.estimate)}. {privacy}"),
        "words": _words(privacy.in_words()),
        **question(release.estimate, release),
    }
    data = _data(release, level) | {"boundaries": boundary_lines(boundaries, release.domain)}
    scripts = {
        "leaflet": asset("leaflet/leaflet.js"),
        "script": "\n".join(_inlined(asset(f"{name}.mjs")) for name in _MODULES),
    }
    style = f"{asset('leaflet/leaflet.css')}{asset('page.css')}:root {{ --ratio: {data['ratio']:.4f}; }}\n"
    parts = {
        "policy": _policy(scripts.values(), style),
        "banner": "" if privacy.private else f'<div class="banner" role="note">{_NOT_PRIVATE}</div>',
        "reason": f'<p class="note">{_words(_BIASED)}</p>' if biased else "",
        "meaning": f"<p>{_words(privacy.counted_in_words())}</p>" if privacy.person is not None else "",
        "uncertainty": " disabled" if biased else "",
        "overlay": "" if data["boundaries"] is None else _OVERLAY,
        "technical": _technical(privacy, release.domain),
        "licence": "Leaflet:\n" + asset("leaflet/LICENSE"),
        "data": _json(data),
        "style": style,
    }
    return Template(asset("page.html")).substitute(texts | parts | scripts)


def _policy(scripts: Iterable[str], style: str) -> str:
    """Return the page's content policy: these scripts and this style sheet run, and nothing else does or is loaded.

    The hashes are of the texts exactly as they stand between the tags. Style attributes in HTML are refused too;
    scripts may still set styles of elements.
    """
    hashes = " ".join(map(_hash, scripts))
    return (
        f"default-src 'none'; script-src {hashes}; style-src {_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


_OVERLAY = '<label class="check"><input type="checkbox" id="boundaries" checked> Boundaries</label>'

_NOT_PRIVATE = (
    "Not private. This release was made for experiments, with reproducible noise or with true medians: it does not "
    "protect the records."
)


def _inlined(module: str) -> str:
    """Return a JavaScript module without imports and exports: in one script, all modules share their names."""
    without = re.sub(r"^import .*;\n", "", module, flags=re.MULTILINE)
    return re.sub(r"^export ", "", without, flags=re.MULTILINE)


def _json(data: dict[str, Any]) -> str:
    """Return JSON for a script element of the page, with no character that could end the element."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@singledispatch
def _first_map(estimate: Estimate, release: Release) -> Release:  # noqa: ARG001 - only tables have several maps
    """Return the release whose map the page shows first."""
    return release


@_first_map.register(TableCounts)
@_first_map.register(NetworkCounts)
def _(estimate: TableCounts | NetworkCounts, release: Release) -> Release:  # noqa: ARG001 - the release has it
    return single_map(cast("TableRelease", release), {})


def _data(release: Release, level: float) -> dict[str, Any]:
    shown = _first_map(release.estimate, release)
    data = _data_of_map(shown, level)
    return data if shown is release else data | {"table": _table(cast("TableRelease", release), shown, data)}


def _table(release: TableRelease, first: Release, data: dict[str, Any]) -> dict[str, Any]:
    return table_maps(release, first, data["estimate"], parts_of_table(release, first.estimate.values.size))


def _data_of_map(release: Release, level: float) -> dict[str, Any]:
    estimate, domain = release.estimate, release.domain
    cells = measured(map_cells(estimate, _shown_level(estimate)), counted=release.privacy.counted)
    high = cells.high(cells.values)
    return {
        "kind": estimate.kind,
        "bounds": domain.bounds,
        "ratio": _ratio(domain),
        "axes": ["longitude", "latitude"] if crs_.geographic(domain.crs) else ["x", "y"],
        "outline": outline(domain),
        "decimals": decimals_of(domain),
        "finest": cells.finest,
        "quantiles": quantile_table(level).tolist(),
        "level": float(level),
        "percent": f"{100 * level:.12g}",
        "biased": estimate.biased,
        "biasedReason": _BIASED,
        "unit": f"Estimated {cells.unit}",
        "counted": cells.counted,
        "per": _per(cells),
        "scale": {"soft": high * SOFT, "high": high},
        "look": _look(),
        "estimate": estimate_data(estimate),
        **_view(estimate, cells),
    }


@singledispatch
def _shown_level(estimate: Estimate) -> int | None:  # noqa: ARG001 - only zones can be too many to draw
    return None


@_shown_level.register
def _(estimate: ZoneCounts) -> int:
    return drawn_depth(estimate)


@singledispatch
def _view(estimate: Estimate, cells: MapCells) -> dict[str, Any]:  # noqa: ARG001 - only lists and zones have more
    return {}


@_view.register
def _(estimate: ListOverMap, cells: MapCells) -> dict[str, Any]:
    return {"finest": min(cells.finest, map_cells(estimate.listed).finest)}


@_view.register
def _(estimate: ZoneCounts, cells: MapCells) -> dict[str, Any]:
    return zone_view(estimate, cells.counted)


def _per(cells: MapCells) -> dict[str, Any]:
    """Return the unit of area of the map's numbers; for km², with prefix sums of the areas of parts of the domain."""
    if cells.per is not Per.KM2:
        return {"unit": str(cells.per)}
    grid = cells.domain.grid((_AREA_PARTS, _AREA_PARTS))
    columns, rows = np.meshgrid(np.arange(_AREA_PARTS), np.arange(_AREA_PARTS))
    parts = np.stack([columns, rows, columns + 1, rows + 1], axis=-1).reshape(-1, 4)
    areas = square_kilometres(cells.domain, grid.lattice_boxes(parts)).reshape(_AREA_PARTS, _AREA_PARTS)
    return {"unit": str(cells.per), "areas": packed(prefix_sums(areas), "f8")}


def _ratio(domain: Domain) -> float:
    """Return the height of the map divided by its width; a map too long or too flat to be seen is stretched."""
    width, height = domain.size
    return float(np.clip(height / width * aspect(domain), 1 / _LONGEST, _LONGEST))


def _look() -> dict[str, Any]:
    """Return the colours of the page, which are those of maps."""
    from matplotlib.colors import to_hex

    ends, uncertainties = UNCERTAINTIES[1:], uncertainty_colours()
    return {
        "colours": [to_hex(colour) for colour in palette()(np.arange(SHADES))],
        "classes": {"ends": ends, "colours": [to_hex(colour) for colour in uncertainties(np.arange(len(ends)))]},
        "noise": {"paper": to_hex(NOISE_PAPER), "ink": to_hex(NOISE_INK), "veil": VEIL},
    }


# --- words -----------------------------------------------------------------------------------------


@singledispatch
def size_in_words(estimate: Estimate) -> str:
    """Say how many cells or leaves an estimate has, in words for the page."""
    raise ReleaseError(f"the explorer cannot show a release of kind {estimate.kind!r}; save it as a file instead.")


@size_in_words.register
def _(estimate: Histogram) -> str:
    nx, ny = estimate.grid.shape
    return f"{estimate.n_cells:,} cells of a grid of {nx:,} × {ny:,}"


@size_in_words.register
def _(estimate: Decomposition) -> str:
    return f"{estimate.n_cells:,} leaves of a tree of {estimate.tree.height} levels"


@size_in_words.register
def _(estimate: Field) -> str:
    nx, ny = estimate.grid.shape
    return f"{estimate.n_cells:,} blocks of a grid of {nx:,} × {ny:,} cells"


@size_in_words.register
def _(estimate: ListedCells) -> str:
    return f"{estimate.n_cells:,} listed cells. {estimate.in_words().removesuffix('.')}"


@size_in_words.register
def _(estimate: ListOverMap) -> str:
    return f"{estimate.n_cells:,} blocks. {estimate.in_words().removesuffix('.')}"


@size_in_words.register
def _(estimate: ZoneCounts) -> str:
    sizes = np.diff(estimate.zones.shape.offsets).tolist()
    named = zip(sizes, estimate.zones.levels, strict=True)
    return "; ".join(f"{name}: {size:,}" for size, name in named if size > 1) or "one zone"


@size_in_words.register(TableCounts)
@size_in_words.register(NetworkCounts)
def _(estimate: TableCounts | NetworkCounts) -> str:
    sizes = " × ".join(f"{estimate.frame.axes[name].size:,} ({name})" for name in estimate.frame.names)
    return f"{estimate.n_cells:,} cells of a table, {sizes}"


def _technical(privacy: Privacy, domain: Domain) -> str:
    """Return the privacy statement as an HTML list of names and values."""
    rows = [
        ("Statement", str(privacy)),
        ("ε", format_exact(privacy.epsilon)),
        ("δ", format_exact(privacy.delta)),
        ("Neighbours", f"{privacy.neighbours} one {privacy.unit}"),
        *([] if privacy.person is None else [("Bound on a person", privacy.person.in_short())]),
        ("Estimates count", privacy.counted),
        ("Mechanism", privacy.mechanism),
        *((f"Parameter {name.replace('_', ' ')}", _value(value)) for name, value in privacy.parameters.items()),
        *((f"Spent on {step}", f"{privacy.currency} = {format_exact(cost)}") for step, cost in privacy.budget.items()),
        ("CRS", domain.crs or "not stated"),
        ("Bounds", ", ".join(map(repr, domain.bounds))),
        ("Private", "yes" if privacy.private else "no"),
        ("Version", f"spatialdp {privacy.version}"),
    ]
    entries = (f"<div><dt>{_words(name)}</dt><dd>{_words(text)}</dd></div>" for name, text in rows)
    return '<dl class="technical">' + "".join(entries) + "</dl>"


def _value(value: Any) -> str:
    """Return a mechanism's parameter in words."""
    plain = {None: "none", True: "yes", False: "no"}
    if value is None or isinstance(value, bool):
        return plain[value]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _words(text: str) -> str:
    """Return text for HTML in which a browser breaks no word with a hyphen, such as add-remove, into lines."""
    parts = re.split(r"([^\s()]{1,24}(?:-[^\s()-]{1,24}){1,2})", printable(text))
    escaped = [html.escape(part) for part in parts]
    return "".join(f'<span class="whole">{part}</span>' if i % 2 else part for i, part in enumerate(escaped))
