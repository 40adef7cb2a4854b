"""What do Haar coefficients of a map look like, without and with noise? Coefficients and maps side by side.

The script writes `wavelet_coefficients.png`. The coefficients without noise are true values: the junctions are public
data.
"""

from __future__ import annotations

from pathlib import Path

import click
import matplotlib
import numpy as np
import numpy.typing as npt

import spatialdp as sdp
from spatialdp.outputs.maps.drawing import draw_cells
from spatialdp.outputs.maps.save import save_figure
from spatialdp.records.counting import count_cells
from spatialdp.structures.axis_pairs import forward
from spatialdp.transforms.haar import HaarAxis

DOMAIN = sdp.Domain((-125, 24, -66, 50), crs="EPSG:4326")
SHAPE = (128, 64)
LAST = 400.0  # upper end of the public colour scale for coefficients


@click.command(help=__doc__)
@click.option("--output", type=click.Path(file_okay=False, path_type=Path), default=Path("out"), show_default=True)
@click.option("--epsilon", type=float, default=1.0, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
def main(output: Path, epsilon: float, seed: int) -> None:
    """Release the junctions and draw their coefficients and maps."""
    import matplotlib.pyplot as plt
    from matplotlib.colors import Normalize

    matplotlib.use("Agg")
    output.mkdir(parents=True, exist_ok=True)
    grid = DOMAIN.grid(SHAPE)
    counts = count_cells(sdp.datasets.us_highway_junctions(), grid)
    release = sdp.Wavelet(SHAPE).release(
        sdp.datasets.us_highway_junctions(), DOMAIN, epsilon=epsilon, noise=sdp.SeededNoise(seed)
    )
    maps = [("true counts (public data)", counts), (f"released at ε = {epsilon:g}", release.estimate.values)]
    figure, axes = plt.subplots(2, 2, figsize=(10, 6), layout="constrained")
    for column, (title, values) in zip(axes.T, maps, strict=True):
        coefficients = draw_coefficients(column[0], values)
        column[0].set_title(f"coefficients of the {title}" if title.startswith("true") else f"coefficients {title}")
        cells = draw_cells(column[1], grid, np.asarray(values, dtype=np.float64), norm=Normalize(0, 60))
        column[1].set_title(title)
    figure.colorbar(coefficients, ax=axes[0], label="coefficient (square-root scale)", extend="both")
    figure.colorbar(cells, ax=axes[1], label="junctions in a cell", extend="both")
    save_figure(figure, output / "wavelet_coefficients.png")


def draw_coefficients(
    ax: matplotlib.axes.Axes, values: npt.NDArray[np.generic], last: float = LAST
) -> matplotlib.image.AxesImage:
    """Draw coefficients by signed square roots, coarse scales in the lower left, fine ones towards the upper right."""
    whole = np.rint(np.asarray(values, dtype=np.float64)).astype(np.int64)
    sizes = whole.shape[::-1]
    coefficients = forward(whole, (HaarAxis(sizes[0]), HaarAxis(sizes[1]))).astype(np.float64)
    roots = np.sign(coefficients) * np.sqrt(np.abs(coefficients))
    image = ax.imshow(roots, origin="lower", cmap="PuOr", vmin=-(last**0.5), vmax=last**0.5, interpolation="nearest")
    for size, line in zip(sizes, (ax.axvline, ax.axhline), strict=True):
        for edge in 2 ** np.arange(int(np.log2(size))):
            line(edge - 0.5, color="0.6", linewidth=0.4)
    ax.set(xticks=[], yticks=[])
    return image


if __name__ == "__main__":
    main()
