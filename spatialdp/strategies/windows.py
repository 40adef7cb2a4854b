"""Which sums of cells to measure along one axis, so that the answers people ask for carry the least noise.

A strategy measures every cell and some weighted sums of cells ("windows"): A = [I; B] D, with a diagonal D that gives
every column of A the norm 1 (L1 for Laplace noise, L2 for Gaussian noise). All queries of a workload have the mean
variance tr((A'A)⁻¹ G) times that of one measurement, G being the workload's Gram matrix. `optimised_windows` minimises
it over B >= 0; `optimised_tree` does the same among trees. Results are whole numbers, so that measurements and
sensitivities are exact. (McKenna, Miklau, Hay, Machanavajjhala, "Optimizing error of high-dimensional statistical
queries under differential privacy", VLDB 2018, call A a p-identity strategy.) Nothing here sees a record.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, TypeVar

import numpy as np

from spatialdp._support.arrays import Floats, Integers
from spatialdp._support.checks import whole_number
from spatialdp._support.options import Option
from spatialdp.errors import ParameterError
from spatialdp.privacy.noise.laws import Law
from spatialdp.transforms.axis import WindowAxis

__all__ = [
    "ALL_RANGES",
    "AxisWorkload",
    "Problem",
    "cells_alone",
    "mean_variance",
    "optimised_tree",
    "optimised_windows",
    "rounded",
    "shown",
    "tree_for",
    "tree_strategy",
    "unit_variance",
    "windows_for",
]

T = TypeVar("T")

# Weights are multiples of 1/SCALE: fine enough that rounding costs well below 0.5 % of the variance.
SCALE = 1024

# Longer axes have windows that are constant within each of this many stretches.
_LONGEST = 512
_SCREENED = 128  # Stretches while comparing numbers of windows.
_MOST_WINDOWS = 64  # For Laplace noise, which likes few; Gaussian noise likes half as many as there are stretches.
_HEAVIEST = 1000.0  # Weight of a cell in a window; beyond, f(C) would be a difference of too large numbers.
_SCREENING, _REFINING = 400, {True: 100, False: 200}  # Steps of the optimiser,
_FINISHING = {True: 100, False: 800}  # and for the best one, if it has more than the screened stretches.
_KEPT = {True: 1, False: 3}  # Starting points worth refining; for Gaussian noise the first is the best.
_MOST_NODES = 256  # Of one level of a tree, the cells excepted.


class Queries(Option):
    """Which queries an axis is asked."""

    RANGES = "ranges"
    PREFIXES = "prefixes"
    CELLS = "cells"
    TOTAL = "total"
    MARGINAL = "marginal"


@dataclass(frozen=True)
class AxisWorkload:
    """The queries of one axis, all equally important.

    Parameters
    ----------
    queries : {"ranges", "prefixes", "cells", "total", "marginal"} or sequence of (start, stop)
        All ranges of cells; those that begin at the first cell; single cells; the whole axis; half of them single cells
        and half the whole axis; or the given ranges of cells, of which a repeated one counts as often as it is given.

    Examples
    --------
    >>> AxisWorkload("prefixes").gram(2) * 2
    array([[2., 1.],
           [1., 1.]])
    >>> AxisWorkload([(0, 2), (1, 2)]).gram(2) * 2
    array([[1., 1.],
           [1., 2.]])
    """

    queries: str | tuple[tuple[int, int], ...] = Queries.RANGES

    def __post_init__(self) -> None:
        object.__setattr__(self, "queries", _parsed(self.queries))

    @property
    def plain(self) -> str | tuple[tuple[int, int], ...]:
        """The queries as plain values."""
        return str(self.queries) if isinstance(self.queries, str) else self.queries

    def gram(self, size: int) -> Floats:
        """Mean of w w' over the queries, w being a query's 0-1 vector of cells."""
        if not isinstance(self.queries, str):
            return _gram_of_ranges(np.array(self.queries, dtype=np.int64), size)
        place = np.arange(size, dtype=np.float64)
        after = size - np.maximum(place[:, None], place)
        if self.queries == Queries.RANGES:
            return np.asarray((np.minimum(place[:, None], place) + 1) * after / (size * (size + 1) / 2))
        if self.queries == Queries.PREFIXES:
            return np.asarray(after / size)
        whole = {Queries.CELLS: 0.0, Queries.MARGINAL: 0.5, Queries.TOTAL: 1.0}[Queries.parse(self.queries)]
        return np.asarray(whole + (1 - whole) * np.eye(size) / size)


def _parsed(queries: Any) -> str | tuple[tuple[int, int], ...]:
    if isinstance(queries, str):
        return Queries.parse(queries)
    try:
        pairs = [(start, stop) for start, stop in queries]
    except (TypeError, ValueError):
        pairs = []
    if not pairs:
        raise ParameterError(f"the queries of an axis are {queries!r}; give a name or pairs of cells (start, stop).")
    ranges = tuple(
        (whole_number(a, "start of a range", 0, 2**30), whole_number(b, "stop of a range", 1, 2**30)) for a, b in pairs
    )
    if any(start >= stop for start, stop in ranges):
        raise ParameterError("a range of cells is empty; give (start, stop) with start < stop.")
    return ranges


def _gram_of_ranges(ranges: Integers, size: int) -> Floats:
    if ranges.max() > size:
        raise ParameterError(f"a range of cells ends at {ranges.max()}; the axis has {size} cells.")
    corners = np.zeros((size + 1, size + 1))
    starts, stops = ranges.T
    for rows, columns, sign in ((starts, starts, 1), (starts, stops, -1), (stops, starts, -1), (stops, stops, 1)):
        np.add.at(corners, (rows, columns), sign / len(ranges))
    return np.asarray(corners.cumsum(axis=0).cumsum(axis=1)[:size, :size])


ALL_RANGES = AxisWorkload()


def mean_variance(axis: WindowAxis, workload: AxisWorkload, law: Law) -> float:
    """Mean variance of the workload's queries, in units of that of a single count measured with the whole budget."""
    return unit_variance(axis, law) * axis.mean_square(workload.gram(axis.size))


