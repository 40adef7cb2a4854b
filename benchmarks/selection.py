"""How fast are exact private choices among many candidates, and answers of the sparse vector technique?"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

import spatialdp as sdp
from benchmarks.measure import Result, seconds
from spatialdp.privacy.noise.selection import exponential, permute_and_flip
from spatialdp.privacy.noise.sparse_vector import SparseVector, SparseVectorTerms

CANDIDATES = 100_000
ANSWERS = 10_000


def choices() -> Iterator[Result]:
    """Time exact choices among 100,000 candidates of many different scores against sorting the scores."""
    source, rng = sdp.SystemNoise(), np.random.default_rng(1)
    scores = rng.integers(0, 10**6, CANDIDATES).tolist()
    plain = seconds(lambda: sorted(scores))
    for draw in (exponential, permute_and_flip):
        ours = seconds(lambda: draw(scores, Fraction(1, 10), Fraction(1), source))  # noqa: B023 - called at once
        name = draw.__name__.replace("_", "-")
        yield Result(f"exact {name} among 100,000 candidates, time over sorting them", ours / plain, 15, at_least=False)


def thresholds() -> Iterator[Result]:
    """Time answers of the sparse vector technique against drawing their noise alone."""
    source, terms = sdp.SystemNoise(), SparseVectorTerms(Fraction(1), 1, 1, True)
    plain = seconds(lambda: [source.laplace(terms.question_scale, 1) for _ in range(ANSWERS)])
    vector = SparseVector(terms, 10**9, source)
    ours = seconds(lambda: [vector.above(0) for _ in range(ANSWERS)])
    yield Result("an answer below a threshold, time over drawing its noise alone", ours / plain, 3, at_least=False)


BENCHMARKS = (choices, thresholds)
