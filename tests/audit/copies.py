"""Many copies of a tiny problem in one release of zones, tables, flows or months: each copy is a trial.

As for maps (`black_box.Copies`), each measurement lies within one copy, and no measurement above the copies has budget,
so a mechanism treats each copy as if it were alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

import spatialdp as sdp
from spatialdp.privacy.noise.source import SeededNoise
from tests.audit.one_by_one import Data
from tests.helpers.cases import DELTA

COPIES = 64 * 64
_CELLS = 4 * 4  # of a copy
_UNLISTED = -1.0
_PLACES = 1024  # of trips: four for each copy, so that there are not too many pairs for the list


@dataclass(frozen=True)
class CopiesIn:
    """Releases on a frame that holds many copies of a problem of 4 × 4 places.

    Attributes
    ----------
    released : callable
        Maps (data, terms) to a function of noise, which gives samples, (copies, numbers).
    gaussian : bool
        Whether the noise needs a δ.
    """

    released: Callable[[Data, dict[str, Any]], Callable[[Any], Any]]
    gaussian: bool = False

    def draw(self, data: Data, epsilon: Fraction, relation: str, trials: int, seed: tuple[int, ...]) -> Any:
        """Return the samples of as many releases as the trials need."""
        terms = {"epsilon": epsilon, "delta": DELTA if self.gaussian else 0, "neighbours": relation}
        once, parts, size = self.released(data, terms), [], 0
        while size < trials:
            parts.append(once(SeededNoise((*seed, len(parts)))))
            size += len(parts[-1])
        return np.concatenate(parts)[:trials]


def _prepared(mechanism: Any, frame: Any, records: Any, view: Callable[[Any], Any], terms: dict[str, Any]) -> Any:
    prepared = mechanism.prepare(frame, **terms)
    return lambda noise: view(prepared.release(records, noise=noise).estimate)


def _everywhere(numbers: list[int], copies: int, step: int) -> Any:
    """Return numbers of a copy's places for all copies."""
    return (step * np.arange(copies)[:, None] + np.array(numbers, dtype=np.int64)).ravel()


# --- zones: a copy has 1 + 4 + 16 zones ---------------------------------------------------------------


@cache
def _zones() -> sdp.Zones:
    codes = [f"{copy:04d}{block}{zone}" for copy in range(COPIES) for block in range(4) for zone in range(4)]
    return sdp.Zones.from_codes(codes, None, {"copy": 4, "block": 5, "zone": 6})


def zones(**options: Any) -> CopiesIn:
    """Return copies in a tree of zones, whose root has no budget."""

    def released(data: Data, terms: dict[str, Any]) -> Any:
        frame, numbers = _zones(), [4 * (column // 2 + row // 2 * 2) + column % 2 + row % 2 * 2 for column, row in data]
        codes = frame.codes[frame.leaf_nodes][_everywhere(numbers, COPIES, _CELLS)]
        mechanism = sdp.ZoneTree(budget=(0, 1, 1, 1), **options)
        return _prepared(mechanism, frame, sdp.Codes(codes.tolist()), view, terms)

    def view(estimate: Any) -> Any:
        depth = estimate.zones.shape.depth
        return np.hstack([estimate.values[depth == level].reshape(COPIES, -1) for level in (1, 2, 3)])

    return CopiesIn(released, options.get("law") == "gaussian")


# --- tables: a copy has four cells in a block, and four kinds -----------------------------------------


@cache
def _frame() -> sdp.Frame:
    side = 2 * 64
    return sdp.Frame(sdp.Domain((0, 0, side, side)).grid((side, side)), blocks=2, kind=sdp.Categories(list("abcd")))


def _places(data: Data) -> tuple[Any, Any]:
    """Return where the records of all copies are, and of which kind."""
    corners = 2 * np.stack(np.meshgrid(np.arange(64), np.arange(64)), axis=-1).reshape(-1, 1, 2)
    inside = np.array([(row % 2, row // 2) for _, row in data], dtype=float).reshape(1, -1, 2)
    return (corners + inside + 0.5).reshape(-1, 2), ["abcd"[column] for column, _ in data] * COPIES


@cache
def _by_copy() -> Any:
    """Return the order of the table's cells by copy: the table has them in an order of its own."""
    row, column = np.divmod(_frame().space.cells, 2 * 64)
    return np.lexsort((column, row, column // 2, row // 2))


def table(budget: Any = None, **options: Any) -> CopiesIn:
    """Return copies in a table of cells and kinds; unless cells alone are counted, then blocks, and no box above."""

    def released(data: Data, terms: dict[str, Any]) -> Any:
        xy, kinds = _places(data)
        mechanism = sdp.Table(budget=budget or {"box": (0, 1, 1), "kind": (1, 1)}, **options)
        return _prepared(mechanism, _frame(), sdp.Rows(xy, kind=kinds), view, terms)

    def view(estimate: Any) -> Any:
        values = np.moveaxis(estimate.values, list(_frame().axes).index("kind"), -1)
        return values[_by_copy()].reshape(COPIES, _CELLS)

    return CopiesIn(released, options.get("law") == "gaussian")


# --- trips: a copy has four origins and four destinations ---------------------------------------------


def flows(**options: Any) -> CopiesIn:
    """Return copies in a list of flows, whose margins are counted by themselves."""
    copies = _PLACES // 4

    def released(data: Data, terms: dict[str, Any]) -> Any:
        grid = sdp.Domain((0, 0, _PLACES, 1)).grid((_PLACES, 1))
        ends = (_everywhere([place[end] for place in data], copies, 4) for end in (0, 1))
        trips = sdp.Trips(*(np.stack([end + 0.5, np.full(end.size, 0.5)], axis=1) for end in ends))
        return _prepared(sdp.Flows("listed", **options), grid, trips, view, terms)

    def view(estimate: Any) -> Any:
        pairs = np.full(_PLACES**2, _UNLISTED)
        pairs[estimate.numbers] = estimate.values
        blocks = pairs.reshape(copies, 4, copies, 4)[np.arange(copies), :, np.arange(copies)]
        ends = (each.reshape(copies, 4) for each in (estimate.origins, estimate.destinations))
        return np.hstack([blocks.reshape(copies, _CELLS), *ends])

    return CopiesIn(released)


# --- months as they come: a copy has four cells and four months ---------------------------------------


def running() -> CopiesIn:
    """Return copies in four months, of which each has the same cells."""
    side = 2 * 64

    def released(data: Data, terms: dict[str, Any]) -> Any:
        frame = sdp.Frame(sdp.Domain((0, 0, side * side, 1)).grid((side * side, 1)))
        cells = [_everywhere([row for column, row in data if column == month], COPIES, 4) for month in range(4)]
        months = [np.stack([each + 0.5, np.full(each.size, 0.5)], axis=1) for each in cells]

        def once(noise: Any) -> Any:
            series = sdp.Running(4).start(frame, **terms)
            measured = [series.add(month, noise=noise) for month in months][-1].measured
            return measured.reshape(4, COPIES, 4).swapaxes(0, 1).reshape(COPIES, _CELLS)

        return once

    return CopiesIn(released, gaussian=True)


COPIES_IN: dict[str, CopiesIn] = {
    "zones": zones(),
    "zones, raw": zones(consistent=False),
    "zones, fine": zones(law="laplace"),
    "zones, gaussian": zones(law="gaussian"),
    "table": table(),
    "table, cells": table("cells"),
    "table, fine": table(law="laplace"),
    "table, gaussian": table(law="gaussian"),
    "flows, listed": flows(false=10_000),
    "flows, slides": flows(false=10_000, remeasure=0),
    "running": running(),
}
