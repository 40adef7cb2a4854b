"""How does a release answer boxes and areas, with intervals? A worked example.

The script takes a release, such as the one that `release_map.py` writes, and answers every box of a coarse grid and
circles around the middle. The command `spatialdp query` does the same.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
import shapely

import spatialdp as sdp


def main() -> None:
    """Write `squares.csv` and `circles.csv`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release", type=Path, help="a release in GeoParquet")
    parser.add_argument("--output", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)

    # Loading checks that the file is intact, and returns the saved release: promise, domain, estimates, noise.
    release = sdp.load(options.release)
    print(release.privacy)

    # Boxes: a 4 × 4 grid of the domain. One call answers all of them.
    grid = release.domain.grid(shape=(4, 4))
    x, y = np.meshgrid(grid.x_edges[:-1], grid.y_edges[:-1])
    width, height = np.array(release.domain.size) / 4
    boxes = np.stack([x, y, x + width, y + height], axis=-1).reshape(-1, 4)
    squares = pd.DataFrame(boxes, columns=["xmin", "ymin", "xmax", "ymax"])
    squares["estimate"] = release.answer(boxes)
    squares[["lower", "upper"]] = release.interval(boxes, level=0.95)
    squares.to_csv(options.output / "squares.csv", index=False)

    # Areas of any form: circles around the middle of the domain. Cells that they cut count by the share they cover.
    middle = shapely.box(*release.domain.bounds).centroid
    radii = min(release.domain.size) * np.array([0.1, 0.2, 0.4])
    circles = pd.DataFrame({"radius": radii})
    areas = shapely.buffer(middle, radii)
    circles["estimate"] = release.answer_polygons(areas)
    circles[["lower", "upper"]] = release.interval_polygons(areas, level=0.95)
    circles.to_csv(options.output / "circles.csv", index=False)
    print(circles.round(1).to_string(index=False))


if __name__ == "__main__":
    main()
