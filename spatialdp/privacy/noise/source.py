"""Exact integer noise, fast enough for maps: the only module that draws random bits.

`laplace` and `gaussian` return int64 arrays that follow the discrete Laplace and discrete Gaussian laws exactly.
Between the random bits and the result there are table lookups and integer arithmetic, and no floating point, so there
is nothing for a precision attack to find. No other module may draw random bits, and a draw must never use a double.

Most draws take one lookup. The first 16 bits of a draw are looked up in a guide table. Only if a threshold lies inside
that 1/65536 of the unit interval (some per cent of draws) are 48 more bits drawn and searched, and only if all 64 tie
(about one draw in 10^17) are still more bits drawn; see `thresholds`. Wide laws are put together from digits, because
the digits of a geometric variable are independent:

    X = q L + r,  r in 0..L-1,  L a power of two.

For X >= 0, q and r are independent and geometric (r cut off at L); for X < 0 the same is true of -X-1, whose digits are
the bitwise complements. So a wide Laplace draw is one two-sided digit q and one or more low digits r, complemented
where q is negative. A wide Gaussian draw takes q from a table and a uniform r, and keeps the result with the
probability that makes it exact. On lattices so fine that 64 bits are not enough, the same digits are put together as
`Wide` integers. See ``docs/design/noise.md``.
"""

from __future__ import annotations

import hashlib
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from numbers import Rational

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Booleans, Integers
from spatialdp._support.override import override
from spatialdp.errors import ParameterError
from spatialdp.privacy.noise import thresholds
from spatialdp.privacy.noise.thresholds import AMBIGUOUS, Table
from spatialdp.privacy.noise.wide import Wide

__all__ = ["Noise", "SeededNoise", "SystemNoise", "is_system_noise"]

Digits = list[tuple[int, Integers]]  # highest first, each with its number of bits; the first may be negative

_BLOCK = 2**16  # draws at a time: the work arrays stay in the processor's cache
NARROWEST = Fraction(1, 10**6)  # least scale or variance
WIDEST = 2**40  # greatest scale or standard deviation, so that int64 never overflows
WIDEST_OF_WIDE = 2**100  # the same for wide integers
_system_bytes = os.urandom  # taken once: whoever replaces os.urandom later does not reach the noise
_COIN_PLACE = 47  # of a word's bits the lower 47 are a digit, the next 16 a coin, and the last one a sign


