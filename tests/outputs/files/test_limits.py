"""Limits of files: every release of ours keeps them, and no forged one asks for more."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import spatialdp as sdp
from spatialdp.errors import SpatialDPError
from spatialdp.mechanisms.tree_mechanism import HIGHEST
from spatialdp.outputs.files.limits import HIGHEST_TREE, check_estimates, check_moments, check_tree
from spatialdp.privacy.noise.laws import Law, NoiseLaw
from spatialdp.privacy.noise.source import NARROWEST, WIDEST_OF_WIDE
from spatialdp.space.boxes.blocks import levels_of
from spatialdp.space.boxes.quadtree import quadtree
from spatialdp.space.boxes.tree import Tree
from spatialdp.space.lattice import LATTICE, LATTICE_BITS
from spatialdp.trees.shape import sums
from tests.helpers.cases import DOMAINS, SMALL, by_turns, terms

WHOLE = (0, 0, LATTICE, LATTICE)
HALF = LATTICE // 2


EPSILONS = ["1/100000", 3, 999, "1/100", 100, 290]
DAILY = by_turns(SMALL, EPSILONS[:3])
OTHERS = [pair for pair in product(SMALL, EPSILONS) if pair not in DAILY]


@pytest.mark.parametrize(
    ("case", "epsilon"), [*DAILY, *(pytest.param(*each, marks=pytest.mark.audit) for each in OTHERS)]
)
def test_every_release_of_ours_is_loaded(case, epsilon, tmp_path):
    """However much noise there is, or little; also without negative counts and in whole numbers."""
    mechanism, path = SMALL[case], tmp_path / "release.parquet"
    asked = terms(mechanism, "replace" if "sampled" not in case else "add-remove", Fraction(epsilon))
    points = np.random.default_rng(1).random((300, 2))
    try:
        release = mechanism.release(points, DOMAINS["whole"], **asked, noise=sdp.SeededNoise(2))
    except SpatialDPError:
        return  # too small or too large an ε for the mechanism, which has tests of its own
    kinds = [release]
    if release.estimate.consistent:
        kinds += [release.non_negative(), release.rounded()]
    for kind in kinds:
        kind.save(path, overwrite=True)
        assert np.array_equal(sdp.load(path).estimate.values, kind.estimate.values)


@pytest.mark.parametrize("law", Law)
def test_moments_of_every_law_are_sound(law):
    """From the least to the greatest scale that a law draws."""
    power = 2 if law is Law.GAUSSIAN else 1
    for parameter in (NARROWEST, *(Fraction(2) ** k for k in range(-18, 100 * power, 7)), WIDEST_OF_WIDE**power):
        found = NoiseLaw(law, Fraction(parameter))
        check_moments(np.array([found.variance]), np.array([found.kurtosis]))


@pytest.mark.parametrize(
    ("variance", "kurtosis"),
    [(-1, 0), (np.nan, 0), (np.inf, 0), (1e-300, 0), (1e70, 0), (1, -1), (1, 1e160), (1e30, 1e150), (1, np.nan)],
)
def test_moments_that_no_law_has_are_refused(variance, kurtosis):
    check_moments(np.array([2.0]), np.array([3.0]))
    with pytest.raises(ValueError, match="no law"):
        check_moments(np.array([2.0, variance]), np.array([3.0, kurtosis]))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e46, -1e300])
def test_estimates_that_noise_cannot_make_are_refused(bad):
    check_estimates(np.array([-1e30, 0.0, 5.5]))
    with pytest.raises(ValueError, match="finite"):
        check_estimates(np.array([0.0, bad]))
    with pytest.raises(ValueError, match="finite"):
        check_estimates(np.array([0, 1]))


# --- trees -----------------------------------------------------------------------------------------


def family(*children):
    """A root with these children."""
    count = len(children)
    return Tree([0, 1, 1 + count], [count] + [0] * count, [WHOLE, *children])


def grid_family(side, order=slice(None)):
    lines = np.arange(side + 1) * LATTICE // side
    x, y = np.divmod(np.arange(side * side), side)
    boxes = np.stack([lines[x], lines[y], lines[x + 1], lines[y + 1]], axis=1)[order]
    return family(*map(tuple, boxes.tolist()))


def checked(tree, consistent=True, values=None, variances=None):
    values = sums(tree, np.ones(tree.n_leaves)) if values is None else values
    check_tree(tree, values, np.ones(tree.height + 1) if variances is None else variances, consistent=consistent)


def test_sound_trees_pass():
    checked(quadtree(4))
    checked(grid_family(20))
    checked(grid_family(20, np.random.default_rng(1).permutation(400)[:300]))  # any order, and some outside the region
    checked(family((0, 0, HALF, LATTICE), (HALF, 0, LATTICE, HALF), (HALF, HALF, LATTICE, LATTICE)))
    slabs = [(0, k, LATTICE, k + 1) for k in range(40)]
    checked(family(*slabs))
    shifted = [(10 * k + k % 3, 0, 10 * k + 10, 5) for k in range(20)] + [(10 * k, 7, 10 * k + 9, 9) for k in range(20)]
    checked(family(*shifted))  # columns differ from row to row, as in a kd-tree
    checked(Tree([0, 1], [0], [WHOLE]))


@pytest.mark.parametrize(
    "tree",
    [
        family((0, 0, HALF, LATTICE), (HALF - 1, 0, LATTICE, LATTICE)),
        family(*[(0, 0, HALF, HALF)] * 2),
        family(*[(0, 0, HALF, HALF)] * 40),
        family(*[(k, 0, k + 2, 1) for k in range(40)]),
        family(*[(5 * k, 5 * k, 5 * k + 6, 5 * k + 6) for k in range(40)]),
    ],
)
def test_trees_whose_children_overlap_are_refused(tree):
    with pytest.raises(ValueError, match="overlap"):
        checked(tree)


def test_other_claims_about_trees_are_checked():
    outside = Tree([0, 1, 2, 3], [1, 1, 0], [WHOLE, (0, 0, 8, 8), (0, 0, 9, 8)])
    with pytest.raises(ValueError, match="outside its parent"):
        checked(outside)
    tree = quadtree(2)
    with pytest.raises(ValueError, match="add up"):
        checked(tree, values=np.ones(tree.n_nodes))
    checked(tree, values=np.ones(tree.n_nodes), consistent=False)
    with pytest.raises(ValueError, match="not measured"):
        checked(tree, variances=np.array([1.0, 1.0, np.inf]))
    checked(tree, variances=np.array([np.inf, 1.0, 1.0]))


def test_no_mechanism_makes_a_higher_tree():
    assert HIGHEST < HIGHEST_TREE
    sides = [2**k for k in range(LATTICE_BITS)]
    assert len(levels_of(sides, (2**LATTICE_BITS, 1))) <= HIGHEST_TREE


# --- memory ----------------------------------------------------------------------------------------

ROOT = Path(__file__).parents[3]
BOMBS = ["many_windows", "flat_matrix", "long_axis", "chain", "overlapping"]


@pytest.mark.parametrize("name", BOMBS)
def test_small_files_do_not_ask_for_much_memory(name, tmp_path):
    """76 kB with 8,000 windows made `interval` take half a gigabyte, and 490 kB asked for twelve."""
    code = f"""
import pathlib, random, resource, sys
import matplotlib; matplotlib.use("Agg")
import pyarrow.parquet as pq, spatialdp as sdp
from tests.attacks import forge
folder = pathlib.Path(sys.argv[1]); path = folder / "bomb.parquet"
forge.os.environ["FORGE_FOLDER"] = str(folder)
sdp.Flat((4, 4)).release([], sdp.Domain((0, 0, 1, 1)), epsilon=1).save(folder / "small.parquet")
forge.exercise(sdp.load(folder / "small.parquet"), folder)
before = forge._megabytes()
for number in range(3):
    table = pq.read_table(folder / "small.parquet")
    table, header = forge.{name}(table, forge.header_of(table), random.Random(number))
    pq.write_table(forge.signed(table, header), path, use_dictionary=False)
    forge._outcome(path, folder)
print(forge._megabytes() - before)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) < 300
