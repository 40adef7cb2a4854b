"""How is a mechanism audited whose releases cannot hold many copies of a problem? With one release for each trial.

An adversary does not look at single cells. From the published estimates, the adversary computes the numbers that the
mechanism measured (coefficients, nodes, windows): they have the noise of the measurements and the full effect of one
record. Or the adversary uses the lines of a kd-tree, and the counts of the leaves where the record may be.
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
from tests.audit.seams import coarser_fine_grid
from tests.audit.sensitivity import centres, measurements
from tests.helpers.cases import terms

# Each record is a place (column, row) in a tiny square of 4 × 4 cells.
Data = tuple[tuple[int, int], ...]
SQUARE = Domain((0, 0, 4, 4))


@dataclass(frozen=True)
class Single:
    """A mechanism on 4 × 4 cells that is released many times.

    Attributes
    ----------
    mechanism : Mechanism
    read : callable
        Maps an estimate to numbers.
    view : callable
        Maps the mechanism and the numbers of all releases to the adversary's samples, (trials, numbers).
    pairs : tuple of str
    epsilons : tuple of int
    person : Person, optional
        The bound, if persons are the unit: all records are one person's.
    """

    mechanism: Mechanism
    read: Callable[[Any], Any]
    view: Callable[[Mechanism, Any], Any]
    pairs: tuple[str, ...] = ("empty and one",)
    epsilons: tuple[int, ...] = (2, 4)
    person: sdp.Person | None = None

    def draw(self, data: Data, epsilon: Fraction, relation: str, trials: int, seed: tuple[int, ...]) -> Any:
        """Return the samples of one release for each trial."""
        places, owners = (
            np.array(data, dtype=float).reshape(-1, 2) + 0.5,
            None if self.person is None else [7] * len(data),
        )
        points, noise = sdp.Points(places, person=owners), SeededNoise(seed)
        options = terms(self.mechanism, relation, epsilon) | {"person": self.person}
        with coarser_fine_grid():
            prepared = self.mechanism.prepare(SQUARE, **options)
            parts = [self.read(prepared.release(points, noise=noise).estimate) for _ in range(trials)]
        return self.view(self.mechanism, np.array(parts))


def _values(estimate: Any) -> Any:
    return estimate.values.ravel()


def _unchanged(mechanism: Mechanism, values: Any) -> Any:
    return values


def _measured(mechanism: Mechanism, values: Any) -> Any:
    """Apply the mechanism's measurements to the estimated cells; the measurements are public."""
    images = measurements(mechanism, SQUARE, "add-remove", centres(SQUARE, (4, 4)))
    return values @ np.array([np.concatenate([counts for _, counts in image]) for image in images], dtype=float)


def _cosines(mechanism: Mechanism, values: Any) -> Any:
    """Return all coefficients of a release; those that were not measured are zero."""
    return fft.dctn(values.reshape(-1, 4, 4), axes=(1, 2), norm="ortho").reshape(-1, 16).round(9)


# Lattice places of the records of the pairs below: the first and the last cell.
_NEAR, _LAST = SQUARE.boxes([(0.5, 0.5, 3.5, 3.5)]).reshape(2, 2)


def _lines_and_counts(estimate: Any) -> Any:
    """Return, for a kd-tree of height 1, the root's count, both leaves' counts, and which lines separate the places."""
    boxes, values = estimate.tree.boxes, estimate.values
    numbers = [values[0], float(_NEAR[0] < boxes[1, 2] <= _LAST[0])]
    for place in (_NEAR, _LAST):
        leaf = 1 + int(np.flatnonzero(((boxes[1:, :2] <= place) & (place < boxes[1:, 2:])).all(axis=1))[0])
        line = boxes[leaf, 3] if boxes[leaf, 1] == 0 else boxes[leaf, 1]
        numbers += [values[leaf], float(_NEAR[1] < line <= _LAST[1])]
    return np.array(numbers)


def _path(estimate: Any) -> Any:
    """Return, for an adaptive tree on 8 × 8 cells, the three counts with the first place, and whether it was divided.

    The first place is the first one of every level. A block that is not divided is counted twice, and so is a cell.
    """
    tree, measured = estimate.basis.tree, estimate.measured
    return np.array([*measured[tree.offsets[:3]], tree.n_children[1]])


def _kd(*pairs: str, **options: Any) -> Single:
    """Return a kd-tree to audit; it is slow, so there is one ε, and pairs with equal and different laws of lines."""
    return Single(sdp.KdTree(1, **options), _lines_and_counts, _unchanged, pairs, (2,))


SINGLE: dict[str, Single] = {
    "quadtree, geometric": Single(sdp.Quadtree(2), _values, _unchanged),
    "kd": _kd("empty and one", "far corner"),
    "kd, smooth": _kd("far corner", median="smooth"),
    "kd, noisy mean": _kd("far corner", median="noisy-mean", consistent=False),
    "wavelet": Single(sdp.Wavelet((4, 4)), _values, _measured),
    "wavelet, quadtree": Single(sdp.Wavelet((4, 4), form="quadtree"), _values, _measured),
    "fourier": Single(sdp.Fourier((4, 4)), _values, _cosines, epsilons=(2,)),
    "fourier, given block": Single(sdp.Fourier((4, 4), block=(2, 2)), _values, _measured),
    "tailored": Single(sdp.Tailored((4, 4)), _values, _measured),
    "adaptive": Single(sdp.Adaptive((8, 8)), _path, _unchanged, ("empty and one", "moved"), (2,)),
}
