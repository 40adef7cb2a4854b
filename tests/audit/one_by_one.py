"""Black-box audit of mechanisms whose releases can not hold many copies of a problem: a release for each trial.

An adversary does not look at cells. Whatever is published, he computes from it what the mechanism measured: the same
numbers (coefficients, nodes, windows) of the estimates, which have the noise of the measurements and one record's whole
effect on each; or a kd-tree's lines and the counts of the leaves where the record may be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import fft

import spatialdp as sdp
from spatialdp.mechanisms import Mechanism
from spatialdp.privacy.noise.source import SeededNoise
from spatialdp.space.domain import Domain
from tests.audit.seams import planned_once
from tests.audit.sensitivity import centres, measurements
from tests.helpers.cases import terms

# Each record is a place in a tiny square of 4 x 4 cells, (column, row).
Data = tuple[tuple[int, int], ...]
SQUARE = Domain((0, 0, 4, 4))


@dataclass(frozen=True)
class Single:
    """A mechanism on 4 x 4 cells, released again and again.

    Attributes
    ----------
    mechanism : Mechanism
    read : callable
        An estimate to numbers.
    view : callable
        Mechanism and the numbers of all releases to what the adversary looks at, (trials, numbers).
    pairs : tuple of str
    epsilons : tuple of int
    """

    mechanism: Mechanism
    read: Callable[[Any], Any]
    view: Callable[[Mechanism, Any], Any]
    pairs: tuple[str, ...] = ("empty and one",)
    epsilons: tuple[int, ...] = (2, 4)

    def draw(self, data: Data, epsilon: Fraction, relation: str, trials: int, seed: tuple[int, ...]) -> Any:
        """As many releases as there are trials."""
        points, noise = sdp.Points(np.array(data, dtype=float).reshape(-1, 2) + 0.5), SeededNoise(seed)
        given = terms(self.mechanism, relation, epsilon)
        with planned_once(self.mechanism):
            parts = [
                self.read(self.mechanism.release(points, SQUARE, noise=noise, **given).estimate) for _ in range(trials)
            ]
        return self.view(self.mechanism, np.array(parts))


def _values(estimate: Any) -> Any:
    return estimate.values.ravel()


def _as_they_are(mechanism: Mechanism, values: Any) -> Any:
    return values


def _measured(mechanism: Mechanism, values: Any) -> Any:
    """The mechanism's own measurements of the estimated cells: public, because they are the same for all records."""
    images = measurements(mechanism, SQUARE, "add-remove", centres(SQUARE, (4, 4)))
    return values @ np.array([np.concatenate([counts for _, counts in image]) for image in images], dtype=float)


def _cosines(mechanism: Mechanism, values: Any) -> Any:
    """All of a release's coefficients; those that were not chosen are zero."""
    return fft.dctn(values.reshape(-1, 4, 4), axes=(1, 2), norm="ortho").reshape(-1, 16).round(9)


# Where the records of the pairs below are, in lattice units: the first and the last cell.
_NEAR, _LAST = SQUARE.boxes([(0.5, 0.5, 3.5, 3.5)]).reshape(2, 2)


def _lines_and_counts(estimate: Any) -> Any:
    """For a kd-tree of height 1: the root's count; for both places the leaf's count, and which lines part them."""
    boxes, values = estimate.tree.boxes, estimate.values
    found = [values[0], float(_NEAR[0] < boxes[1, 2] <= _LAST[0])]
    for place in (_NEAR, _LAST):
        held = 1 + int(np.flatnonzero(((boxes[1:, :2] <= place) & (place < boxes[1:, 2:])).all(axis=1))[0])
        line = boxes[held, 3] if boxes[held, 1] == 0 else boxes[held, 1]
        found += [values[held], float(_NEAR[1] < line <= _LAST[1])]
    return np.array(found)


def _kd(*pairs: str, **options: Any) -> Single:
    """Slow, so that there is one ε, and pairs for which the lines' laws are the same ("empty and one") or not."""
    return Single(sdp.KdTree(1, **options), _lines_and_counts, _as_they_are, pairs, (2,))


SINGLE: dict[str, Single] = {
    "quadtree, geometric": Single(sdp.Quadtree(2), _values, _as_they_are),
    "kd": _kd("empty and one", "far corner"),
    "kd, smooth": _kd("far corner", median="smooth"),
    "kd, noisy mean": _kd("far corner", median="noisy-mean", consistent=False),
    "wavelet": Single(sdp.Wavelet((4, 4)), _values, _measured),
    "wavelet, quadtree": Single(sdp.Wavelet((4, 4), form="quadtree"), _values, _measured),
    "fourier": Single(sdp.Fourier((4, 4)), _values, _cosines, epsilons=(2,)),
    "fourier, given block": Single(sdp.Fourier((4, 4), block=(2, 2)), _values, _measured),
    "tailored": Single(sdp.Tailored((4, 4)), _values, _measured),
}
