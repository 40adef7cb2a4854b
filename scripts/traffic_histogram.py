"""How is Dwork and McSherry's traffic histogram reproduced, and what would one publish today? Tables, CSV and maps.

The command `spatialdp traffic` does the same.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

from spatialdp.evaluation import traffic
from spatialdp.outputs.maps.save import save_figure


def main() -> None:
    """Run the experiment and write `traffic.csv` and `traffic.png`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("out"), help="folder for the results")
    parser.add_argument("--releases", type=int, default=20, help="number of releases for each row of the tables")
    parser.add_argument("--seed", type=int, default=1, help="seed of the noise")
    options = parser.parse_args()

    matplotlib.use("Agg")
    options.output.mkdir(parents=True, exist_ok=True)
    rows = traffic.run(releases=options.releases, seed=options.seed)
    print(traffic.table(rows))
    print(traffic.SLIDES_NOTE)
    print(traffic.zeros_note())
    traffic.write_csv(rows, options.output / "traffic.csv")
    save_figure(traffic.draw_maps(seed=options.seed), options.output / "traffic.png")


if __name__ == "__main__":
    main()
