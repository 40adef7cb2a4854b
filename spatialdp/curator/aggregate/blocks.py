"""Which records are in which block? Each record tosses its own coin, so one record changes one block alone.

Blocks by position would be wrong: if the first record is removed, all others move up, and every block changes. With
coins, a record that is added or removed changes one block, and so does one that is replaced, because the new record
takes the coin of the old one. If persons are the unit, all records of a person follow one coin.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp.privacy.noise.source import Noise
from spatialdp.records.rows.held import HeldRecords

__all__ = ["coins", "tables"]


def coins(held: HeldRecords, blocks: int, by_person: bool, noise: Noise) -> Integers:
    """Draw the block of each record, independently and uniformly; or of each person, for all of that person's records.

    Examples
    --------
    >>> from spatialdp.privacy.noise.source import SystemNoise
    >>> from spatialdp.records.rows.held import hold
    >>> from spatialdp.space.domain import Domain
    >>> coins(hold([[0.1, 0.2], [0.8, 0.9]], Domain((0, 0, 1, 1))), 1, False, SystemNoise())
    array([0, 0])
    """
    if not by_person:
        return noise.below(np.full(held.columns.size, blocks))
    assert held.persons is not None, "checked when the curator was made"
    coded = held.persons.dictionary_encode()
    drawn = noise.below(np.full(len(coded.dictionary), blocks))
    return np.asarray(drawn[coded.indices.to_numpy()])


def tables(held: HeldRecords, names: Sequence[str], block: Integers, blocks: int) -> Iterator[Floats]:
    """Yield the coordinates of the records of each block, and the numbers of some columns beside them.

    A record is taken to lie at the centre of its lattice square. The records of a block are sorted, so that their order
    says nothing.
    """
    squares = zip(held.domain.axes, (held.columns, held.rows), strict=True)
    columns = [axis.low + (each + 0.5) * axis.spacing for axis, each in squares]
    columns += [held.numbers(name) for name in names]
    order = np.lexsort((*columns[::-1], block))
    edges = np.searchsorted(block[order], np.arange(blocks + 1)).tolist()
    table = np.stack(columns, axis=1)[order]
    return (table[first:last] for first, last in itertools.pairwise(edges))
