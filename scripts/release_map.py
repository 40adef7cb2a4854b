"""A worked example: from a file of points to a private map, in a file that any GIS opens.

Releases the road intersections of Chattanooga, within Hamilton County, as if they were homes. The command line does the
same: `spatialdp release`, then `spatialdp map`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt

import spatialdp as sdp

DATASETS = Path(__file__).parent.parent / "datasets"


def main() -> None:
    """Write `intersections.parquet` and `intersections.png`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("out"), help="folder for the results")
    parser.add_argument("--epsilon", type=float, default=1.0, help="privacy budget")
    options = parser.parse_args()
    matplotlib.use("Agg")
    options.output.mkdir(parents=True, exist_ok=True)

    # The domain is public: here a county. It is never inferred from the points.
    domain = sdp.Domain.around(sdp.datasets.hamilton_county(), crs="EPSG:4326")

    # What will it cost, and how good will it be? Nothing has been read so far.
    mechanism = sdp.Quadtree(height=6)
    plan = mechanism.plan(domain, epsilon=options.epsilon)
    print(f"{plan.cells:,} cells; a box of 1 % of the area will be off by about {plan.errors['1 %']:.0f} records")

    # Read the points and release them: the one step that looks at records, and spends the budget.
    points = sdp.read_points(DATASETS / "roads_chattanooga.parquet", domain, x="lon", y="lat")
    release = mechanism.release(points, domain, epsilon=options.epsilon)

    # Everything from here on is free: a file, a picture, any number of questions.
    print(f"{release.privacy}: about {release.total:,.0f} intersections")
    release.save(options.output / "intersections.parquet", overwrite=True)
    release.plot()
    plt.savefig(options.output / "intersections.png")


if __name__ == "__main__":
    main()
