"""What does each mechanism measure and release, and how large are its errors? Pictures and a table.

All mechanisms get the same public records, the same grid and the same ε. The script writes `mechanism_NAME.png` for
each mechanism (true counts, measurements, release) and `mechanisms.csv` with the errors of many releases. The noise is
seeded, so none of the releases is private; the junctions are public data.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import matplotlib
import numpy as np
import numpy.typing as npt
from wavelet_coefficients import draw_coefficients

import spatialdp as sdp
from spatialdp._support.atomic import write_all
from spatialdp.estimates.decomposition import Decomposition
from spatialdp.estimates.grid_noise import SeparableNoise
from spatialdp.estimates.histogram import Histogram
from spatialdp.evaluation.figures import STYLES, summary
from spatialdp.mechanisms import Mechanism
from spatialdp.outputs.maps.colours import colour_scale, palette
from spatialdp.outputs.maps.drawing import draw_boxes, draw_cells
from spatialdp.outputs.maps.save import save_figure
from spatialdp.records.counting import count_cells
from spatialdp.space.lattice import LATTICE
from spatialdp.transforms.matrices import WindowAxis

DATA = sdp.datasets.DATASETS["highways-us"]
DOMAIN = DATA.domain
HEIGHT = 6
SHAPE = (2**HEIGHT, 2**HEIGHT)
GRID = DOMAIN.grid(SHAPE)
LIMITS = (0.0, 100.0)  # junctions in a cell: a public colour scale
EPSILONS = (0.1, 1)
CORNER = (44, 36)  # column and row of the first of the cells whose numbers are written
NUMBERS = 8

Axes = Any
Floats = npt.NDArray[np.float64]

MECHANISMS: dict[str, Mechanism] = {
    "Adaptive": sdp.Adaptive(SHAPE),
    "Flat": sdp.Flat(SHAPE),
    "Uniform": sdp.Uniform(SHAPE),
    "Quadtree": sdp.Quadtree(HEIGHT),
    "KdTree": sdp.KdTree(HEIGHT, data_levels=HEIGHT // 2, median_share=0.05),
    "Hierarchy": sdp.Hierarchy(SHAPE),
    "Wavelet": sdp.Wavelet(SHAPE, budget="optimised"),
    "Fourier": sdp.Fourier(SHAPE),
    "Tailored": sdp.Tailored(SHAPE),
}


# --- pictures of measurements ----------------------------------------------------------------------


def _tree_of(release: sdp.Release) -> Decomposition:
    assert isinstance(release.estimate, Decomposition)
    return release.estimate


def _grid_of(release: sdp.Release) -> Histogram:
    assert isinstance(release.estimate, Histogram)
    return release.estimate


def draw_numbers(ax: Axes, release: sdp.Release) -> str:
    """Draw some cells with their released numbers; return a title."""
    (column, row), values = CORNER, release.estimate.values
    part = values[row : row + NUMBERS, column : column + NUMBERS]
    ax.imshow(part, origin="lower", cmap=palette(), norm=colour_scale(LIMITS, log=True), aspect="auto")
    for (y, x), value in np.ndenumerate(part):
        ax.text(x, y, f"{value:.0f}", ha="center", va="center", fontsize=8, color="0.1" if value > 15 else "0.95")
    ax.set(xticks=[], yticks=[])
    return f"{NUMBERS} × {NUMBERS} of the cells: count + noise"


def draw_total(ax: Axes, release: sdp.Release) -> str:
    """Draw one box with one number; return a title."""
    draw_cells(ax, GRID, np.full(SHAPE[::-1], release.total / GRID.n_cells), norm=colour_scale(LIMITS, log=True))
    ax.text(0.5, 0.5, f"{release.total:,.0f}", ha="center", va="center", fontsize=18, transform=ax.transAxes, color="w")
    return "one number: all records + noise"


def draw_levels(ax: Axes, release: sdp.Release) -> str:
    """Draw the estimates of up to four measured levels of a tree as small maps; return a title."""
    estimate = _tree_of(release)
    tree = estimate.tree
    measured = np.flatnonzero(np.isfinite(estimate.variances))  # one for each level
    depths = measured[np.unique(np.linspace(0, len(measured) - 1, 4).round().astype(int))].tolist()
    ax.axis("off")
    for place, depth in enumerate(depths):
        row, column = divmod(place, 2)
        inset = ax.inset_axes((0.52 * column, 0.54 * (1 - row) if len(depths) > 2 else 0.3, 0.48, 0.4))
        level = tree.level(depth)
        boxes = tree.boxes[level].astype(np.float64)
        share = GRID.n_cells / len(boxes)
        norm = colour_scale(LIMITS, log=True)
        draw_boxes(inset, DOMAIN, boxes, estimate.values[level] / share, norm=norm, lines=depth < 5)
        inset.set_title(f"{len(boxes):,} box{'es' if len(boxes) > 1 else ''}", fontsize=8, pad=2)
    return "levels of counts, fitted together"


def draw_lines(ax: Axes, release: sdp.Release) -> str:
    """Draw the boxes of a kd-tree at a depth where each is large enough to be seen; return a title."""
    estimate, depth = _tree_of(release), 4
    tree = estimate.tree
    level = tree.level(depth)
    boxes = tree.boxes[level].astype(np.float64)
    cells = np.prod((boxes[:, 2:] - boxes[:, :2]) / 2**30, axis=1) * GRID.n_cells
    patches = draw_boxes(
        ax, DOMAIN, boxes, estimate.values[level] / cells, norm=colour_scale(LIMITS, log=True), lines=True
    )
    patches.set(edgecolor="w", linewidth=0.6)
    return f"boxes at depth {depth}: first private medians, then halves"


def draw_haar(ax: Axes, release: sdp.Release) -> str:
    """Draw the Haar coefficients of the release, which are the measurements; return a title."""
    draw_coefficients(ax, release.estimate.values, last=10_000)
    ax.set_aspect("auto")
    return "Haar coefficients + noise, coarse ones lower left"


def draw_frequencies(ax: Axes, release: sdp.Release) -> str:
    """Draw the sizes of the measured cosines; return a title."""
    from scipy.fft import dctn

    sizes = np.sqrt(np.abs(dctn(release.estimate.values, norm="ortho")))
    sizes[sizes < 1e-3] = np.nan
    ax.imshow(sizes, origin="lower", cmap=palette(), vmax=40, interpolation="nearest", aspect="auto")
    ax.set_facecolor("0.93")
    ax.set(xlabel="frequency along x (the lowest half)", ylabel="along y", xticks=[], yticks=[])
    ax.set(xlim=(-0.5, SHAPE[0] / 2), ylim=(-0.5, SHAPE[1] / 2))
    measured = int(np.isfinite(sizes).sum())
    return f"{measured:,} of {sizes.size:,} cosines + noise, the rest left out"


def draw_windows(ax: Axes, release: sdp.Release) -> str:
    """Draw the weights of cells and windows along one axis; return a title."""
    noise = _grid_of(release).noise
    assert isinstance(noise, SeparableNoise)
    axis = noise.x
    assert isinstance(axis, WindowAxis)
    for place, window in enumerate(axis.windows):
        colour, _, dash = STYLES[place % len(STYLES)]
        ax.plot(window / axis.diagonal.max(), color=colour, linestyle=dash, linewidth=1)
    ax.bar(np.arange(axis.size), axis.diagonal / axis.diagonal.max(), color="0.85", width=1.0)
    ax.set(xlabel="column of cells", ylabel="weight", xlim=(-0.5, axis.size - 0.5), ylim=(0, None))
    ax.tick_params(labelsize=8)
    return f"cells (grey) and {len(axis.windows)} windows along x; the same along y"


def draw_blocks(ax: Axes, release: sdp.Release) -> str:
    """Draw the final blocks of an adaptive tree with their unbiased estimates; return a title."""
    estimate = release.estimate.unbiased
    assert isinstance(estimate, Decomposition)
    boxes = estimate.leaf_boxes().astype(np.float64)
    cells = (boxes[:, 2:] - boxes[:, :2]).prod(axis=1) / (LATTICE / SHAPE[0]) / (LATTICE / SHAPE[1])
    draw_boxes(ax, DOMAIN, boxes, estimate.leaf_values() / cells, norm=colour_scale(LIMITS, log=True), lines=True)
    return f"{len(boxes):,} blocks, small where counts are large"


PICTURES: dict[str, Callable[[Axes, sdp.Release], str]] = {
    "Adaptive": draw_blocks,
    "Flat": draw_numbers,
    "Uniform": draw_total,
    "Quadtree": draw_levels,
    "KdTree": draw_lines,
    "Hierarchy": draw_levels,
    "Wavelet": draw_haar,
    "Fourier": draw_frequencies,
    "Tailored": draw_windows,
}


def draw(name: str, points: sdp.Points, epsilon: float, seed: int, output: Path) -> None:
    """Draw true counts, measurements and release side by side."""
    import matplotlib.pyplot as plt

    release = MECHANISMS[name].release(points, DOMAIN, epsilon=epsilon, noise=sdp.SeededNoise(seed))
    boxes = sdp.workload.all_cells(DOMAIN, SHAPE).boxes
    assert boxes is not None
    cells = release.answer(boxes).reshape(SHAPE[::-1])
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.1), layout="constrained")
    norm = colour_scale(LIMITS, log=True)
    draw_cells(left, GRID, np.asarray(count_cells(points, GRID), dtype=np.float64), norm=norm)
    left.set_title("true counts (public data)", fontsize=10)
    middle.set_title(PICTURES[name](middle, release), fontsize=10)
    image = draw_cells(right, GRID, cells, norm=norm)
    right.set_title(f"{name}, released at ε = {epsilon:g}", fontsize=10)
    figure.colorbar(image, ax=right, label="junctions in a cell", extend="both", ticks=[0, 1, 3, 10, 30, 100])
    figure.supxlabel(
        f"{DATA.title}, {SHAPE[0]} × {SHAPE[1]} cells. Seed {seed}: not private.", fontsize=8, x=0.01, ha="left"
    )
    save_figure(figure, output / f"mechanism_{release.privacy.mechanism}.png", dpi=80)
    plt.close(figure)


# --- errors ----------------------------------------------------------------------------------------


def measure(points: sdp.Points, trials: int, seed: int, output: Path) -> None:
    """Write root-mean-square errors of cells, of small boxes and of random boxes, over many releases."""
    loads = [
        sdp.workload.all_cells(DOMAIN, SHAPE),
        *sdp.workload.area_boxes(DOMAIN, [0.01, 0.1]),
        sdp.workload.random_boxes(DOMAIN, 1000),
    ]
    frame = sdp.evaluate(MECHANISMS, points, DOMAIN, loads, EPSILONS, trials, metrics=["rmse"], seed=seed)
    rows = summary(frame, ["mechanism", "epsilon", "workload"])
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["mechanism", "epsilon", "workload", "trials", "rmse", "noise"])
    writer.writerows(
        [row.mechanism, f"{row.epsilon:g}", row.workload, trials, f"{row.mean:.2f}", "seeded noise, not private"]
        for row in rows.itertuples()
    )
    write_all({output / "mechanisms.csv": text.getvalue().encode()}, overwrite=True)


@click.command(help=__doc__)
@click.option("--output", type=click.Path(file_okay=False, path_type=Path), default=Path("out"), show_default=True)
@click.option("--epsilon", type=float, default=0.1, show_default=True, help="Privacy budget of the pictures.")
@click.option(
    "--trials", type=click.IntRange(1), default=20, show_default=True, help="Number of releases for each error."
)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True)
def main(output: Path, epsilon: float, trials: int, seed: int) -> None:
    """Draw all mechanisms and measure their errors."""
    matplotlib.use("Agg")
    output.mkdir(parents=True, exist_ok=True)
    points = DATA.points()
    for name in MECHANISMS:
        draw(name, points, epsilon, seed, output)
    measure(points, trials, seed, output)


if __name__ == "__main__":
    main()
