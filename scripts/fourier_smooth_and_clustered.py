"""For which records is a Fourier release better than others? Errors on a smooth and on a clustered density.

The same mechanisms are compared at the same ε on boxes of all sizes. The Fourier block is given, or chosen privately.
Errors are means over many boxes and several releases, and include the error from leaving out high frequencies. The
given block, 8 × 8, was picked after trying several on the smooth records; a user who cannot do that gets the private
choice.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib
import numpy as np
import numpy.typing as npt
from common import NOTE, write_csv
from curves import curve, draw_curves
from scipy.stats import t

import spatialdp as sdp
from spatialdp.evaluation.figures import finish, label_lines
from spatialdp.mechanisms import Mechanism
from spatialdp.outputs.maps.colours import palette
from spatialdp.outputs.maps.save import save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]

SHAPE = (256, 256)
EPSILON = 0.1
RECORDS = 300_000
SIDES = np.array([1, 2, 4, 8, 16, 32, 64, 128, 230]) / 256
DOMAIN = sdp.Domain((0, 0, 1, 1))
MECHANISMS: dict[str, Mechanism] = {
    "Flat": sdp.Flat(SHAPE),
    "Quadtree": sdp.Quadtree(8),
    "Fourier, 8 × 8": sdp.Fourier(SHAPE, block=(8, 8)),
    "Fourier, chosen": sdp.Fourier(SHAPE),
}


@dataclass(frozen=True)
class Row:
    """Mean absolute error of squares of one size, with a 95 % confidence interval over releases (Student's t)."""

    density: str
    method: str
    side: float
    error_lower: float
    error: float
    error_upper: float
    releases: int
    noise: str = NOTE


def smooth(generator: np.random.Generator) -> Floats:
    """Draw records from a density of two broad hills and a slope."""
    places = generator.uniform(size=(6 * RECORDS, 2))
    x, y = places.T
    hills = np.exp(-((x - 0.3) ** 2 + (y - 0.6) ** 2) / 0.08) + 0.7 * np.exp(-((x - 0.8) ** 2 + (y - 0.3) ** 2) / 0.05)
    return np.asarray(places[generator.uniform(0, 1.6, size=x.size) < hills + 0.3 * x + 0.1][:RECORDS])


def clustered(generator: np.random.Generator) -> Floats:
    """Draw records from sixty towns of very different sizes, each a few cells wide."""
    towns = generator.uniform(0.02, 0.98, size=(60, 2))
    weights = 1 / np.arange(1, 61)
    town_of_record = generator.choice(60, size=RECORDS, p=weights / weights.sum())
    return np.clip(towns[town_of_record] + generator.normal(0, 0.004, size=(RECORDS, 2)), 0, 1)


def squares(side: float, generator: np.random.Generator, count: int = 300) -> Floats:
    """Draw squares of whole cells at random places."""
    corners = np.floor(generator.uniform(0, 1 - side, size=(count, 2)) * SHAPE[0]) / SHAPE[0]
    return np.concatenate([corners, corners + side], axis=1)


def errors(records: Floats, mechanism: Mechanism, releases: int, seed: int) -> Floats:
    """Return the mean absolute error of boxes of each size, for every release."""
    boxes = [squares(side, np.random.default_rng(seed)) for side in SIDES]
    exact = _counts(records)
    truth = [_sums(exact, box) for box in boxes]
    noise = sdp.SeededNoise(seed)
    means = np.zeros((releases, SIDES.size))
    for row in means:
        release = mechanism.release(records, DOMAIN, epsilon=EPSILON, noise=noise)
        row[:] = [np.abs(release.answer(box) - sums).mean() for box, sums in zip(boxes, truth, strict=True)]
    return means


def rows_of(density: str, method: str, errors: Floats) -> list[Row]:
    """Return means over releases with intervals; these are intervals of the logarithm, so they stay above zero."""
    mean, count = errors.mean(axis=0), len(errors)
    half = t.ppf(0.975, count - 1) * errors.std(axis=0, ddof=1) / count**0.5 if count > 1 else np.zeros(SIDES.size)
    factor = np.exp(half / mean)
    lower, middle, upper = ([float(f"{value:.5g}") for value in part] for part in (mean / factor, mean, mean * factor))
    sides = (SIDES * SHAPE[0]).tolist()
    return [Row(density, method, *line, releases=count) for line in zip(sides, lower, middle, upper, strict=True)]


def _counts(records: Floats) -> Floats:
    return np.histogram2d(records[:, 0], records[:, 1], bins=SHAPE[0], range=[[0, 1], [0, 1]])[0]


def _sums(exact: Floats, boxes: Floats) -> Floats:
    sums = np.pad(exact.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
    x0, y0, x1, y1 = np.rint(boxes * SHAPE[0]).astype(int).T
    return np.asarray(sums[x1, y1] - sums[x0, y1] - sums[x1, y0] + sums[x0, y0])


def draw(releases: int, seed: int) -> tuple[Figure, list[Row]]:
    """Draw records, a Fourier release and errors of each density; return the figure and the errors."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(2, 3, figsize=(13, 7.4), width_ratios=(1, 1, 1.5))
    rows: list[Row] = []
    for (name, make), axes in zip((("Smooth", smooth), ("Clustered", clustered)), panels, strict=True):
        records = make(np.random.default_rng(seed))
        _draw_maps(axes, name, records, seed)
        lines = [
            rows_of(name, label, errors(records, mechanism, releases, seed)) for label, mechanism in MECHANISMS.items()
        ]
        draw_curves(axes[2], [curve(line, "side") for line in lines], list(MECHANISMS))
        axes[2].set_xscale("log", base=2)
        axes[2].set(title=f"{name}: mean absolute error", xlabel="side of the box in cells", ylabel="records")
        rows += [row for line in lines for row in line]
    title = f"{RECORDS:,} records, 256 × 256 cells, ε = {EPSILON}"
    caption = f"Lines: means of {releases} releases. Bands: 95 % confidence intervals. Simulated records; {NOTE}."
    finish(figure, title, caption)
    for axes in panels:
        axes[0].tick_params(labelbottom=False, labelleft=False)
        axes[1].tick_params(labelbottom=False, labelleft=False)
        label_lines(axes[2])
    return figure, rows


def _draw_maps(axes: npt.NDArray[np.object_], name: str, records: Floats, seed: int) -> None:
    exact = _counts(records).T
    estimates = (
        sdp.Fourier(SHAPE, block=(8, 8)).release(records, DOMAIN, epsilon=EPSILON, noise=sdp.SeededNoise(seed)).estimate
    )
    limit = float(np.quantile(exact[exact > 0], 0.9))
    titles = (f"{name}: records", "Fourier, 8 × 8 block given")
    for ax, values, title in zip(axes, (exact, estimates.values), titles, strict=False):
        ax.imshow(values, origin="lower", cmap=palette(), vmin=0, vmax=limit)
        ax.set(title=title, xticks=[], yticks=[])


def main() -> None:
    """Print the errors and write `fourier.csv` and `fourier.png`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("out"), help="folder for the results")
    parser.add_argument("--releases", type=int, default=20, help="number of releases of each mechanism")
    parser.add_argument("--seed", type=int, default=1, help="seed of the records and the noise")
    options = parser.parse_args()

    matplotlib.use("Agg")
    options.output.mkdir(parents=True, exist_ok=True)
    figure, rows = draw(options.releases, options.seed)
    for row in rows:
        print(f"{row.density:10} {row.method:16} {row.side:5.0f} {row.error:9.1f}")
    write_csv(rows, options.output / "fourier.csv")
    save_figure(figure, options.output / "fourier.png")


if __name__ == "__main__":
    main()
