"""What does one release of each kind tell an adversary? Numbers of a release of a tiny data set, for the black box.

`trial` takes a setting of any list of cases and a data set of `black_box`: places in a square of 4 × 4 cells. The first
place is the first zone, cell or pair of the setting, the last place its last one. What the adversary reads has as many
numbers for every release of a setting, whatever is chosen or listed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from functools import partial, singledispatch
from typing import Any
from unittest import mock

import numpy as np

import spatialdp as sdp
from spatialdp.curator.aggregate import aggregation
from spatialdp.curator.answers import Answers
from spatialdp.estimates.flows.counts import FlowCounts
from spatialdp.estimates.networks.counts import NetworkCounts
from spatialdp.estimates.sparse.listed import ListedCells
from spatialdp.estimates.sparse.over_map import ListOverMap
from spatialdp.estimates.trajectories.model import PathModel
from spatialdp.privacy.noise.source import Noise
from tests.audit.aggregates import in_this_process
from tests.audit.one_by_one import Data
from tests.audit.zones import leaves_that_may_change
from tests.helpers.cases import Setting
from tests.helpers.curator_cases import STATES, CuratorSetting
from tests.helpers.flow_cases import FlowSetting
from tests.helpers.running_cases import RunningSetting
from tests.helpers.table_cases import TableSetting
from tests.helpers.trajectory_cases import SIDE, TrajectorySetting
from tests.helpers.zone_cases import ZoneSetting

Trial = Callable[[Noise], Any]
_OWNER, _PLACES = 7, 16
_UNLISTED = -1.0
_MOST_ANSWERS = 4  # of a question that ends sooner or later


@singledispatch
def trial(setting: Any, data: Data, epsilon: Fraction) -> Trial:
    """Return a function of noise that makes one release, and returns the numbers that an adversary reads from it."""
    prepared = setting.mechanism.prepare(setting.domain, **setting.terms | {"epsilon": epsilon})
    records = records_of(setting, data)
    return lambda noise: told(prepared.release(records, noise=noise).estimate)


def _owners(setting: Any, data: Data) -> list[int] | None:
    """Whose records they are: one person's, if persons are the unit."""
    return None if setting.person is None else [_OWNER] * len(data)


