"""Where a low-pass release wins and where it loses: a smooth and a clustered density, errors against box size.

The same mechanisms, the same ε, boxes of all sizes; the block is given, or chosen privately. Errors are means over
many boxes and several releases, and include what low-pass filtering loses. The given block, 8 × 8, was picked
after looking at several on the smooth records: a user who does not know that much gets the chosen one.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib
import numpy as np
import numpy.typing as npt

import spatialdp as sdp
from spatialdp.maps import COLOURS, save_figure
from spatialdp.mechanisms import Mechanism

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]

SHAPE = (256, 256)
EPSILON = 0.1
RECORDS = 300_000
SIDES = np.array([1, 2, 4, 8, 16, 32, 64, 128, 230]) / 256
DOMAIN = sdp.Domain((0, 0, 1, 1))
MECHANISMS: dict[str, tuple[Mechanism, str]] = {
    "Flat": (sdp.Flat(SHAPE), "0.5"),
    "Quadtree": (sdp.Quadtree(8), "tab:orange"),
    "Fourier, 8 × 8 block given": (sdp.Fourier(SHAPE, block=(8, 8)), "tab:green"),
    "Fourier, block chosen privately": (sdp.Fourier(SHAPE), "tab:blue"),
}


def smooth(generator: np.random.Generator) -> Floats:
    """A density made of two broad hills and a slope."""
    places = generator.uniform(size=(6 * RECORDS, 2))
    x, y = places.T
    hills = np.exp(-((x - 0.3) ** 2 + (y - 0.6) ** 2) / 0.08) + 0.7 * np.exp(-((x - 0.8) ** 2 + (y - 0.3) ** 2) / 0.05)
    return np.asarray(places[generator.uniform(0, 1.6, size=x.size) < hills + 0.3 * x + 0.1][:RECORDS])


def clustered(generator: np.random.Generator) -> Floats:
    """Sixty towns of very different sizes, each a few cells wide."""
    towns = generator.uniform(0.02, 0.98, size=(60, 2))
    weights = 1 / np.arange(1, 61)
    chosen = generator.choice(60, size=RECORDS, p=weights / weights.sum())
    return np.clip(towns[chosen] + generator.normal(0, 0.004, size=(RECORDS, 2)), 0, 1)


def squares(side: float, generator: np.random.Generator, count: int = 300) -> Floats:
    """Squares made of whole cells, anywhere."""
    corners = np.floor(generator.uniform(0, 1 - side, size=(count, 2)) * SHAPE[0]) / SHAPE[0]
    return np.concatenate([corners, corners + side], axis=1)


def errors(records: Floats, mechanism: Mechanism, releases: int, seed: int) -> Floats:
    """Mean absolute error of boxes of each size."""
    boxes = [squares(side, np.random.default_rng(seed)) for side in SIDES]
    exact = _counts(records)
    truth = [_sums(exact, box) for box in boxes]
    noise = sdp.SeededNoise(seed)
    found = np.zeros((releases, SIDES.size))
    for row in found:
        release = mechanism.release(records, DOMAIN, epsilon=EPSILON, noise=noise)
        row[:] = [np.abs(release.answer(box) - sums).mean() for box, sums in zip(boxes, truth, strict=True)]
    return np.asarray(found.mean(axis=0))


def _counts(records: Floats) -> Floats:
    return np.histogram2d(records[:, 0], records[:, 1], bins=SHAPE[0], range=[[0, 1], [0, 1]])[0]


def _sums(exact: Floats, boxes: Floats) -> Floats:
    sums = np.pad(exact.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
    x0, y0, x1, y1 = np.rint(boxes * SHAPE[0]).astype(int).T
    return np.asarray(sums[x1, y1] - sums[x0, y1] - sums[x1, y0] + sums[x0, y0])


def draw(releases: int, seed: int) -> Figure:
    """One row a density: the records, a Fourier release, the errors."""
    import matplotlib.pyplot as plt

    figure, rows = plt.subplots(2, 3, figsize=(11, 7), layout="constrained", width_ratios=(1, 1, 1.35))
    for (name, make), axes in zip((("Smooth", smooth), ("Clustered", clustered)), rows, strict=True):
        records = make(np.random.default_rng(seed))
        _draw_maps(axes, name, records, seed)
        _draw_errors(axes[2], name, records, releases, seed)
    figure.suptitle(f"{RECORDS:,} records, 256 × 256 cells, ε = {EPSILON} (simulation, seeded noise)")
    return figure


def _draw_maps(axes: npt.NDArray[np.object_], name: str, records: Floats, seed: int) -> None:
    exact = _counts(records).T
    estimates = (
        sdp.Fourier(SHAPE, block=(8, 8)).release(records, DOMAIN, epsilon=EPSILON, noise=sdp.SeededNoise(seed)).estimate
    )
    limit = float(np.quantile(exact[exact > 0], 0.9))
    titles = (f"{name}: records", "Fourier, 8 × 8 block given")
    for ax, values, title in zip(axes, (exact, estimates.values), titles, strict=False):
        ax.imshow(values, origin="lower", cmap=COLOURS, vmin=0, vmax=limit)
        ax.set(title=title, xticks=[], yticks=[])


def _draw_errors(ax: Axes, name: str, records: Floats, releases: int, seed: int) -> None:
    for label, (mechanism, colour) in MECHANISMS.items():
        found = errors(records, mechanism, releases, seed)
        print(f"{name:10} {label:32}", *(f"{error:9.1f}" for error in found))
        ax.loglog(SIDES * SHAPE[0], found, color=colour, marker="o", markersize=4, label=label)
    ax.set(title=f"{name}: mean absolute error", xlabel="side of the box in cells", ylabel="records")
    ax.grid(alpha=0.3)
    ax.legend(fontsize="small")


def main() -> None:
    """Print the errors and write `fourier.png`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("out"), help="folder for the results")
    parser.add_argument("--releases", type=int, default=20, help="releases of each mechanism")
    parser.add_argument("--seed", type=int, default=1, help="same seed, same figure")
    options = parser.parse_args()

    matplotlib.use("Agg")
    options.output.mkdir(parents=True, exist_ok=True)
    print(f"{'side':43}", *(f"{side * SHAPE[0]:9.0f}" for side in SIDES))
    save_figure(draw(options.releases, options.seed), options.output / "fourier.png")


if __name__ == "__main__":
    main()
