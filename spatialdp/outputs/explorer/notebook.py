"""How do a release and its explorer's page appear in a notebook? As a table, and in a frame that holds the whole page.

No file is written. The frame is sandboxed: the page may run its own scripts and use its form, and can reach neither the
notebook nor the network.
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, Any

from spatialdp._support.tables import html_table
from spatialdp.estimates.base import Estimate
from spatialdp.estimates.networks.counts import NetworkCounts
from spatialdp.estimates.tables.counts import TableCounts
from spatialdp.estimates.zones.counts import ZoneCounts
from spatialdp.outputs.explorer.page import page_text, size_in_words
from spatialdp.privacy.statement import NOT_PRIVATE
from spatialdp.space.domain import Domain

if TYPE_CHECKING:
    from spatialdp.release import Release

__all__ = ["NotebookPage", "release_table"]

_HEIGHT = 640  # of the frame, in pixels


@dataclass(frozen=True)
class NotebookPage:
    """The explorer's page of a release, as notebooks show it.

    Attributes
    ----------
    text : str
        The page as HTML.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> release = sdp.Flat(shape=(2, 2)).release([], sdp.Domain((0, 0, 1, 1)), epsilon=1)
    >>> page = release.explore()
    >>> page._repr_html_().startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;')
    True
    """

    text: str

    @classmethod
    def of(cls, release: Release, **options: Any) -> NotebookPage:
        """Make the page of a release; the options are those of `page.page_text`."""
        return cls(page_text(release, **options))

    def _repr_html_(self) -> str:
        """The page in a frame."""
        look = "width:100%;border:1px solid #c4c9cd;border-radius:6px"
        return (
            f'<iframe srcdoc="{html.escape(self.text)}" sandbox="allow-scripts allow-forms" height="{_HEIGHT}" '
            f'style="{look}" title="Map of a release"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<NotebookPage: {len(self.text):,} characters of HTML>"


def release_table(release: Release) -> str:
    """Return a release as an HTML table: its size and place, its total, and its promise.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> release = sdp.Flat(shape=(2, 2)).release([], sdp.Domain((0, 0, 1, 1)), epsilon=1)
    >>> release._repr_html_() == release_table(release)
    True
    """
    estimate, privacy = release.estimate, release.privacy
    rows = {
        **_place(estimate, release.domain),
        "total": f"about {release.total:,.0f} {privacy.counted}, estimated from the release",
        "intervals": "none: the estimates are biased" if estimate.biased else "yes",
        "promise": str(privacy),
    }
    warning = "" if privacy.private else NOT_PRIVATE
    note = f"{privacy.in_words()} {privacy.counted_in_words()}".rstrip()
    return html_table("Release", rows.items(), warning=warning, note=note)


@singledispatch
def _place(estimate: Estimate, domain: Domain) -> dict[str, str]:
    """Return how many areas there are, and where."""
    return {
        "cells": f"{estimate.n_cells:,}",
        "bounds": ", ".join(f"{edge:.15g}" for edge in domain.bounds),
        "CRS": domain.crs or "none",
        "region": "all of the bounds" if domain.region is None else "a part of the bounds",
    }


@_place.register(ZoneCounts)
def _(estimate: ZoneCounts, domain: Domain | None) -> dict[str, str]:
    named = {} if estimate.zones.name is None else {"frame": estimate.zones.name}
    return {"zones": size_in_words(estimate), **named, **_bounds(domain)}


@_place.register(TableCounts)
@_place.register(NetworkCounts)
def _(estimate: TableCounts | NetworkCounts, domain: Domain | None) -> dict[str, str]:
    return {"cells": size_in_words(estimate), **_bounds(domain)}


def _bounds(domain: Domain | None) -> dict[str, str]:
    """Return where zones are, if they are anywhere."""
    if domain is None:
        return {"place": "none: the zones are codes alone"}
    return {"bounds": ", ".join(f"{edge:.15g}" for edge in domain.bounds), "CRS": domain.crs or "none"}
