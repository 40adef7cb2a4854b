"""Texts in the usual ISO forms mean the same instants as Python says, and no others are read."""

from __future__ import annotations

import random
import warnings
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest

from spatialdp.records.rows.iso import read_usual
from spatialdp.space.frames.clock import instant_of


def large(texts):
    return pa.array(texts, pa.large_string())


def by_python(text):
    """The instant of a text and whether it is local, as Python reads it."""
    moment = datetime.fromisoformat(text)
    return instant_of(moment.replace(tzinfo=moment.tzinfo or UTC)), moment.tzinfo is None


@pytest.mark.parametrize("date", ["1970-01-01", "2024-02-29", "0001-01-01", "9999-12-31", "1900-02-28"])
@pytest.mark.parametrize("clock", ["", "T00:00", " 23:59", "T08:30:15", " 08:30:15.125", "T08:30:15.123456"])
@pytest.mark.parametrize("offset", ["", "Z", "+00:00", "-05:30", "+23:59"])
def test_usual_forms_are_read_as_python_reads_them(date, clock, offset):
    if not clock and offset:
        return
    text = date + clock + offset
    read = read_usual(large([None, text, "x" * len(text)]))
    assert read.known.tolist() == [False, True, False]
    assert (read.microseconds[1], read.local[1]) == by_python(text)


ODD = ["", "2024-02-30", "2023-02-29", "2024-13-01", "2024-00-10", "2024-01-00", "0000-01-01", "2024-01-01T24:00",
       "2024-01-01T08:60", "2024-01-01T08:30:60", "2024-01-01x08:30", "2024-01-01T08-30", "2024/01/01", "２024-01-01",
       "2024-01-01T08:30+24:00", "2024-01-01T08:30+01:60", "2024-01-01T08:30*01:00", "2024-01-01T08:30:15,125",
       " 2024-01-01", "20240101", "2024-W01-1", "2024-01-01+01:00", "2024-01-01T08:30:1a"]  # fmt: skip


def test_all_else_is_left_to_others_silently():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not read_usual(large(ODD)).known.any()
        assert read_usual(large([])).known.size == 0
        assert not read_usual(large([None, None])).known.any()


def test_one_changed_byte_never_makes_another_time_than_pythons():
    chance = random.Random(1)
    forms = ["2024-01-31T08:30:15+01:00", "2024-01-31 08:30", "2024-12-31T23:59:59.999999Z", "1969-07-20"]
    texts = []
    for _ in range(4000):
        text = list(chance.choice(forms))
        for _ in range(chance.randrange(3)):
            text[chance.randrange(len(text))] = chr(chance.choice([*range(0x20, 0x7F), 0xE9]))
        texts.append("".join(text))
    read = read_usual(large(texts))
    assert 1000 < read.known.sum() < len(texts)
    for place in np.flatnonzero(read.known).tolist():
        assert (read.microseconds[place], read.local[place]) == by_python(texts[place]), texts[place]


def test_slices_of_arrays_are_read_from_their_start():
    texts = large(["1970-01-01", "1970-01-02", "1970-01-01T00:00:01"])
    assert read_usual(texts[2:]).microseconds.tolist() == [10**6]