def unit_variance(axis: WindowAxis, law: Law) -> float:
    """Variance of the axis' measurements, in units of that of a single count measured with the whole budget."""
    sensitivity = axis.sensitivities[0]
    return float(sensitivity.l2_squared if law is Law.GAUSSIAN else sensitivity.l1**2)


def cells_alone(size: int) -> WindowAxis:
    """The strategy without windows."""
    return WindowAxis(np.ones(size, dtype=np.int64), np.zeros((0, size), dtype=np.int64))


# --- windows ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Problem:
    """The mean variance as a function of the windows' weights, which are constant within stretches of cells.

    With C the (windows, stretches) weights, s the column norms of [I; C], N the stretches' sizes, Ĝ the Gram matrix
    summed within stretches and t its trace within stretches,

        f(C) = Σ t s² - tr(W C S Ĝ S C'),   W = (I + C N C')⁻¹,   S = diag(s),

    which for stretches of one cell is tr((I + C'C)⁻¹ S G S).

    Attributes
    ----------
    gram : (stretches, stretches) array
    trace, sizes : (stretches,) arrays
    gaussian : bool
        Whether columns have an L2 norm of 1, rather than an L1 norm.
    """

    gram: Floats
    trace: Floats
    sizes: Floats
    gaussian: bool

    @classmethod
    def of(cls, gram: Floats, stretches: int, law: Law) -> Problem:
        """Cut the axis of a Gram matrix into stretches of about the same size."""
        starts = np.arange(stretches) * len(gram) // stretches
        summed = np.add.reduceat(np.add.reduceat(gram, starts, axis=0), starts, axis=1)
        sizes = np.diff(np.append(starts, len(gram))).astype(np.float64)
        return cls(summed, np.add.reduceat(np.diag(gram), starts), sizes, law is Law.GAUSSIAN)

    def pressed(self, stretches: int) -> Problem:
        """The same problem with fewer stretches."""
        starts = -(-np.arange(stretches) * self.sizes.size // stretches)
        summed = np.add.reduceat(np.add.reduceat(self.gram, starts, axis=0), starts, axis=1)
        trace, sizes = (np.add.reduceat(values, starts) for values in (self.trace, self.sizes))
        return Problem(summed, trace, sizes, self.gaussian)

    def norms(self, weights: Floats) -> Floats:
        """Column norms of [I; C]."""
        return np.asarray(np.sqrt(1 + (weights**2).sum(axis=0)) if self.gaussian else 1 + weights.sum(axis=0))

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """f(C) and its derivative."""
        norms = self.norms(weights)
        inner = np.linalg.inv(np.eye(len(weights)) + (weights * self.sizes) @ weights.T)
        met = inner @ ((weights * norms) @ self.gram)  # the only product that costs windows x stretches²
        value = float((self.trace * norms**2).sum() - (weights * met * norms).sum())
        by_norm = 2 * self.trace * norms - 2 * (weights * met).sum(axis=0)
        met *= norms
        gradient = 2 * ((met @ weights.T) @ (inner @ weights)) * self.sizes - 2 * met
        return value, gradient + (weights * (by_norm / norms) if self.gaussian else by_norm)

    def minimised(self, start: Floats, steps: int) -> tuple[float, Floats]:
        """A local minimum over non-negative weights."""
        from scipy.optimize import minimize

        def flat(weights: Floats) -> tuple[float, Floats]:
            value, gradient = self.value_and_gradient(weights.reshape(start.shape))
            return value, gradient.ravel()

        options = {"maxiter": steps, "maxfun": 2 * steps, "ftol": 1e-7, "gtol": 1e-9, "maxcor": 5}
        found = minimize(
            flat, start.ravel(), jac=True, method="L-BFGS-B", bounds=[(0, _HEAVIEST)] * start.size, options=options
        )
        return float(found.fun), np.asarray(found.x).reshape(start.shape)


def optimised_windows(
    size: int, workload: AxisWorkload, law: Law, near: Sequence[WindowAxis] = (), *, search: bool = True
) -> WindowAxis:
    """The best strategy of cells and windows that was found for a workload; see `windows_for`.

    Examples
    --------
    >>> axis = optimised_windows(64, AxisWorkload(), Law.LAPLACE)
    >>> axis.windows.shape, axis.sensitivities[0].l1
    ((4, 64), 1024)
    >>> round(2 * mean_variance(axis, AxisWorkload(), Law.LAPLACE) ** 2)  # of a box of 64 x 64 cells; flat: 968
    475
    """
    queries = () if isinstance(workload.queries, str) else workload.queries
    return windows_for(workload.gram(size), law, near, search=search, queries=queries)


def windows_for(
    gram: Floats,
    law: Law,
    near: Sequence[WindowAxis] = (),
    *,
    search: bool = True,
    finish: bool = True,
    queries: Sequence[tuple[int, int]] = (),
) -> WindowAxis:
    """The best strategy of cells and windows that was found for a Gram matrix, from fixed starting points.

    Numbers of windows and starting points are compared with windows that are constant within 128 stretches of the axis;
    the best are refined on 512 (which are the cells themselves of an axis that has no more). Measuring the cells alone
    is always among the candidates, so that the result is never worse than flat.

    Parameters
    ----------
    gram : (cells, cells) array
    law : Law
    near : sequence of WindowAxis
        Strategies for something similar, of any number of cells: where to start from as well, or (without `search`)
        only.
    search : bool
        Whether to try the usual starting points.
    finish : bool
        Whether to go on from 128 stretches to 512.
    queries : sequence of (start, stop)
        Ranges that may be worth measuring as they are.
    """
    size = len(gram)
    coarse, fine = (Problem.of(gram, min(size, most), law) for most in (_SCREENED, _LONGEST if finish else _SCREENED))
    place = np.arange(fine.sizes.size) * coarse.sizes.size // fine.sizes.size
    starts = [_stretched(axis, fine.sizes.size) for axis in near if len(axis.windows)]
    found = []
    if search or not starts:
        screened = shown(list(_starts(queries, size, coarse)), f"comparing strategies of {size} cells")
        found = sorted((coarse.minimised(start, _SCREENING) for start in screened), key=_value)
    if fine.sizes.size > coarse.sizes.size:  # what was found is another start
        starts += [weights[:, place] for _, weights in found[: _KEPT[fine.gaussian]]]
        found = []
    refined = shown(starts, f"refining strategies of {size} cells")
    _, weights = min([*found, *(fine.minimised(start, _REFINING[fine.gaussian]) for start in refined)], key=_value)
    if fine.sizes.size > coarse.sizes.size:
        _, weights = fine.minimised(weights, _FINISHING[fine.gaussian])
    windows = np.repeat(weights, fine.sizes.astype(np.int64), axis=1)
    best = rounded(windows[windows.max(axis=1) > 0], law)
    return min([cells_alone(size), best], key=lambda axis: unit_variance(axis, law) * axis.mean_square(gram))


def shown(steps: Sequence[T], label: str) -> Iterator[T]:
    """The steps; on a terminal, with a bar if they take more than two seconds. Their number is public."""
    from tqdm import tqdm

    yield from tqdm(steps, desc=label, delay=2, leave=False, disable=None, file=sys.stderr)


def _stretched(axis: WindowAxis, width: int) -> Floats:
    """An axis' windows, relative to its cells, drawn out or pressed to another number of stretches."""
    place = (np.arange(width) + 0.5) / width * axis.size - 0.5
    relative = axis.windows / axis.diagonal
    return np.array([np.interp(place, np.arange(axis.size), window) for window in np.minimum(relative, _HEAVIEST)])


def _value(found: tuple[float, Floats]) -> float:
    """What was found, with a small price for every window: of equally good strategies the simplest rounds best."""
    value, weights = found
    return value * (1 + 1e-5 * len(weights))


def _starts(queries: Sequence[tuple[int, int]], size: int, problem: Problem) -> Iterator[Floats]:
    """One heavy sum of all; wide windows; narrow and wide ones; three widths; the queries themselves if given.

    Gaussian noise has a better one: the best strategy of all.
    """
    width, most = problem.sizes.size, _MOST_WINDOWS
    yield np.full((1, width), 100.0)
    if problem.gaussian:
        count = min(max(1, size // 2), width)  # more windows cost measurements and gain next to nothing
        yield _convex_start(problem.pressed(count))[:, np.arange(width) * count // width]
        return
    for count in sorted({1, *(min(max(1, size // share), most) for share in (32, 21, 16, 12))}):
        yield _windows(count, width, 0.2)
        if count > 8:
            wide, middle = _windows(count // 5, width, 0.4), _windows(count // 3, width, 5 / count)
            yield np.vstack([_windows(count - count // 5, width, 2 / count), wide])
            yield np.vstack([_windows(count - count // 5 - count // 3, width, 2 / count), middle, wide])
    if len(queries):
        ranges = np.array(sorted(set(queries))[:most])
        place = (np.arange(width) + 0.5) * size / width
        blocks = ((ranges[:, :1] <= place) & (place < ranges[:, 1:])).astype(np.float64)
        yield from (blocks, 30 * blocks)


def _convex_start(problem: Problem) -> Floats:
    """For Gaussian noise, the windows of the best strategy of all, up to weights that would be negative.

    The least tr(X⁻¹ G) over positive definite X with a diagonal of 1 is a convex problem. Where its gradient vanishes,
    X⁻¹ G X⁻¹ = V is diagonal, so X = V^-½ (V^½ G V^½)^½ V^-½; V is found by iteration. Then X = δ + B'B, and B is
    triangular.
    """
    mean = problem.gram / np.outer(problem.sizes, problem.sizes)
    mean = mean / np.diag(mean).mean() + 1e-6 * np.eye(len(mean))  # also where nothing is asked
    scale = np.ones(len(mean))  # the root of V
    for _ in range(30):
        powers, vectors = np.linalg.eigh(mean * np.outer(scale, scale))
        best = (vectors * np.sqrt(np.maximum(powers, 0))) @ vectors.T / np.outer(scale, scale)
        scale *= np.sqrt(np.diag(best))
    norms = np.sqrt(np.diag(best))
    best /= np.outer(norms, norms)
    least = float(np.linalg.eigvalsh(best)[0])
    own = max(least / 2, 1e-4)
    shift = own - least if least < own else -own
    triangle = np.linalg.cholesky(best + shift * np.eye(len(best)))
    return np.asarray(np.clip(triangle.T / np.sqrt(own), 0, _HEAVIEST))


def _windows(count: int, width: int, reach: float) -> Floats:
    """Evenly spaced raised cosines."""
    centres = (np.arange(count) + 0.5) / count
    distance = np.abs((np.arange(width) + 0.5) / width - centres[:, None]) / max(reach, 1 / count)
    return np.where(distance < 1, np.cos(np.minimum(distance, 1) * np.pi / 2) ** 2, 0.0)


def rounded(weights: Floats, law: Law) -> WindowAxis:
    """[I; B] D in whole multiples of 1/SCALE; a cell's own weight takes what its windows leave of a norm of SCALE."""
    gaussian = law is Law.GAUSSIAN
    norms = np.sqrt(1 + (weights**2).sum(axis=0)) if gaussian else 1 + weights.sum(axis=0)
    exact = weights / norms * SCALE
    power = 2 if gaussian else 1
    windows = np.rint(exact).astype(np.int64)
    full = (windows**power).sum(axis=0) >= SCALE**power
    windows[:, full] = exact[:, full].astype(np.int64)  # rounded down, something is always left
    left = SCALE**power - (windows**power).sum(axis=0)
    return WindowAxis(np.sqrt(left).astype(np.int64) if gaussian else left, windows)


# --- trees -----------------------------------------------------------------------------------------


def tree_strategy(size: int, levels: Sequence[int], weights: Sequence[Fraction | float]) -> WindowAxis:
    """A tree in one dimension: cells, and blocks of 2, 4, 8, ... cells, each level with a weight of its own.

    Parameters
    ----------
    size : int
        Number of cells. The last block of a level may be shorter.
    levels : sequence of int
        Level l has blocks of 2^l cells; level 0, the cells, must be among them.
    weights : sequence of numbers
        One for each level; rounded to multiples of 1/1024 (never to 0). With Laplace noise a level's weight is its
        share of the budget, with Gaussian noise its square is.

    Examples
    --------
    >>> tree_strategy(4, (0, 1), (Fraction(1, 2), Fraction(1, 2))).matrix
    array([[512,   0,   0,   0],
           [  0, 512,   0,   0],
           [  0,   0, 512,   0],
           [  0,   0,   0, 512],
           [512, 512,   0,   0],
           [  0,   0, 512, 512]])
    """
    if len(levels) != len(weights) or 0 not in levels or min(weights) <= 0:
        raise ParameterError("a tree needs a positive weight for each level, and level 0 (the cells) among its levels.")
    parts = {level: max(1, round(weight * SCALE)) for level, weight in zip(levels, weights, strict=True)}
    cells = np.arange(size)
    blocks = [
        (cells >> level == np.arange(((size - 1) >> level) + 1)[:, None]) * part
        for level, part in parts.items()
        if level
    ]
    return WindowAxis(np.full(size, parts[0]), np.vstack([np.zeros((0, size), dtype=np.int64), *blocks]))


def optimised_tree(size: int, workload: AxisWorkload = ALL_RANGES, law: Law = Law.LAPLACE) -> WindowAxis:
    """The tree whose levels and weights give the least mean variance.

    On an axis of a power of two cells the Haar wavelets diagonalise every tree, so that the mean variance is a sum over
    scales of (the workload's share) / (sum of weight² x block size over the levels that are finer). Other axes take the
    weights of the padded one. Levels of more than 256 blocks (but for the cells) are left out.

    Examples
    --------
    >>> axis = optimised_tree(256)
    >>> axis.windows.shape, round(float(axis.diagonal[0]) / 1024, 2)
    ((16, 256), 0.52)
    """
    return tree_for(workload.gram(size), law)


def tree_for(gram: Floats, law: Law) -> WindowAxis:
    """The tree with the least mean variance for a Gram matrix; see `optimised_tree`."""
    size = len(gram)
    depth = (size - 1).bit_length()
    powers = _scale_powers(gram, depth)
    allowed = [level for level in range(1, depth + 1) if (size - 1) >> level < _MOST_NODES]
    tried = [_best_weights(powers, (0, *more), law) for more in _level_sets(allowed, law)]
    _, levels, weights = min(tried, key=lambda found: found[0])
    return tree_strategy(size, levels, weights)


def _level_sets(allowed: list[int], law: Law) -> Iterator[tuple[int, ...]]:
    """All levels, for Gaussian noise (a convex problem); all sets of up to four otherwise."""
    if law is Law.GAUSSIAN:
        yield tuple(allowed)
    else:
        yield from (levels for count in range(4) for levels in combinations(allowed, count))


def _scale_powers(gram: Floats, depth: int) -> Floats:
    """Σ ψ'Gψ over the orthonormal Haar wavelets of each scale: nodes of 2, 4, ... cells, then the constant."""
    sums = np.zeros((2**depth, 2**depth))
    sums[: len(gram), : len(gram)] = gram
    powers = []
    for scale in range(1, depth + 1):
        blocks = sums.reshape(len(sums) // 2, 2, len(sums) // 2, 2)
        own = np.einsum("iaib->ab", blocks)
        powers.append((own[0, 0] + own[1, 1] - own[0, 1] - own[1, 0]) / 2**scale)
        sums = blocks.sum(axis=(1, 3))
    return np.array([*powers, sums[0, 0] / 2**depth])


def _best_weights(powers: Floats, levels: tuple[int, ...], law: Law) -> tuple[float, tuple[int, ...], list[float]]:
    """Least mean variance of a set of levels, the levels used, and their weights."""
    from scipy.optimize import minimize

    # λ of scale j (rows) is the sum of squared weight x block size over the levels that do not see its wavelets as 0.
    seen = np.array([[2.0**level if level <= scale else 0.0 for level in levels] for scale in range(len(powers))])
    power = 1 if law is Law.GAUSSIAN else 2  # of the shares, which add up to 1, in the measurements' squared weights

    def value(logs: Floats) -> tuple[float, Floats]:
        shares = np.exp(logs - logs.max())
        shares /= shares.sum()
        reach = seen @ shares**power
        slope = -power * shares**power * (seen.T @ (powers / reach**2))
        return float((powers / reach).sum()), slope - shares * slope.sum()

    found = minimize(value, np.zeros(len(levels)), jac=True, method="L-BFGS-B")
    shares = np.exp(found.x - found.x.max())
    shares /= shares.sum()
    kept = [i for i, level in enumerate(levels) if level == 0 or shares[i] > 1e-4]
    weights = [float(shares[i] ** (power / 2)) for i in kept]
    return float(found.fun), tuple(levels[i] for i in kept), weights
