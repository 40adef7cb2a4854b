"""Blocks of records: independent and even coins, one for each record or person, and sorted tables."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import spatialdp as sdp
from spatialdp.curator.aggregate.blocks import coins, tables
from spatialdp.privacy.noise.source import SeededNoise
from spatialdp.records.rows.held import hold
from tests.helpers.laws import FALSE_ALARM

DOMAIN = sdp.Domain((0, 0, 8, 8))


def held(points, person=None, **columns):
    places = sdp.Points(np.array(points, dtype=float).reshape(-1, 2), person=person)
    bound = None if person is None else sdp.Person(records=5)
    return hold(sdp.Rows(places, **columns) if columns else places, DOMAIN, bound)


@pytest.mark.statistical
def test_every_block_is_equally_likely():
    drawn = coins(held(np.ones((30_000, 2))), 7, False, SeededNoise(1))
    counts = np.bincount(drawn, minlength=7)
    assert stats.chisquare(counts).pvalue > FALSE_ALARM
    assert stats.chisquare(counts, np.array([0.9, 1.1, 1, 1, 1, 1, 1]) * counts.sum() / 7).pvalue < FALSE_ALARM
    following = np.bincount(drawn[:-1] * 7 + drawn[1:], minlength=49)
    assert stats.chisquare(following).pvalue > FALSE_ALARM  # the coins of neighbours in the table are independent


def test_records_have_coins_of_their_own_and_persons_too():
    persons = np.repeat(np.arange(40), 5)
    records = held(np.ones((200, 2)), person=persons)
    by_person = coins(records, 10, True, SeededNoise(1)).reshape(40, 5)
    assert (by_person == by_person[:, :1]).all()
    assert len(np.unique(by_person)) > 5
    by_record = coins(records, 10, False, SeededNoise(1)).reshape(40, 5)
    assert (by_record != by_record[:, :1]).any()


def test_tables_hold_each_record_once_in_its_block():
    rng = np.random.default_rng(1)
    points, prices = rng.random((50, 2)) * 8, np.arange(50.0)
    records = held(points, price=prices)
    block = rng.integers(0, 4, 50)
    found = list(tables(records, ["price"], block, 5))
    assert [len(table) for table in found] == [*np.bincount(block, minlength=5)]
    for number, table in enumerate(found):
        chosen = np.sort(table[:, 2]).astype(int)
        assert np.array_equal(chosen, np.flatnonzero(block == number))
        assert np.allclose(table[:, :2], points[table[:, 2].astype(int)], atol=8 / 2**30)


def test_order_in_the_table_says_nothing():
    rng = np.random.default_rng(2)
    points, block = rng.integers(0, 3, (60, 2)) + 0.5, rng.integers(0, 3, 60)
    order = rng.permutation(60)
    plain, mixed = (
        [table.tolist() for table in tables(held(points[each]), [], block[each], 3)] for each in (np.arange(60), order)
    )
    assert plain == mixed


def test_no_records_leave_all_blocks_empty():
    assert [len(table) for table in tables(held([]), [], np.array([], dtype=int), 3)] == [0, 0, 0]
