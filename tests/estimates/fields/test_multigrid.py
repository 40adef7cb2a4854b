"""The solver of fields: it ends at the solution, in few steps, and rounding does not move it."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
import shapely
from scipy.sparse.linalg import splu

import spatialdp as sdp
from spatialdp.estimates.fields import gaussian, multigrid, system
from spatialdp.estimates.fields.coarse import coarse_counts, coarse_lines
from spatialdp.estimates.fields.gaussian import gaussian_field, pilot
from spatialdp.estimates.fields.halvings import coarser_lines
from spatialdp.estimates.fields.multigrid import Multigrid
from spatialdp.space.boxes.subdivision import Subdivision

LAKE = shapely.Point(0.4, 0.5).buffer(0.3)
CASES = [
    ((64, 64), 0.1, None),
    ((96, 80), 1, LAKE),
    ((70, 50), 10, None),
    ((33, 129), 0.01, LAKE),
    ((1, 700), 1, None),
    ((700, 1), 0.1, LAKE),
    ((100, 3), 1, None),
    ((64, 64), "0.0001", None),
    ((9, 7), 1, None),
    ((1, 1), 1, None),
]


def counts_of(shape, epsilon, region=None, n=4000, seed=3, **options):
    rng = np.random.default_rng(seed)
    xy = np.clip(np.concatenate([rng.normal((0.3, 0.6), 0.04, (n, 2)), rng.random((n // 5, 2))]), 0, 1)
    domain = sdp.Domain((0, 0, 1, 1), region=region)
    made = sdp.Adaptive(shape, **options).release(xy, domain, epsilon=Fraction(epsilon), noise=sdp.SeededNoise(seed))
    field = made.estimate
    return coarse_counts(field._nodes, Subdivision(field.grid), coarse_lines(field.grid.shape))


def system_of(counts, pull=0.002):
    raster, rng = counts.raster, np.random.default_rng(1)
    scale = np.exp(rng.normal(0, 2, raster.sizes.shape))
    along = gaussian._ties(scale, raster)
    return counts.system(*along, np.where(raster.inside, pull / (4 * scale**2), 0.0))


def matrix_of(made):
    """The matrix of a system with a variable for each counted node, so that it is sparse: [[P, A'], [A, -1/W]]."""
    ny, nx = made.pull.shape
    cells, nodes = np.arange(made.pull.size).reshape(ny, nx), made.tree.n_nodes
    rows, columns = [], []
    of = made.node.copy()
    while (of < nodes).any():
        inside = of < nodes
        rows.append(of[inside])
        columns.append(cells[inside])
        up = made.tree.parent.take(of, mode="clip")
        of = np.where(inside & (up >= 0), up, nodes)
    rows, columns = np.concatenate(rows), np.concatenate(columns)
    members = sp.csr_array((made.sizes.ravel()[columns], (rows, columns)), shape=(nodes, cells.size))
    local = sp.diags_array(np.where(made.pull > 0, made.pull, 1.0).ravel())
    for tie, ahead, behind in (
        (made.along_x[:, :-1], cells[:, 1:], cells[:, :-1]),
        (made.along_y[:-1], cells[1:], cells[:-1]),
    ):
        a, b, w = ahead.ravel(), behind.ravel(), tie.ravel()
        values = np.concatenate([w, w, -w, -w])
        places = np.concatenate([a, b, a, b]), np.concatenate([a, b, b, a])
        local = local + sp.csr_array((values, places), shape=(cells.size, cells.size))
    return sp.csc_array(sp.block_array([[local, members.T], [members, -sp.diags_array(1 / made.weights)]]))


def direct(made, right):
    """The solution by elimination."""
    whole = np.concatenate([right.ravel(), np.zeros(made.tree.n_nodes)])
    return splu(matrix_of(made)).solve(whole)[: right.size].reshape(right.shape)


def counted_steps(monkeypatch):
    """Count how often a solver approximates; one more than it takes steps."""
    seen, real = SimpleNamespace(steps=0), Multigrid.approximate

    def counting(self, right):
        seen.steps += 1
        return real(self, right)

    monkeypatch.setattr(Multigrid, "approximate", counting)
    return seen


@pytest.mark.parametrize(("shape", "epsilon", "region"), CASES)
def test_solutions_are_those_of_elimination(shape, epsilon, region, monkeypatch):
    """A solver that ends too early fails here: the field is right to six digits and more."""
    seen = counted_steps(monkeypatch)
    counts = counts_of(shape, epsilon, region)
    density, raster = pilot(counts), counts.raster
    made, scale = [], system.System
    monkeypatch.setattr(gaussian, "System", lambda *parts: made.append(scale(*parts)) or made[-1])
    field = gaussian_field(counts, density)
    right = made[0].at_cells(counts.measured / counts.variances)
    expected = np.where(raster.inside, direct(made[0], right), 0.0)
    assert field == pytest.approx(expected, rel=1e-6, abs=1e-6 * np.abs(expected).max())
    assert seen.steps <= 30


@pytest.mark.parametrize("options", [{"law": "gaussian"}, {}], ids=["gaussian", "empty"])
def test_solutions_of_other_releases_are_those_of_elimination(options):
    delta = {"delta": Fraction(1, 10**6)} if options else {}
    domain, shape = sdp.Domain((0, 0, 1, 1)), (60, 44)
    points = np.random.default_rng(1).random((3000, 2)) if options else []
    release = sdp.Adaptive(shape, **options).release(points, domain, epsilon=1, noise=sdp.SeededNoise(2), **delta)
    field = release.estimate
    counts = coarse_counts(field._nodes, Subdivision(field.grid), coarse_lines(shape))
    made = system_of(counts)
    right = made.at_cells(counts.measured / counts.variances)
    found = Multigrid(made, coarser_lines(np.ones(60), np.ones(44))).solution(right, np.zeros(right.shape))
    assert found == pytest.approx(direct(made, right), abs=3e-5)  # what is close is measured against noise of about 3


@pytest.mark.parametrize("spread", [0, 2, 5], ids=["even", "rough", "wild"])
def test_few_steps_are_enough_however_uneven_the_density(spread, monkeypatch):
    seen = counted_steps(monkeypatch)
    counts = counts_of((128, 128), 1, LAKE)
    raster = counts.raster
    scale = np.exp(np.random.default_rng(1).normal(0, spread, raster.sizes.shape))
    made = counts.system(*gaussian._ties(scale, raster), np.where(raster.inside, 0.002 / scale**2, 0.0))
    right = made.at_cells(counts.measured / counts.variances)
    Multigrid(made, coarser_lines(raster.widths, raster.heights)).solution(right, np.zeros(right.shape))
    assert seen.steps <= (60 if spread else 20)


def test_rounding_does_not_move_the_field(monkeypatch):
    """What another processor or another order of sums would change: the last digits of every sum."""
    counts, rng = counts_of((128, 96), "0.01"), np.random.default_rng(5)
    density = pilot(counts)
    exact = gaussian_field(counts, density, share=0.5)
    real = system.Smoother.solved

    def rounded(self, right, out):
        real(self, right, out)
        out *= 1 + 1e-13 * rng.normal(size=out.shape)
        return out

    monkeypatch.setattr(system.Smoother, "solved", rounded)
    monkeypatch.setattr(multigrid, "_product", lambda a, b: float(np.sum(a * b)) * (1 + 1e-12 * rng.normal()))
    other = gaussian_field(counts, density, share=0.5)
    assert not np.array_equal(other, exact)
    assert other == pytest.approx(exact, rel=1e-9, abs=1e-9 * np.abs(exact).max())


def test_where_a_solution_starts_does_not_matter():
    counts = counts_of((96, 80), "0.1")
    made, lines = system_of(counts), coarser_lines(np.ones(96), np.ones(80))
    right = made.at_cells(counts.measured / counts.variances)
    starts = np.zeros(right.shape), 100 * np.random.default_rng(1).random(right.shape)
    first, second = (Multigrid(made, lines).solution(right, start) for start in starts)
    assert first == pytest.approx(second, rel=1e-6, abs=1e-6 * np.abs(first).max())


def test_lines_that_cut_blocks_take_longer_to_the_same_solution():
    counts = counts_of((96, 80), 1)
    made = system_of(counts)
    right = made.at_cells(counts.measured / counts.variances)
    odd = [(np.append(0, np.arange(1, 96, 3)), np.append(0, np.arange(2, 80, 3))), (np.zeros(1, int), np.zeros(1, int))]
    found = Multigrid(made, odd).solution(right, np.zeros(right.shape))
    expected = direct(made, right)
    assert found == pytest.approx(expected, abs=1e-6 * np.abs(expected).max())


def test_a_pilot_that_is_the_solution_is_returned():
    counts = counts_of((40, 30), 1)
    made, lines = system_of(counts), coarser_lines(np.ones(40), np.ones(30))
    right = made.at_cells(counts.measured / counts.variances)
    solution = Multigrid(made, lines).solution(right, np.zeros(right.shape))
    assert Multigrid(made, lines).solution(right, solution) == pytest.approx(solution, rel=1e-9)
    nothing = np.zeros(right.shape)
    assert np.array_equal(Multigrid(made, lines).solution(nothing, nothing), nothing)
