"""Bounding persons, slowly and obviously: one person after the other, with Python's own MD5 and integers."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict

from spatialdp import Person


def mixed(word: int) -> int:
    """32 bits, mixed."""
    word = (word ^ word >> 16) * 0x21F0AAAD % 2**32
    word = (word ^ word >> 15) * 0x735A2D97 % 2**32
    word = (word ^ word >> 15) * 0x21F0AAAD % 2**32
    return word ^ word >> 16


def key(person: str, cell: int) -> int:
    """What a person's cells are ordered by."""
    seed = int(hashlib.md5(f"spatialdp|{person}".encode()).hexdigest()[:8], 16)
    return mixed(seed ^ mixed(cell >> 32) ^ cell % 2**32)


def kept(persons: list, cells: list[int], n_cells: int, bound: Person) -> dict[tuple[str, int], int]:
    """What is kept of each person (a text) in each cell; `persons` has None for records without one."""
    records: dict[str, Counter] = defaultdict(Counter)
    for person, cell in zip(persons, cells, strict=True):
        if person is not None and 0 <= cell < n_cells:
            records[str(person)][cell] += 1
    result = {}
    for person, own in records.items():
        keys = {cell: key(person, cell) for cell in own}
        left = bound.most
        for cell in sorted(own, key=lambda cell: (keys[cell], cell)):
            if bound.shares:
                result[person, cell] = own[cell] * 2**20 // own.total()
            else:
                result[person, cell] = min(left, own[cell] if bound.records else 1)
                left -= result[person, cell]
    return {pair: amount for pair, amount in result.items() if amount}


def counts(persons: list, cells: list[int], n_cells: int, bound: Person) -> list[int]:
    """The bounded count of each cell."""
    totals = [0] * n_cells
    for (_, cell), amount in kept(persons, cells, n_cells, bound).items():
        totals[cell] += amount
    return totals
