"""In which order are a person's cells kept? By a key of person and cell, the same here as in every engine.

A person has a seed: the first 8 hexadecimal digits of the MD5 digest of ``spatialdp|<person>``, as a number of 32 bits.
The key of a person and a cell is mixed from the seed and the number of the cell, by shifts, exclusive ors and products
modulo 2^32. It depends on nothing else, so a person's order of cells follows from that person's own records.

Why MD5? DuckDB, PostgreSQL, Spark and others have it as a function of text with one definition; of faster hashes each
engine has its own. Why not MD5 of every cell? It takes more time than all the rest of a count. Products of numbers
below 2^32 and 2^31 fit into the whole numbers of every engine. Here both run on arrays of numpy.

**Privacy does not rest on keys**: with any function of person and cell, even a constant one, adding or removing a
person leaves everyone else's cells as they are. Keys only make the choice even, so that no place is kept more often
than others. The mixing is one-to-one, and seed and cell enter it by exclusive or. So of two cells below 2^32, each
comes before the other for exactly half of all seeds, and their keys differ. That MD5 is broken as a signature does not
matter: whoever can choose identifiers to prefer certain cells could as well choose the records.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Array, Integers
from spatialdp.records.persons.identifiers import texts_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FACTORS", "MIXED_BITS", "SALT", "SHIFTS", "cell_keys", "md5_keys", "mixed"]

Keys = npt.NDArray[np.uint64]
Words = npt.NDArray[np.uint32]

SALT = "spatialdp|"  # a public constant
MIXED_BITS = 32
SHIFTS = (16, 15, 15, 16)
FACTORS = (0x21F0AAAD, 0x735A2D97, 0x21F0AAAD)  # odd and below 2^31; with two of them some sets were kept too often
_BLOCK = 64  # bytes that MD5 takes in at a time
_LENGTH = 8  # bytes at the end of the last block that hold the length of the message; one more marks where it ended
_MOST_BLOCKS = 4  # of texts that are hashed together; identifiers are rarely that long
_MESSAGES = 2**18  # that are made at a time
_CHUNK = 2**13  # messages that are hashed at a time: the work arrays stay in the processor's cache


def cell_keys(names: pa.Array, persons: Integers, cells: Integers) -> Words:
    """Return the key of each pair of a person and a cell; cells of a person are kept in the order of (key, cell).

    Parameters
    ----------
    names : Arrow array of int64 or large_string
        Persons, as `identifiers.persons_of` returns them, without nulls.
    persons : integer array
        The person of each pair, by its place among the names.
    cells : integer array
        The cell of each pair, from 0 to 2^63 - 1.

    Examples
    --------
    >>> import hashlib
    >>> import pyarrow as pa
    >>> seed = int(hashlib.md5(b"spatialdp|ann").hexdigest()[:8], 16)
    >>> key = cell_keys(pa.array(["bob", "ann"]), np.array([1]), np.array([7]))
    >>> key.tolist() == mixed(np.array([seed ^ 7], dtype=np.uint32)).tolist()
    True
    """
    import pyarrow as pa

    used = np.zeros(len(names), dtype=bool)
    used[persons] = True
    seeds = np.zeros(len(names), dtype=np.uint32)
    seeds[used] = _seeds(names.filter(pa.array(used)))
    keys: Words = seeds[persons]
    keys ^= cells.astype(np.uint32)  # the lower half
    keys ^= mixed((cells >> MIXED_BITS).astype(np.uint32))  # 0 for cells below 2^32
    return mixed(keys)


def mixed(words: Words) -> Words:
    """Mix words of 32 bits in place, one-to-one, so that each bit depends on all bits; 0 stays 0.

    Examples
    --------
    >>> mixed(np.array([0, 1, 2], dtype=np.uint32)).tolist()
    [0, 3585296388, 582075562]
    """
    for shift, factor in zip(SHIFTS, FACTORS, strict=False):
        words ^= words >> np.uint32(shift)
        words *= np.uint32(factor)
    words ^= words >> np.uint32(SHIFTS[-1])
    return words


def _seeds(names: pa.Array) -> Words:
    import pyarrow as pa
    import pyarrow.compute as pc

    salt, separator = pa.scalar(SALT, pa.large_string()), pa.scalar("", pa.large_string())
    seeds = np.empty(len(names), dtype=np.uint32)
    for start in range(0, len(names), _MESSAGES):
        part = slice(start, start + _MESSAGES)
        seeds[part] = md5_keys(pc.binary_join_element_wise(salt, texts_of(names[part]), separator)) >> np.uint64(32)
    return seeds


def md5_keys(messages: pa.Array) -> Keys:
    """Return the first 64 bits of the MD5 digest of each text of a `large_string` array, as big-endian numbers.

    Examples
    --------
    >>> import pyarrow as pa
    >>> [hex(key) for key in md5_keys(pa.array(["", "abc"], pa.large_string()))]
    ['0xd41d8cd98f00b204', '0x900150983cd24fb0']
    """
    size = len(messages)
    _, positions, content = messages.buffers()
    offsets = np.frombuffer(positions, dtype=np.int64)[messages.offset :][: size + 1]
    starts, lengths = offsets[:-1], np.diff(offsets)
    blocks = (lengths + _LENGTH) // _BLOCK + 1
    octets = _with_zeros(content, _BLOCK * _MOST_BLOCKS)
    keys = np.empty(size, dtype=np.uint64)
    (long,) = np.nonzero(blocks > _MOST_BLOCKS)
    keys[long] = [_long_key(octets[start:stop]) for start, stop in zip(starts[long], offsets[long + 1], strict=True)]
    for count in range(1, _MOST_BLOCKS + 1):
        (some,) = np.nonzero(blocks == count)
        for first in range(0, some.size, _CHUNK):
            chunk = some[first : first + _CHUNK]
            keys[chunk] = _digest_starts(_padded(octets, starts[chunk], lengths[chunk], count))
    return keys


def _long_key(octets: Array) -> int:
    """Return the key of one long text: numpy would take 64 steps for each of its blocks."""
    digest = hashlib.md5(octets.tobytes(), usedforsecurity=False).digest()
    return int.from_bytes(digest[:_LENGTH], "big")


def _with_zeros(content: pa.Buffer | None, width: int) -> Array:
    """Return bytes with zeros after them, so that `width` bytes can be read wherever a message starts."""
    octets = np.frombuffer(content or b"", dtype=np.uint8)
    return np.concatenate([octets, np.zeros(width, dtype=np.uint8)])


def _padded(octets: Array, starts: Integers, lengths: Integers, blocks: int) -> Words:
    """Return messages as MD5 reads them, (blocks, 16, messages): each with its end marked, zeros, and its length."""
    width = blocks * _BLOCK
    padded = np.lib.stride_tricks.sliding_window_view(octets, width)[starts]  # (messages, bytes)
    padded *= np.arange(width, dtype=np.int16) < lengths[:, None].astype(np.int16)
    padded[np.arange(lengths.size), lengths] = 0x80
    padded[:, -_LENGTH:] = (lengths * 8).astype("<u8").view(np.uint8).reshape(-1, _LENGTH)
    words = padded.view("<u4").reshape(lengths.size, blocks, 16)
    return np.ascontiguousarray(words.transpose(1, 2, 0)).astype(np.uint32, copy=False)


# --- MD5 (RFC 1321) on columns of messages --------------------------------------------------------

_START = (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476)
_SINES = [np.uint32(int(abs(np.sin(step + 1)) * 2**32)) for step in range(64)]
_ROUND_TURNS = ((7, 12, 17, 22), (5, 9, 14, 20), (4, 11, 16, 23), (6, 10, 15, 21))
_TURNS = [_ROUND_TURNS[step // 16][step % 4] for step in range(64)]
_ROUND_WORDS = ((1, 0), (5, 1), (3, 5), (7, 0))  # how far apart the words of a round are, and its first word
_WORDS = [(_ROUND_WORDS[step // 16][0] * step + _ROUND_WORDS[step // 16][1]) % 16 for step in range(64)]


def _digest_starts(messages: Words) -> Keys:
    """Return the first 64 bits of the digests of padded messages, (blocks, 16, messages)."""
    state = [np.full(messages.shape[2], word, dtype=np.uint32) for word in _START]
    work = np.empty_like(state[0]), np.empty_like(state[0])
    for block in messages:
        a, b, c, d = (word.copy() for word in state)
        for step in range(64):
            _mix(step, block[_WORDS[step]], (a, b, c, d), work)
            a, b, c, d = d, a, b, c
        for word, added in zip(state, (a, b, c, d), strict=True):
            word += added
    first, second = (word.astype("<u4").view(">u4").astype(np.uint64) for word in state[:2])
    return (first << np.uint64(32)) | second


def _mix(step: int, word: Words, state: tuple[Words, Words, Words, Words], work: tuple[Words, Words]) -> None:
    """Write b + ((a + f(b, c, d) + word + sine) turned left) into a."""
    a, b, c, d = state
    mixed, spare = work
    if step < 16:  # (b and c) or (not b and d)
        np.bitwise_xor(c, d, out=mixed)
        mixed &= b
        mixed ^= d
    elif step < 32:  # (d and b) or (not d and c)
        np.bitwise_xor(b, c, out=mixed)
        mixed &= d
        mixed ^= c
    elif step < 48:
        np.bitwise_xor(b, c, out=mixed)
        mixed ^= d
    else:  # c xor (b or not d)
        np.invert(d, out=mixed)
        mixed |= b
        mixed ^= c
    mixed += a
    mixed += word
    mixed += _SINES[step]
    turn = _TURNS[step]
    np.right_shift(mixed, 32 - turn, out=spare)
    np.left_shift(mixed, turn, out=a)
    a |= spare
    a += b
