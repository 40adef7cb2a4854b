"""What can a reader ask the explorer's page? A box, on maps of cells; a zone by its code, on maps of zones.

`question` makes the parts of the page that depend on it, as HTML: the form, the help, and the choice of a level. Places
and codes are public.
"""

from __future__ import annotations

import html
import math
from fractions import Fraction
from functools import singledispatch
from importlib import resources
from string import Template
from typing import TYPE_CHECKING, cast

from spatialdp.estimates.base import Estimate
from spatialdp.estimates.networks.counts import NetworkCounts
from spatialdp.estimates.tables.counts import TableCounts
from spatialdp.estimates.zones.counts import ZoneCounts
from spatialdp.outputs.explorer.tables import choices_in_html, parts_of_table
from spatialdp.outputs.explorer.zones import drawn_depth
from spatialdp.outputs.tables.single import single_map
from spatialdp.space.domain import Domain

if TYPE_CHECKING:
    from spatialdp.release import Release
    from spatialdp.table_release import TableRelease

__all__ = ["asset", "decimals_of", "first_box", "question"]

_MOST_DECIMALS = 100  # that JavaScript writes

_EXTRAPOLATION = (
    " The cells of this map have different sizes, so answers are corrected by what larger cells tell: the answers for "
    "two halves of a box need not add up to the answer for the box."
)
_CHOOSE = """
<p>Choose the time and the category that the map shows, or whatever else was counted. Each map has colours on a scale of
its own. A question that you asked is answered again for the map that you choose.</p>"""
_ADD_UP = " The estimates of zones add up to those of the zones above them."


def asset(name: str) -> str:
    """Return the text of one of the page's files."""
    return (resources.files("spatialdp.outputs.explorer") / "assets" / name).read_text(encoding="utf-8")


def decimals_of(domain: Domain) -> int:
    """Return the number of decimals for coordinates: enough for a millionth of the domain's shorter side."""
    return min(max(0, 6 - math.floor(math.log10(min(domain.size)))), _MOST_DECIMALS)


@singledispatch
def question(estimate: Estimate, release: Release) -> dict[str, str]:
    """Return the parts of the page that ask and explain, as HTML."""
    words = {
        "counted": html.escape(release.privacy.counted),
        "extrapolation": _EXTRAPOLATION if estimate.extrapolates else "",
    }
    return {
        "thing": "cell",
        "levels": "",
        "question": Template(asset("question_box.html")).substitute(first_box(release.domain)),
        "help": Template(asset("help_box.html")).substitute(words),
    }


@question.register(ZoneCounts)
def _(estimate: ZoneCounts, release: Release) -> dict[str, str]:
    words = {"counted": html.escape(release.privacy.counted), "sums": _ADD_UP if estimate.consistent else ""}
    return {
        "thing": "zone",
        "levels": _levels(estimate.zones.levels[: drawn_depth(estimate) + 1]),
        "question": Template(asset("question_zone.html")).substitute(),
        "help": Template(asset("help_zone.html")).substitute(words),
    }


@question.register(TableCounts)
@question.register(NetworkCounts)
def _(estimate: TableCounts | NetworkCounts, release: Release) -> dict[str, str]:  # noqa: ARG001 - the release has it
    table = cast("TableRelease", release)
    shown = single_map(table, {})
    words = question(shown.estimate, shown)
    choices = choices_in_html(parts_of_table(table, shown.estimate.values.size))
    return words | {"levels": choices + words["levels"], "help": words["help"] + (_CHOOSE if choices else "")}


def _levels(names: tuple[str, ...]) -> str:
    """Return the choice of a level; the lowest one is shown first."""
    last = len(names) - 1
    options = "".join(
        f'<option value="{depth}"{" selected" if depth == last else ""}>{html.escape(name)}</option>'
        for depth, name in enumerate(names)
    )
    return f'<label class="choice">Level <select id="level" autocomplete="off">{options}</select></label>'


def first_box(domain: Domain) -> dict[str, str]:
    """Return the box that the form starts with: the whole domain, rounded outwards."""
    decimals = decimals_of(domain)
    unit = 10**decimals  # with exact fractions, because a float could overflow
    rounding = {"xmin": math.floor, "ymin": math.floor, "xmax": math.ceil, "ymax": math.ceil}
    sides = zip(rounding.items(), domain.bounds, strict=True)
    return {name: f"{rounded(Fraction(side) * unit) / unit:.{decimals}f}" for (name, rounded), side in sides}
