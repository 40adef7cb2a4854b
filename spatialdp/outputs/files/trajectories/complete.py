"""How are released trajectories stored completely, and how is a file checked that claims to hold some? See `load`.

The file is Parquet with one column: counts of pairs of ends, of lengths and of extents, weights of all cells, of the
moves from those that were kept, and of habits, one after the other. The header holds the domain, the systems, the
noise and the privacy statement. Files come from anywhere: every number is checked before it is used, and a file must
hold as many numbers as its systems need, so that no forged header can ask for memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from spatialdp._support.arrays import Array
from spatialdp._support.json_values import amount, fraction, whole
from spatialdp.estimates.flows.counts import FlowCounts, margins_of
from spatialdp.estimates.flows.fit import CountNoise
from spatialdp.estimates.trajectories.model import PathModel
from spatialdp.estimates.trajectories.tables import LengthTable
from spatialdp.outputs.files.limits import WIDEST_STEP, check_estimates, check_moments
from spatialdp.space.domain import Domain
from spatialdp.space.frames.frame import Frame
from spatialdp.space.paths.systems import (
    CLASSES,
    EXTENTS,
    LONGEST_STEP,
    MOST_CHANCES,
    MOST_END_LEVELS,
    MOST_LEVELS,
    MOST_STEPS,
    TURNS,
    System,
    length_edges,
)
from spatialdp.space.regions.cells import RegionCells

__all__ = ["path_columns", "path_header", "rebuild_paths"]

_LARGEST_SCALE = 1e45


def path_header(estimate: PathModel) -> dict[str, Any]:
    """Return everything about trajectories that their column of numbers does not hold, as JSON values."""
    laws = {"ends": estimate.ends.pair, "lengths": estimate.lengths.noise, "extents": estimate.extents.noise}
    return {
        "kind": estimate.kind,
        "seconds": str(estimate.seconds),
        "longest": estimate.longest,
        "levels": {"blocks": estimate.blocks.level, "system": estimate.system.level},
        "scale": estimate.scale,
        "noise": {
            name: {"variance": law.variance, "kurtosis": law.kurtosis, "step": law.step} for name, law in laws.items()
        },
    }


def path_columns(estimate: PathModel) -> dict[str, Array]:
    """Return all numbers of released trajectories in one column."""
    groups = estimate.ends.values, estimate.lengths.values, estimate.extents.values
    weights = estimate.cells, estimate.moves, estimate.habits
    return {"estimate": np.concatenate([each.ravel() for each in (*groups, *weights)])}


def rebuild_paths(header: Mapping[str, Any], columns: Mapping[str, Array], domain: Domain) -> PathModel:
    """Rebuild trajectories from their numbers; raise ValueError, KeyError or TypeError if they are not valid."""
    values, levels = columns["estimate"], header["levels"]
    check_estimates(values)
    blocks = System(whole(levels["blocks"], 0, MOST_END_LEVELS))
    system = System(whole(levels["system"], blocks.level, MOST_LEVELS))
    longest = whole(header["longest"], 1, MOST_STEPS)
    if longest * system.n_cells > MOST_CHANCES or domain.region_cells is RegionCells.CENTRES:
        raise ValueError("the systems are none that trajectories are released in")
    frame = Frame(domain.grid((blocks.side, blocks.side)))
    ends, lengths, extents, cells, rest = _divided(values, frame.space.size, length_edges(longest).size - 1, system)
    moves, habits = rest[: -TURNS - 2], rest[-TURNS - 2 :]
    if np.any(cells < 0) or np.any(cells[~system.inside(domain)] > 0) or moves.size != 8 * np.count_nonzero(cells):
        raise ValueError("the moves are not those of the cells that were kept")
    noise = {name: _noise(header["noise"][name]) for name in ("ends", "lengths", "extents")}
    return PathModel(
        seconds=_seconds(header["seconds"]),
        blocks=blocks,
        system=system,
        longest=longest,
        ends=FlowCounts(frame, None, ends, *margins_of(ends), noise["ends"], None),
        lengths=LengthTable(lengths, noise["lengths"]),
        extents=LengthTable(extents, noise["extents"]),
        cells=cells,
        moves=moves.reshape(-1, 8),
        habits=habits,
        scale=amount(header["scale"], _LARGEST_SCALE),
    )


def _seconds(value: Any) -> Fraction:
    seconds = fraction(value)
    if not Fraction(1, 10**6) <= seconds <= LONGEST_STEP or (seconds * 10**6).denominator > 1:
        raise ValueError("not a step of time")
    return seconds


def _divided(values: Array, places: int, lengths: int, system: System) -> tuple[Array, ...]:
    """Return the numbers of ends, lengths, extents and cells, and the rest: moves and habits."""
    ends = np.cumsum([places**2, CLASSES * lengths, len(EXTENTS) * lengths, system.n_cells])
    if values.size < ends[-1] + TURNS + 2:
        raise ValueError("numbers are missing")
    pairs, by_distance, by_extent, cells, rest = np.split(values, ends)
    return pairs, by_distance.reshape(CLASSES, -1), by_extent.reshape(len(EXTENTS), -1), cells, rest


def _noise(data: Mapping[str, Any]) -> CountNoise:
    variance, kurtosis = amount(data["variance"]), amount(data["kurtosis"])
    check_moments(np.array(variance), np.array(kurtosis))
    return CountNoise(variance, kurtosis, amount(data["step"], WIDEST_STEP))
