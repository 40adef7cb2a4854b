"""How does a file of points become a private map? A worked example, with a file that any GIS opens.

The script releases the road intersections of Chattanooga, within Hamilton County, as if they were homes. The commands
`spatialdp release` and `spatialdp map` do the same.
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

    # What will the release cost, and how large will its errors be? Nothing has been read so far.
    mechanism = sdp.Quadtree(height=6)
    plan = mechanism.plan(domain, epsilon=options.epsilon)
    print(f"{plan.cells:,} cells; the expected error of a box of 1 % of the area is {plan.errors['1 %']:.0f} records")

    # Read the points and release them: only this step uses records, and it spends the budget.
    points = sdp.read_points(DATASETS / "roads_chattanooga.parquet", domain, x="lon", y="lat")
    release = mechanism.release(points, domain, epsilon=options.epsilon)

    # Everything from here on costs no budget: a file, a picture, any number of queries.
    print(f"{release.privacy}: about {release.total:,.0f} intersections")
    release.save(options.output / "intersections.parquet", overwrite=True)
    release.plot()
    plt.savefig(options.output / "intersections.png")


if __name__ == "__main__":
    main()
