"""Which rows do answers of released flows become? One for each pair of an origin and a destination that is asked for.

An end that is not asked for is summed over all places. Places are zones, by their codes, or boxes, if flows are between
the cells of a grid. Answers come from a release, never from a record.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from spatialdp.cli.answers import with_answers
from spatialdp.cli.options.values import Numbers

if TYPE_CHECKING:
    import pandas as pd

    from spatialdp.flows.release import FlowRelease

__all__ = ["answer_flows", "require_flows"]

_CUT = (
    "note: a box cuts cells. Records are taken to be evenly spread within a cell, and the interval covers the answer "
    "without noise; how records lie within a cut cell is not known."
)

_BOX = Numbers("XMIN", "YMIN", "XMAX", "YMAX")
_LISTED = (
    "note: pairs are listed if their noisy count was at least {threshold:,.6g}. Answers that name both ends are about "
    "listed pairs; flows that are not listed are missing."
)


def require_flows(release: Any) -> FlowRelease:
    """Return a release, checked to be of flows."""
    if release.estimate.kind != "flows":
        raise click.UsageError(
            "this release is of places and not of flows between them; leave --origin and --destination out, and ask "
            "for boxes or zones."
        )
    flows: FlowRelease = release
    return flows


def answer_flows(
    source: FlowRelease, ends: Mapping[str, Sequence[str]], level: float, *, together: bool
) -> pd.DataFrame:
    """Return the answers to all pairs of what is asked at both ends.

    Parameters
    ----------
    source : FlowRelease
    ends : dict of str to sequence of str
        Codes or boxes by the name of the end: ``"origin"``, ``"destination"``.
    level : float
    together : bool
        Whether several codes in one text are taken as one place; else each is answered by itself.
    """
    import numpy as np
    import pandas as pd

    from spatialdp.space.frames.selection import select

    asked = {name: _places(source, name, texts, together=together) for name, texts in ends.items() if texts}
    if any(select(source.frame.space, places).shares is not None for places in asked.values()):
        click.echo(_CUT, err=True)
    if source.estimate.listing is not None and len(asked) == 2:
        click.echo(_LISTED.format(threshold=source.estimate.listing.threshold), err=True)
    labels = itertools.product(*([_label(place) for place in places] for places in asked.values()))
    frame = pd.DataFrame(list(labels), columns=list(asked))
    answers = np.ravel(source.answer(**asked))
    return with_answers(frame, source, answers, lambda: source.interval(**asked, level=level).reshape(-1, 2))


def _places(source: FlowRelease, end: str, texts: Sequence[str], *, together: bool) -> list[Any]:
    """Return what is asked at one end, as `FlowRelease.answer` takes it."""
    if source.frame.space_name == "box":
        return [_BOX.convert(text, _option(end), None) for text in texts]
    lists = [tuple(code.strip() for code in text.split(",")) for text in texts]
    if together:
        return [codes[0] if len(codes) == 1 else codes for codes in lists]
    return [code for codes in lists for code in codes]


def _option(end: str) -> click.Option:
    """Return the option that asks for an end, for the messages of its type."""
    return click.Option([f"--{end}"])


def _label(place: Any) -> str:
    """Return the name of what was asked, as it is typed."""
    if isinstance(place, str):
        return place
    return ",".join(f"{each:.15g}" if isinstance(each, float) else each for each in place)