def _numbers(data: Data, size: int) -> list[int]:
    """Places as numbers below a size; the first and the last place are the first and the last number."""
    return [(column + 4 * row) * (size - 1) // (_PLACES - 1) for column, row in data]


# --- records -------------------------------------------------------------------------------------------


@singledispatch
def records_of(setting: Any, data: Data) -> Any:
    """Return the records of a data set."""
    raise NotImplementedError(f"nobody has said what the records of {type(setting).__name__} are")


@records_of.register
def _(setting: Setting, data: Data) -> Any:
    xmin, ymin, xmax, ymax = setting.domain.bounds
    shares = (np.array(data, dtype=float).reshape(-1, 2) + 0.5) / 4
    return sdp.Points(shares * (xmax - xmin, ymax - ymin) + (xmin, ymin), person=_owners(setting, data))


@records_of.register
def _(setting: ZoneSetting, data: Data) -> Any:
    leaves = leaves_that_may_change(setting)
    return setting.records([leaves[number] for number in _numbers(data, len(leaves))], _owners(setting, data))


@records_of.register
def _(setting: TableSetting, data: Data) -> Any:
    return setting.records(_numbers(data, setting.domain.n_cells), _owners(setting, data))


@records_of.register
def _(setting: FlowSetting, data: Data) -> Any:
    return setting.records(_numbers(data, setting.places.space.size**2), _owners(setting, data))


@records_of.register
def _(setting: TrajectorySetting, data: Data) -> Any:
    starts = [2 * column + 2 * row * SIDE for column, row in data]
    return setting.records([[start, start + SIDE + 1] for start in starts], _owners(setting, data))


# --- numbers -------------------------------------------------------------------------------------------


@singledispatch
def told(estimate: Any) -> Any:
    """Return the numbers of an estimate, always as many."""
    return np.nan_to_num(estimate.values.ravel())  # a zone that is not measured has none


@told.register
def _(estimate: ListedCells) -> Any:
    """Return the counts of 16 cells, as far as they are listed, and how many are listed."""
    steps = 2 * np.arange(4) + 1
    columns, rows = (steps * size // 8 for size in estimate.grid.shape)
    counts = dict(
        zip(zip(estimate.columns.tolist(), estimate.rows.tolist(), strict=True), estimate.values, strict=True)
    )
    cells = itertools.product(columns.tolist(), rows.tolist())
    return np.array([*(counts.get(cell, _UNLISTED) for cell in cells), estimate.values.size])


@told.register
def _(estimate: ListOverMap) -> Any:
    return np.concatenate([told(estimate.listed), estimate.map.values])


@told.register
def _(estimate: FlowCounts) -> Any:
    pairs = np.full(estimate.frame.space.size**2, _UNLISTED)
    pairs[slice(None) if estimate.numbers is None else estimate.numbers] = estimate.values.ravel()
    return np.concatenate([pairs, estimate.origins, estimate.destinations])


@told.register
def _(estimate: NetworkCounts) -> Any:
    """Return the number of records, and of each attribute its counts, its parents, and the ends of its table."""
    alone = [table.reshape(table.shape[0], -1).sum(axis=1) for table in estimate.tables]
    order = np.argsort([family.child for family in estimate.families])
    parents = [len(estimate.families[place].parents) for place in order]
    ends = [number for table in estimate.tables for number in (table.flat[0], table.flat[-1])]
    return np.concatenate([[estimate.counted, *parents, *ends], *(alone[place] for place in order)])


@told.register
def _(estimate: PathModel) -> Any:
    """Return listed ends, lengths, habits, which system was chosen, and the weights there, in total and at the ends."""
    pairs = np.full(estimate.blocks.n_cells**2, _UNLISTED)
    pairs[estimate.pairs] = estimate.flows
    cells, moves = estimate.cells, estimate.moves
    weights = [cells[0], cells[-1], cells.sum(), moves[:1].sum(), moves[-1:].sum(), moves.sum(), len(moves)]
    return np.concatenate([pairs, estimate.lengths.ravel(), estimate.habits, [estimate.system.level, *weights]])


# --- what is released in another way ---------------------------------------------------------------------


@trial.register
def _(setting: RunningSetting, data: Data, epsilon: Fraction) -> Trial:
    """Columns of the square are months, and rows are cells."""
    months: list[list[int]] = [[] for _ in range(setting.mechanism.horizon)]
    for column, row in data:
        months[column * (len(months) - 1) // 3].append(row * (setting.domain.n_cells - 1) // 3)
    records = setting.records(months)

    def once(noise: Noise) -> Any:
        series = setting.mechanism.start(setting.domain, **setting.terms | {"epsilon": epsilon})
        return [series.add(month, noise=noise) for month in records][-1].measured.ravel()

    return once


@trial.register
def _(setting: CuratorSetting, data: Data, epsilon: Fraction) -> Trial:
    places = 2 * np.array(data, dtype=float).reshape(-1, 2) + 1
    prices = [10.0 - 5 * column for column, _ in data]
    rows: Any = sdp.Points(places, person=_owners(setting, data))
    if setting.person is None:
        rows = sdp.Rows(places, price=prices, state=[STATES[column % 2] for column, _ in data])
    return partial(_asked, setting, rows, epsilon)


def _asked(setting: CuratorSetting, rows: Any, epsilon: Fraction, noise: Noise) -> Any:
    """Return the answers of a question; a user's function is computed in this process."""
    with (
        mock.patch.object(aggregation, "results", in_this_process),
        mock.patch("spatialdp.curator.selections.questions.check_function"),
    ):
        answers = setting.asked(setting.curator(rows, noise), epsilon)
    values = [np.ravel(each.values if isinstance(each, Answers) else each.estimate.values) for each in answers]
    found = np.concatenate(values).astype(float)
    if setting.case.startswith("above_threshold"):
        return np.append(found, np.full(_MOST_ANSWERS - found.size, _UNLISTED))
    return found
