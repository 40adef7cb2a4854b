"""Which weighted sums of cells along one axis give a workload the least noise? Windows, found by optimisation.

A strategy measures every cell and some weighted sums of cells ("windows"): A = [I; B] D, with a
diagonal D that gives every column of A the norm 1 (L1 for Laplace noise, L2 for Gaussian noise).
`optimised_windows` minimises the mean variance of the workload (`objective`) over B >= 0; the
derivation is in ``docs/design/tailored.md``. Results are whole numbers, so that measurements and
sensitivities are exact. (McKenna, Miklau, Hay, Machanavajjhala, "Optimizing error of high-dimensional
statistical queries under differential privacy", VLDB 2018, call A a p-identity strategy.) Everything
here is public: this module reads no record. After a change that finds better windows, raise
`store._VERSION`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from spatialdp._support.arrays import Floats
from spatialdp._support.terminal import progress
from spatialdp.privacy.noise.laws import Law
from spatialdp.strategies.axis_workload import AxisWorkload
from spatialdp.strategies.objective import cells_alone, rounded, unit_variance
from spatialdp.transforms.matrices import WindowAxis

__all__ = ["Problem", "optimised_windows", "windows_for"]

# Longer axes have windows that are constant within each of this many stretches.
_LONGEST = 512
_SCREENED = 128  # stretches while starting points and numbers of windows are compared
# For Laplace noise, which needs few; Gaussian noise takes half as many as there are cells, or one for each stretch.
_MOST_WINDOWS = 64
_HEAVIEST = 1000.0  # largest weight of a cell in a window; beyond, f(C) would be a difference of too large numbers
# Most steps of the optimiser: while comparing, while refining the best, and for the last strategy if it has more than
# the screened stretches. {True: for Gaussian noise, False: for Laplace noise}
_SCREENING, _REFINING = 400, {True: 100, False: 200}
_FINISHING = {True: 100, False: 800}
_REFINED = {True: 1, False: 3}  # starting points that are refined; for Gaussian noise the first is the best


@dataclass(frozen=True, eq=False)
class Problem:
    """The mean variance as a function of the windows' weights, which are constant within stretches of cells.

    With C the (windows, stretches) weights and s the column norms of [I; C],

        f(C) = Σ t s² - tr(W C S Ĝ S C'),   W = (I + C N C')⁻¹,   S = diag(s),

    which for stretches of one cell is tr((I + C'C)⁻¹ S G S).

    Attributes
    ----------
    gram : (stretches, stretches) array
        Ĝ: the Gram matrix, summed within stretches.
    trace : (stretches,) array
        t: the diagonal of the Gram matrix, summed within stretches.
    sizes : (stretches,) array
        N: the number of cells in each stretch.
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

    def coarsened(self, stretches: int) -> Problem:
        """Cut the axis into fewer and longer stretches."""
        starts = -(-np.arange(stretches) * self.sizes.size // stretches)
        summed = np.add.reduceat(np.add.reduceat(self.gram, starts, axis=0), starts, axis=1)
        trace, sizes = (np.add.reduceat(values, starts) for values in (self.trace, self.sizes))
        return Problem(summed, trace, sizes, self.gaussian)

    def norms(self, weights: Floats) -> Floats:
        """Column norms of [I; C]."""
        return np.asarray(np.sqrt(1 + (weights**2).sum(axis=0)) if self.gaussian else 1 + weights.sum(axis=0))

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """f(C) and its derivative, (windows, stretches)."""
        norms = self.norms(weights)
        inner = np.linalg.inv(np.eye(len(weights)) + (weights * self.sizes) @ weights.T)
        product = inner @ ((weights * norms) @ self.gram)  # W C S Ĝ, the only step that costs windows x stretches²
        value = float((self.trace * norms**2).sum() - (weights * product * norms).sum())
        by_norm = 2 * self.trace * norms - 2 * (weights * product).sum(axis=0)  # derivative by s
        product *= norms
        gradient = 2 * ((product @ weights.T) @ (inner @ weights)) * self.sizes - 2 * product
        return value, gradient + (weights * (by_norm / norms) if self.gaussian else by_norm)

    def minimised(self, start: Floats, steps: int) -> tuple[float, Floats]:
        """A local minimum of f over non-negative weights: the value, and the weights (windows, stretches)."""
        from scipy.optimize import minimize

        def flat(weights: Floats) -> tuple[float, Floats]:
            value, gradient = self.value_and_gradient(weights.reshape(start.shape))
            return value, gradient.ravel()

        options = {"maxiter": steps, "maxfun": 2 * steps, "ftol": 1e-7, "gtol": 1e-9, "maxcor": 5}
        minimum = minimize(
            flat, start.ravel(), jac=True, method="L-BFGS-B", bounds=[(0, _HEAVIEST)] * start.size, options=options
        )
        return float(minimum.fun), np.asarray(minimum.x).reshape(start.shape)


def optimised_windows(
    size: int, workload: AxisWorkload, law: Law, near: Sequence[WindowAxis] = (), *, search: bool = True
) -> WindowAxis:
    """Find a strategy of cells and windows with a small mean variance for a workload; see `windows_for`.

    Examples
    --------
    >>> from spatialdp.strategies.objective import mean_variance
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
    """Find a strategy of cells and windows with a small mean variance for a Gram matrix, from fixed starting points.

    Numbers of windows and starting points are compared with windows that are constant within 128
    stretches of the axis; the best are refined on 512 stretches (or on the cells, if there are no more
    than 512). Measuring the cells alone is always among the candidates, so the result is never worse
    than flat.

    Parameters
    ----------
    gram : (cells, cells) array
    law : Law
    near : sequence of WindowAxis
        Strategies for similar problems, of any number of cells: more starting points, or without
        `search` the only ones.
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
    minima = []
    if search or not starts:
        screened = progress(list(_starts(queries, size, coarse)), f"comparing strategies of {size} cells")
        minima = sorted((coarse.minimised(start, _SCREENING) for start in screened), key=_rank)
    if fine.sizes.size > coarse.sizes.size:  # minima on the coarse stretches are starting points on the fine ones
        starts += [weights[:, place] for _, weights in minima[: _REFINED[fine.gaussian]]]
        minima = []
    refined = progress(starts, f"refining strategies of {size} cells")
    _, weights = min([*minima, *(fine.minimised(start, _REFINING[fine.gaussian]) for start in refined)], key=_rank)
    if fine.sizes.size > coarse.sizes.size:
        _, weights = fine.minimised(weights, _FINISHING[fine.gaussian])
    windows = np.repeat(weights, fine.sizes.astype(np.int64), axis=1)
    best = rounded(windows[windows.max(axis=1) > 0], law)
    return min([cells_alone(size), best], key=lambda axis: unit_variance(axis, law) * axis.mean_square(gram))


def _stretched(axis: WindowAxis, width: int) -> Floats:
    """An axis' windows, relative to its cells' own weights, interpolated to another number of stretches."""
    place = (np.arange(width) + 0.5) / width * axis.size - 0.5
    relative = axis.windows / axis.diagonal
    return np.array([np.interp(place, np.arange(axis.size), window) for window in np.minimum(relative, _HEAVIEST)])


def _rank(minimum: tuple[float, Floats]) -> float:
    """The value of a minimum and a small price for each window: of equally good strategies the simplest rounds best."""
    value, weights = minimum
    return value * (1 + 1e-5 * len(weights))


def _starts(queries: Sequence[tuple[int, int]], size: int, problem: Problem) -> Iterator[Floats]:
    """Starting points of the search, (windows, stretches) each.

    For Laplace noise: one heavy sum of all cells; wide windows; narrow and wide windows; windows of
    three widths; and the queries themselves, if there are any. For Gaussian noise: the heavy sum, and
    the optimum over all strategies.
    """
    width, most = problem.sizes.size, _MOST_WINDOWS
    yield np.full((1, width), 100.0)
    if problem.gaussian:
        count = min(max(1, size // 2), width)  # more windows cost measurements and gain next to nothing
        yield _convex_start(problem.coarsened(count))[:, np.arange(width) * count // width]
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
    """For Gaussian noise, the windows of the optimum over all strategies; negative weights become 0.

    The least tr(X⁻¹ G) over positive definite X with a diagonal of 1 is a convex problem. Where the
    gradient vanishes, X⁻¹ G X⁻¹ = V is diagonal, so X = V^-½ (V^½ G V^½)^½ V^-½; V is found by
    iteration. Then X = δ + B'B with a triangular B.
    """
    mean = problem.gram / np.outer(problem.sizes, problem.sizes)
    mean = mean / np.diag(mean).mean() + 1e-6 * np.eye(len(mean))  # positive definite even where no query lies
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
    """Evenly spaced raised cosines as windows, (count, width); `reach` is half their width, as a share of the axis."""
    centres = (np.arange(count) + 0.5) / count
    distance = np.abs((np.arange(width) + 0.5) / width - centres[:, None]) / max(reach, 1 / count)
    return np.where(distance < 1, np.cos(np.minimum(distance, 1) * np.pi / 2) ** 2, 0.0)
