"""Noise sources for tests: none at all, frozen, and scripted bit by bit."""

from __future__ import annotations

from fractions import Fraction
from numbers import Rational

import numpy as np

from spatialdp.privacy.noise.source import Noise, SeededNoise
from spatialdp.privacy.noise.wide import Wide


class ZeroNoise(Noise):
    """Draws zeros: what a mechanism answers when noise is out of the way."""

    def random_bytes(self, count: int) -> bytes:
        raise AssertionError("ZeroNoise draws no bits")

    def laplace(self, scale: Rational, size):
        return np.zeros(size, dtype=np.int64)

    def gaussian(self, variance: Rational, size):
        return np.zeros(size, dtype=np.int64)

    def wide_laplace(self, scale: Rational, size):
        return Wide.shifted(self.laplace(scale, size))

    def wide_gaussian(self, variance: Rational, size):
        return Wide.shifted(self.gaussian(variance, size))


class RecordingNoise(SeededNoise):
    """Seeded noise that remembers what it was asked for."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.calls: list[tuple[str, Fraction, tuple[int, ...]]] = []

    def laplace(self, scale: Rational, size):
        self.calls.append(("laplace", Fraction(scale), np.empty(size).shape))
        return super().laplace(scale, size)

    def gaussian(self, variance: Rational, size):
        self.calls.append(("gaussian", Fraction(variance), np.empty(size).shape))
        return super().gaussian(variance, size)

    def wide_laplace(self, scale: Rational, size):
        self.calls.append(("laplace", Fraction(scale), np.empty(size).shape))
        return super().wide_laplace(scale, size)

    def wide_gaussian(self, variance: Rational, size):
        self.calls.append(("gaussian", Fraction(variance), np.empty(size).shape))
        return super().wide_gaussian(variance, size)


class ScriptedNoise(Noise):
    """Hands out the given bytes and nothing else."""

    def __init__(self, *parts: bytes) -> None:
        self._left = b"".join(parts)

    def random_bytes(self, count: int) -> bytes:
        assert count <= len(self._left), "the script is too short"
        taken, self._left = self._left[:count], self._left[count:]
        return taken

    @property
    def used_up(self) -> bool:
        return not self._left


class ScriptedWords(Noise):
    """Returns the given 64-bit words, in order, and no more."""

    def __init__(self, words):
        self.words = list(words)

    def random_bytes(self, count):
        taken, self.words = self.words[: count // 8], self.words[count // 8 :]
        assert len(taken) * 8 == count, "more random bits were asked for than the script holds"
        return np.array(taken, dtype="<u8").tobytes()
