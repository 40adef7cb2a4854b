"""Can Dwork and McSherry's traffic histogram be reproduced? `spatialdp traffic` runs the experiment on public data.

The releases have seeded noise and are not private; the command says so.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from spatialdp.cli.options.output import folder_options

__all__ = ["command"]


@click.command("traffic")
@folder_options("traffic.csv", "traffic.png")
@click.option(
    "--releases",
    type=click.IntRange(1, 10_000),
    default=20,
    show_default=True,
    help="Number of releases for each ε, law of noise and mechanism.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=1,
    show_default=True,
    help="Seed of the noise; the same seed gives the same table.",
)
@click.option("--quiet", is_flag=True, help="Show no progress bar.")
def command(folder: Path, releases: int, seed: int, quiet: bool) -> None:
    """Reproduce Dwork and McSherry's traffic histogram, and show what one would publish today.

    The command counts the highway junctions of the contiguous United States in 64,909 cells, releases the counts at
    ε = 1, 0.1, 0.01 and 0.001, prints the errors beside those of the slides and of theory, and draws the maps. Then it
    releases the same cells by an adaptive tree at the same ε, and compares the errors of cells and of boxes.

    Example: spatialdp traffic -o out
    """
    import matplotlib

    matplotlib.use("Agg")
    from tqdm import tqdm

    from spatialdp.evaluation import traffic as experiment
    from spatialdp.outputs.maps.save import save_figure

    folder.mkdir(parents=True, exist_ok=True)
    grid = experiment.traffic_grid()
    click.echo(
        f"{grid.n_cells:,} cells of {experiment.find_cell_size():.6f}° in a grid of {grid.shape[0]} x {grid.shape[1]}"
    )
    rows = experiment.run(
        releases=releases,
        seed=seed,
        progress=lambda steps: tqdm(steps, desc="releasing", disable=quiet, file=sys.stderr),
    )
    click.echo(f"\n{experiment.table(rows)}")
    click.echo(f"\n{experiment.SLIDES_NOTE}\n{experiment.zeros_note()}")
    experiment.write_csv(rows, folder / "traffic.csv")
    save_figure(experiment.draw_maps(seed=seed), folder / "traffic.png")
    click.echo(f"wrote {folder / 'traffic.csv'} and {folder / 'traffic.png'}")
    click.echo(f"The noise has seed {seed}, so these releases are not private; the junctions are public data.")
