"""Keys are mixed from the cell and a seed, which is the beginning of MD5 for texts of any length."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spatialdp.records.persons import keys
from spatialdp.records.persons.identifiers import persons_of
from spatialdp.records.persons.keys import FACTORS, SHIFTS, cell_keys, md5_keys, mixed
from tests.reference import persons as reference


def by_hand(text: str) -> int:
    return int(hashlib.md5(text.encode()).hexdigest()[:16], 16)


def test_texts_of_every_length_around_the_blocks():
    texts = ["x" * length for length in range(300)]
    assert md5_keys(pa.array(texts, pa.large_string())).tolist() == [by_hand(text) for text in texts]


@pytest.mark.parametrize("text", ["", "Zoë", "\0", "人" * 100, "a" * 10**6, "\U0001f600" * 16])
def test_odd_and_long_texts(text):
    assert md5_keys(pa.array([text, "other", text], pa.large_string())).tolist() == [
        by_hand(text),
        by_hand("other"),
        by_hand(text),
    ]


@given(st.lists(st.text(max_size=200)), st.integers(0, 5))
def test_keys_of_any_texts_and_of_slices_are_those_of_md5(texts, start):
    column = pa.array(texts, pa.large_string())
    assert md5_keys(column[start:]).tolist() == [by_hand(text) for text in texts[start:]]


def test_keys_are_big_endian_numbers_in_the_order_of_the_digits():
    texts = [str(number) for number in range(1000)]
    order = np.argsort(md5_keys(pa.array(texts, pa.large_string())))
    assert [texts[place] for place in order] == sorted(texts, key=lambda text: hashlib.md5(text.encode()).hexdigest())


@pytest.mark.parametrize("persons", [[0, 5, -7, 2**62], ["0", "5", "-7", str(2**62)]])
def test_keys_do_not_depend_on_the_type_of_persons(persons):
    cells = np.array([0, 2**28 - 1, 3, 2**63 - 1])
    expected = [reference.key(str(person), int(cell)) for person, cell in zip(persons, cells, strict=True)]
    assert cell_keys(persons_of(persons), np.arange(4), cells).tolist() == expected


@given(st.integers(0, 2**32 - 1))
def test_mixing_is_one_to_one(word):
    """Each step is undone: an exclusive or with the upper half, and products with inverses modulo 2^32."""
    found = int(mixed(np.array([word], dtype=np.uint32))[0])
    assert found == reference.mixed(word)
    for shift, factor in zip(SHIFTS[::-1], (None, *FACTORS[::-1]), strict=True):
        found = found if factor is None else found * pow(factor, -1, 2**32) % 2**32
        found ^= found >> shift ^ found >> 2 * shift
    assert found == word


def test_no_product_of_the_mixing_is_above_the_whole_numbers_of_engines():
    assert all((2**32 - 1) * factor < 2**63 for factor in FACTORS)


def test_neither_batches_nor_chunks_matter(monkeypatch):
    persons, cells = np.repeat(np.arange(1, 30), 7), np.arange(203)  # the first has no cell
    names = persons_of(["x" * number for number in range(30)])
    whole = cell_keys(names, persons, cells)
    monkeypatch.setattr(keys, "_MESSAGES", 11)
    monkeypatch.setattr(keys, "_CHUNK", 3)
    assert np.array_equal(cell_keys(names, persons, cells), whole)


def test_no_texts_have_no_keys():
    assert md5_keys(pa.array([], pa.large_string())).size == 0
    nothing = np.empty(0, dtype=np.int64)
    assert cell_keys(persons_of([]), nothing, nothing).size == 0
