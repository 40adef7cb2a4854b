"""How large is the expected error of each mechanism whose structure is public? Errors against the size of the box.

The errors are computed from public parameters: the script reads no data and draws no noise. It writes
`expected_error.csv` and `expected_error.png`.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

import click
import matplotlib
import numpy as np
from curves import Curve, draw_curves

import spatialdp as sdp
from spatialdp._support.arrays import even_points
from spatialdp._support.atomic import write_all
from spatialdp.evaluation.figures import finish, label_lines
from spatialdp.mechanisms import Mechanism
from spatialdp.outputs.maps.save import save_figure

SIDE = 256
DOMAIN = sdp.Domain((0, 0, SIDE, SIDE))
SHARES = np.geomspace(1 / SIDE**2, 1, 25)


def mechanisms() -> dict[str, Mechanism]:
    """Return mechanisms on a grid of 256 × 256 cells."""
    shape = (SIDE, SIDE)
    return {
        "Flat": sdp.Flat(shape),
        "Wavelet (Privelet)": sdp.Wavelet(shape),
        "Quadtree, uniform": sdp.Quadtree(8, budget="uniform"),
        "Quadtree (quad-opt)": sdp.Quadtree(8),
        "Hierarchy, 16 x 16 uniform": sdp.Hierarchy(shape, branching=16, levels="uniform"),
        "Hierarchy": sdp.Hierarchy(shape),
        "Tailored": sdp.Tailored(shape),
    }


def squares(share: float, count: int = 1000) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return squares of whole cells, spread over the domain; each has about this share of the area."""
    side = max(1.0, round(SIDE * share**0.5))
    corners = np.floor(even_points(count, 2) * (SIDE - side + 1))
    return np.concatenate([corners, corners + side], axis=1)


@click.command(help=__doc__)
@click.option("--output", type=click.Path(file_okay=False, path_type=Path), default=Path("out"), show_default=True)
@click.option("--epsilon", type=float, default=1.0, show_default=True)
def main(output: Path, epsilon: float) -> None:
    """Compute the errors, write them and draw them."""
    import matplotlib.pyplot as plt

    matplotlib.use("Agg")
    output.mkdir(parents=True, exist_ok=True)
    boxes = [squares(share) for share in SHARES]
    sizes = [float((b[0, 2] - b[0, 0]) ** 2 / SIDE**2) for b in boxes]
    errors = {
        name: [mechanism.expected_error(DOMAIN, b, epsilon=epsilon) for b in boxes]
        for name, mechanism in mechanisms().items()
    }
    _write(output / "expected_error.csv", sizes, errors)
    figure, ax = plt.subplots(figsize=(9, 5.5))
    draw_curves(ax, [Curve([100 * s for s in sizes], line, line, line) for line in errors.values()], list(errors))
    ax.set(xscale="log", xlabel="box, % of the domain's area", ylabel="root-mean-square error (records)")
    caption = (
        f"{SIDE} x {SIDE} cells, ε = {epsilon:g}, discrete Laplace noise, add-remove. Computed from public parameters."
    )
    finish(figure, "What noise costs: expected error of a square box", caption)
    label_lines(ax, gap=0.05)
    save_figure(figure, output / "expected_error.png")


def _write(path: Path, sizes: list[float], errors: dict[str, list[float]]) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["share of the area", *errors])
    writer.writerows(zip(sizes, *errors.values(), strict=True))
    write_all({path: text.getvalue().encode()}, overwrite=True)


if __name__ == "__main__":
    main()