class Noise(ABC):
    """A source of exact integer noise.

    Subclasses say where random bytes come from; all draws are defined here. Only `SystemNoise` makes a release private.
    """

    __slots__ = ()

    @abstractmethod
    def random_bytes(self, count: int) -> bytes:
        """Return `count` independent uniform random bytes."""

    def laplace(self, scale: Rational, size: int | tuple[int, ...]) -> Integers:
        """Draw discrete Laplace noise: P(X = x) proportional to ``exp(-|x| / scale)``.

        Parameters
        ----------
        scale : int or Fraction
            Sensitivity over ε, from 1e-6 to 2^40.
        size : int or tuple of int
            Shape of the result.

        Returns
        -------
        int64 array

        Notes
        -----
        Also called two-sided geometric noise. Variance 1 / (2 sinh²(1 / (2 scale))).

        Examples
        --------
        >>> from fractions import Fraction
        >>> SystemNoise().laplace(Fraction(1, 1000), 5)
        array([0, 0, 0, 0, 0])
        """
        high, low = thresholds.laplace_digits(_positive(scale, "scale", WIDEST))
        return self._blocks(size, lambda count: _joined(self._laplace(count, high, low)))

    def gaussian(self, variance: Rational, size: int | tuple[int, ...]) -> Integers:
        """Draw discrete Gaussian noise: P(X = x) proportional to exp(-x² / (2 variance)).

        Parameters
        ----------
        variance : int or Fraction
            σ², the parameter of the law (the true variance is never larger), from 1e-6 to 2^80.
        size : int or tuple of int
            Shape of the result.

        Returns
        -------
        int64 array

        Examples
        --------
        >>> from fractions import Fraction
        >>> SystemNoise().gaussian(Fraction(1, 1000), (2, 2))
        array([[0, 0],
               [0, 0]])
        """
        exact = _positive(variance, "variance", WIDEST**2)
        return self._blocks(size, lambda count: _joined(self._gaussian(exact, count)))

    def wide_laplace(self, scale: Rational, size: int | tuple[int, ...]) -> Wide:
        """Draw discrete Laplace noise of any scale up to 2^100, as wide integers.

        Examples
        --------
        >>> from fractions import Fraction
        >>> SystemNoise().wide_laplace(Fraction(1, 1000), 2).exact()
        array([0, 0], dtype=object)
        """
        high, low = thresholds.laplace_digits(_positive(scale, "scale", WIDEST_OF_WIDE))
        return self._wide_blocks(size, lambda count: self._laplace(count, high, low))

    def wide_gaussian(self, variance: Rational, size: int | tuple[int, ...]) -> Wide:
        """Draw discrete Gaussian noise of any variance up to 2^200, as wide integers.

        Examples
        --------
        >>> from fractions import Fraction
        >>> SystemNoise().wide_gaussian(Fraction(1, 1000), 2).exact()
        array([0, 0], dtype=object)
        """
        exact = _positive(variance, "variance", WIDEST_OF_WIDE**2)
        return self._wide_blocks(size, lambda count: self._gaussian(exact, count))

    def geometric(self, scale: Rational, size: int | tuple[int, ...]) -> Integers:
        """Draw one-sided geometric noise: P(X = x) proportional to exp(-x / scale) for x >= 0.

        Parameters
        ----------
        scale, size
            As for `laplace`.

        Returns
        -------
        int64 array

        Notes
        -----
        If X follows the discrete Laplace law, X given X >= 0 and -X - 1 given X < 0 both follow this one. The mean is
        1 / (exp(1 / scale) - 1).

        Examples
        --------
        >>> from fractions import Fraction
        >>> SystemNoise().geometric(Fraction(1, 1000), 3)
        array([0, 0, 0])
        """
        drawn = self.laplace(scale, size)
        return drawn ^ (drawn >> 63)

    def uniform_words(self, count: int) -> npt.NDArray[np.uint64]:
        """Draw independent uniform 64-bit words.

        Examples
        --------
        >>> SystemNoise().uniform_words(3).shape
        (3,)
        """
        return self._words(count, np.uint64).astype(np.uint64, copy=False)

    def below(self, bounds: Integers) -> Integers:
        """Draw, for each bound b >= 1, an integer that is uniform on 0..b-1, exactly.

        A 64-bit word is taken modulo b; the last 2^64 mod b words, which would favour low residues, are drawn again.

        Examples
        --------
        >>> SystemNoise().below(np.array([1, 1]))
        array([0, 0])
        """
        limits = np.asarray(bounds).astype(np.uint64)
        values = np.empty(limits.shape, dtype=np.int64)
        undecided = np.arange(limits.size)
        while undecided.size:
            words, limit = self.uniform_words(undecided.size), limits[undecided]
            kept = words <= np.uint64(2**64 - 1) - np.negative(limit) % limit
            values[undecided[kept]] = (words % limit)[kept].astype(np.int64)
            undecided = undecided[~kept]
        return values

    def bernoulli(self, probability: Rational, count: int) -> Booleans:
        """Draw `count` coins that are true with a rational probability from 1e-6 to 1, exactly.

        Examples
        --------
        >>> SystemNoise().bernoulli(1, 3)
        array([ True,  True,  True])
        """
        exact = _positive(probability, "probability", 1)
        threshold = partial(_rational_floor, exact)
        coins = self._words(count, np.uint16).astype(np.int64)
        kept = coins < threshold(16)
        for index in np.nonzero(coins == threshold(16))[0]:
            kept[index] = self._lies_below(threshold, int(coins[index]))
        return kept

    def accepts(self, rate: Fraction) -> bool:
        """Toss one coin that is true with probability exp(-rate), rate >= 0, exactly.

        Examples
        --------
        >>> SystemNoise().accepts(Fraction(0))
        True
        """
        return self._keeps(rate, int(self._words(1, np.uint16)[0]))

    # --- the shared machinery ------------------------------------------------------------------

    def _blocks(self, size: int | tuple[int, ...], draw: Callable[[int], Integers]) -> Integers:
        out = np.empty(_shape(size), dtype=np.int64)
        flat = out.reshape(-1)
        for start in range(0, flat.size, _BLOCK):
            block = flat[start : start + _BLOCK]
            block[:] = draw(block.size)
        return out

    def _wide_blocks(self, size: int | tuple[int, ...], draw: Callable[[int], Digits]) -> Wide:
        out = np.empty((2, *_shape(size)), dtype=np.int64)
        flat = out.reshape(2, -1)
        for start in range(0, flat.shape[1], _BLOCK):
            block = flat[:, start : start + _BLOCK]
            joined = Wide.joined(draw(block.shape[1]))
            block[0], block[1] = joined.high, joined.low
        return Wide(*out)

    def _words(self, count: int, dtype: type[np.unsignedinteger]) -> npt.NDArray[np.unsignedinteger]:
        # Little-endian on every machine, so that seeded draws agree between machines.
        little = np.dtype(dtype).newbyteorder("<")
        return np.frombuffer(self.random_bytes(count * little.itemsize), dtype=little).astype(dtype, copy=False)

    def _lookup(self, table: Table, count: int) -> Integers:
        """Draw from one table: by the guide, and with more bits where the guide is ambiguous."""
        top = self._words(count, np.uint16)
        outcomes = table.guide.take(top)
        values = outcomes.astype(np.int64)
        (undecided,) = np.nonzero(outcomes == AMBIGUOUS)
        if undecided.size:
            values[undecided] = self._search(table, top[undecided])
        return values

    def _search(self, table: Table, top: npt.NDArray[np.unsignedinteger]) -> Integers:
        rest = self._words(top.size, np.uint64) >> np.uint64(thresholds.GUIDE_BITS)
        words = top.astype(np.uint64) << np.uint64(thresholds.WORD_BITS - thresholds.GUIDE_BITS) | rest
        values, tied = table.find(words)
        for index in np.nonzero(tied)[0]:
            values[index] = table.resolve(int(words[index]), self._more_bits)
        return values

    def _more_bits(self) -> int:
        return int.from_bytes(self.random_bytes(thresholds.WORD_BITS // 8), "little")

    def _laplace(self, count: int, high: Table, low: Sequence[tuple[int, Table]]) -> Digits:
        first = self._lookup(high, count)
        negative = first >> 63
        return [(0, first), *((bits, self._lookup(table, count) ^ negative & (2**bits - 1)) for bits, table in low)]

    def _gaussian(self, variance: Fraction, count: int) -> Digits:
        if variance <= thresholds.GAUSSIAN_DIGIT**2:
            return [(0, self._lookup(thresholds.gaussian(variance), count))]
        kept = self._gaussian_proposals(variance, count)
        while (missing := count - kept[0][1].size) > 0:
            more = self._gaussian_proposals(variance, missing)
            kept = [(bits, np.concatenate([a, b])) for (bits, a), (_, b) in zip(kept, more, strict=True)]
        return kept

    def _gaussian_proposals(self, variance: Fraction, count: int) -> Digits:
        """Propose `count` values and keep some of them; the kept ones are independent and follow the law exactly.

        A proposal is ±(q L + r), complemented on the negative side, with P(q) ∝ exp(-(qL)²/2σ²)
        and r, sign uniform; it is kept with probability exp(-(x² - (qL)²) / 2σ²).
        """
        low_bits = thresholds.gaussian_low_bits(variance)
        table, surely = thresholds.gaussian_digits(variance, low_bits)
        q = self._lookup(table, count)
        # One word gives the sign, the coin and up to 47 bits of r.
        word = self._words(count, np.uint64)
        negative = -(word >> np.uint64(63)).astype(np.int64)
        coin = (word >> np.uint64(_COIN_PLACE) & np.uint64(2**16 - 1)).astype(np.int64)
        digits = [(0, q), *self._uniform_digits(low_bits, word)]
        # A coin below the least probability of its digit keeps the proposal; the others are decided one by one.
        keep = coin < surely.take(q, mode="clip")
        for index in np.nonzero(~keep)[0]:
            x = _joined_exactly(digits, int(index)) ^ int(negative[index])
            base = int(q[index]) << low_bits
            keep[index] = self._keeps(Fraction(x * x - base * base) / (2 * variance), int(coin[index]))
        low_digits = [(bits, digit ^ negative & (2**bits - 1)) for bits, digit in digits[1:]]
        return [(bits, digit[keep]) for bits, digit in [(0, q ^ negative), *low_digits]]

    def _uniform_digits(self, bits: int, word: npt.NDArray[np.unsignedinteger]) -> Iterator[tuple[int, Integers]]:
        """Yield so many uniform bits as digits: first the lower bits of a given word, then those of more words."""
        while bits > 0:
            size = min(bits, _COIN_PLACE)
            yield size, (word & np.uint64(2**size - 1)).astype(np.int64)
            bits -= size
            if bits:
                word = self._words(word.size, np.uint64)

    def _keeps(self, rate: Fraction, coin: int) -> bool:
        """Whether a uniform number that begins with the coin's 16 bits lies below exp(-rate)."""
        return self._lies_below(partial(thresholds.exp_floor, rate), coin)

    def _lies_below(self, threshold: Callable[[int], int], coin: int) -> bool:
        """Whether a uniform number that begins with the coin's 16 bits lies below p, threshold(b) = floor(2^b p)."""
        bits = 16
        while True:
            bits += thresholds.WORD_BITS
            coin = coin << thresholds.WORD_BITS | self._more_bits()
            if coin != (limit := threshold(bits)):
                return coin < limit


class SystemNoise(Noise):
    """Exact noise from the operating system's cryptographic generator.

    This is the source for real releases. It keeps no state and buffers nothing, so forked and threaded workers can
    share one object and never share a bit.

    Privacy
    -------
    Nothing is seeded and nothing can be replayed: a release drawn from this source is private. Objects take no other
    methods; a release from a subclass, or with methods replaced on the class, is marked as not private.

    Examples
    --------
    >>> from fractions import Fraction
    >>> SystemNoise().laplace(Fraction(10), 3).shape
    (3,)
    """

    __slots__ = ()

    @override
    def random_bytes(self, count: int) -> bytes:
        """Return random bytes of the operating system.

        Examples
        --------
        >>> len(SystemNoise().random_bytes(16))
        16
        """
        return _system_bytes(count)

    def __repr__(self) -> str:
        return "SystemNoise()"


def _members() -> list[tuple[object, str, object, object]]:
    """Return everything that decides how `SystemNoise` draws: its bases, their members and the code of functions."""
    return [
        (base, name, member, getattr(member, "__code__", None))
        for base in SystemNoise.__mro__
        if base is not object
        for name, member in sorted(vars(base).items())
        if not name.startswith("__annot")  # Python may add these later
    ]


_MEMBERS = _members()


def is_system_noise(noise: Noise) -> bool:
    """Whether noise is the operating system's own, drawn by this module's methods; then a release is private.

    A subclass is not, and neither is an object whose class had a method replaced or added. This guards against
    mistakes: Python cannot keep code in the same process from changing this module's functions and tables.

    Examples
    --------
    >>> is_system_noise(SystemNoise()), is_system_noise(SeededNoise(7))
    (True, False)
    """
    present = _members()
    same_names = [member[:2] for member in present] == [member[:2] for member in _MEMBERS]
    same = same_names and all(a[2] is b[2] and a[3] is b[3] for a, b in zip(present, _MEMBERS, strict=True))
    return same and type(noise) is SystemNoise


class SeededNoise(Noise):
    """Exact noise that can be repeated: for experiments, never for a real release.

    Parameters
    ----------
    seed : int or tuple of int
        Non-negative. A tuple names a stream: `SeededNoise((seed, trial))` is independent of other trials.

    Privacy
    -------
    None. Anyone who knows the seed can subtract the noise, so every release drawn from this source is marked
    `private: false` in its statement and in every file.

    Examples
    --------
    >>> from fractions import Fraction
    >>> first, second = SeededNoise(7), SeededNoise(7)
    >>> bool((first.laplace(Fraction(10), 100) == second.laplace(Fraction(10), 100)).all())
    True
    """

    def __init__(self, seed: int | tuple[int, ...]) -> None:
        parts = seed if isinstance(seed, tuple) else (seed,)
        if not parts or any(isinstance(p, bool) or not isinstance(p, int) or p < 0 for p in parts):
            raise ParameterError(f"seed is {seed!r}; it must be a non-negative int or a tuple of them.")
        self._seed = seed
        # Hashed, because numpy's own seeding gives 7 and (7, 0) the same stream.
        digest = hashlib.sha256(repr(tuple(int(p) for p in parts)).encode()).digest()
        self._generator = np.random.PCG64(np.random.SeedSequence(int.from_bytes(digest, "little")))
        self._process = os.getpid()
        self._lock = threading.Lock()

    @override
    def random_bytes(self, count: int) -> bytes:
        """Return the next bytes of the seeded stream.

        Examples
        --------
        >>> SeededNoise(1).random_bytes(8) == SeededNoise(1).random_bytes(8)
        True
        """
        if os.getpid() != self._process:
            raise ParameterError(
                "this SeededNoise was made in another process, which would draw the same noise; "
                "make one in each worker, such as SeededNoise((seed, worker))."
            )
        with self._lock:
            words = self._generator.random_raw(-(-count // 8))
        return np.asarray(words, dtype="<u8").tobytes()[:count]

    def __repr__(self) -> str:
        return f"SeededNoise({self._seed!r})"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a SeededNoise cannot be pickled: the copy would draw the same noise. Send the seed.")


def _shape(size: int | tuple[int, ...]) -> tuple[int, ...]:
    shape = size if isinstance(size, tuple) else (size,)
    if any(isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0 for n in shape):
        raise ParameterError(f"size is {size!r}; it must be a non-negative int or a tuple of them.")
    return tuple(int(n) for n in shape)


def _joined(digits: Digits) -> Integers:
    (_, values), *rest = digits
    for bits, digit in rest:
        values <<= bits
        values |= digit
    return values


def _joined_exactly(digits: Digits, index: int) -> int:
    value = 0
    for bits, digit in digits:
        value = value << bits | int(digit[index])
    return value


def _rational_floor(probability: Fraction, bits: int) -> int:
    return (probability.numerator << bits) // probability.denominator


def _positive(value: Rational, name: str, most: int) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, Rational):
        raise ParameterError(
            f"{name} is {value!r} of type {type(value).__name__}; exact noise needs a rational number. "
            f"Give an int or a fractions.Fraction."
        )
    exact = Fraction(int(value.numerator), int(value.denominator))
    if not NARROWEST <= exact <= most:
        raise ParameterError(f"{name} is {value}; it must lie between 1e-6 and {most}.")
    return exact
