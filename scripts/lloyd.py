"""What does k-means cost if a curator is asked in every round? Lloyd's algorithm through K, against one release.

Lloyd's algorithm moves each centre to the mean of the records that are nearest to it, again and again. A curator who
answers counts and sums can carry it out (the example of Dwork and McSherry): in each round, one count and two sums for
each cluster. A record is in one cluster, where it moves the count by 1 and each sum by at most half a side of the
domain, if coordinates are counted from the middle. In units of the sides, one record moves a round by 2, however many
clusters there are. The rounds share ε, so their number is fixed beforehand, and so are the first centres.

The other way is to publish a map once and to find the clusters in it (`spatialdp.kmeans`), for the same ε. Both are
measured by the mean squared distance of the records to the nearest centre, relative to the best of 20 runs of the
algorithm on the records themselves. Records are the street intersections of four cities, each taken for a person's
record; nothing here is private, because the noise has seeds and the distances are exact.

Run it as ``python scripts/lloyd.py --output figures``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import spatialdp as sdp
from spatialdp._support.arrays import Floats, even_points
from spatialdp._support.tables import markdown
from spatialdp.datasets import DATASETS, Dataset
from spatialdp.records.points import lattice_points

CITIES = ("chattanooga", "salt-lake-city", "auckland", "liege")
STARTS = 20  # of the algorithm on the records themselves


def lloyd(curator: sdp.Curator, domain: sdp.Domain, k: int, epsilon: Fraction, rounds: int) -> Floats:
    """Return k centres after some rounds of Lloyd's algorithm, each of which asks a curator.

    The curator's records have the columns ``east`` and ``north``, their coordinates counted from the middle of the
    domain. Of a round's budget, half goes to the counts and a quarter to each of the sums.

    Examples
    --------
    >>> points, domain = [[0.1, 0.2]] * 3000 + [[0.8, 0.7]] * 2000, sdp.Domain((0, 0, 1, 1))
    >>> curator = sdp.Curator.rehearsal(with_coordinates(points, domain), domain, noise=sdp.SeededNoise(1))
    >>> lloyd(curator, domain, 2, Fraction(1), rounds=3).round(1).tolist()
    [[0.1, 0.2], [0.8, 0.7]]
    """
    centres = starts(domain, k)
    half, middle = np.array(domain.size) / 2, np.array(domain.bounds[:2]) + np.array(domain.size) / 2
    share = Fraction(epsilon) / rounds
    with curator.prepaid(epsilon=epsilon) as asked:
        for _ in range(rounds):
            cells = nearest_cells(centres, domain)
            counts = asked.counts(cells, epsilon=share / 2)
            sums = [
                asked.sum(name, (-side, side), cells, epsilon=share / 4).values
                for name, side in zip(("east", "north"), half, strict=True)
            ]
            # Where a count is not told from its noise, the centre stays where it is.
            told = counts.values > 2 * counts.standard_deviation
            means = middle + np.stack(sums, axis=1) / np.maximum(counts.values, 1)[:, None]
            moved = np.clip(means, domain.bounds[:2], domain.bounds[2:])
            centres = np.where(told[:, None], moved, centres)
    return centres


def with_coordinates(places: Any, domain: sdp.Domain) -> sdp.Rows:
    """Return records with their own coordinates as columns, counted from the middle of the domain."""
    xy = np.asarray(places, dtype=np.float64)
    east, north = (xy - domain.bounds[:2] - np.array(domain.size) / 2).T
    return sdp.Rows(sdp.Points(xy, crs=domain.crs), east=east, north=north)


def places_of(data: Dataset) -> Floats:
    """Return the coordinates of records, at the centres of their lattice squares."""
    lines = lattice_points(data.points(), data.domain)
    return np.stack(
        [axis.centres(each.astype(np.int64)) for axis, each in zip(data.domain.axes, lines, strict=True)], 1
    )


def starts(domain: sdp.Domain, k: int) -> Floats:
    """Return k public places that are spread evenly over a domain."""
    return np.asarray(domain.bounds[:2] + even_points(k, 2) * domain.size)


def nearest_cells(centres: Floats, domain: sdp.Domain) -> list[Any]:
    """Return, for each centre, the part of the domain that is nearest to it, as a polygon."""
    import shapely

    box, scale = shapely.box(*domain.bounds), ground_scale(domain)
    reach = 4 * float(np.linalg.norm(np.array(domain.size) * scale))
    cells = []
    for number, centre in enumerate(centres * scale):
        cell = shapely.transform(box, lambda places: places * scale)
        for other in np.delete(centres * scale, number, axis=0):
            along = other - centre
            length = float(np.linalg.norm(along))
            if length > 0:
                along, across = along / length * reach, np.array([-along[1], along[0]]) / length * reach
                edge = (centre + other) / 2
                side = shapely.Polygon([edge - across, edge + across, edge + across - along, edge - across - along])
                cell = shapely.intersection(cell, side)
        cells.append(shapely.transform(cell, lambda places: places / scale))
    return cells


def ground_scale(domain: sdp.Domain) -> Floats:
    """Return by what degrees are multiplied so that they are alike on the ground."""
    _, ymin, _, ymax = domain.bounds
    degrees = domain.crs is not None
    return np.array([np.cos(np.radians((ymin + ymax) / 2)) if degrees else 1.0, 1.0])


def cost(places: Floats, centres: Floats, domain: sdp.Domain) -> float:
    """Mean squared distance of places to the nearest centre."""
    scale = ground_scale(domain)
    return float(_nearest(places * scale, centres * scale)[1].mean())


def _nearest(places: Floats, centres: Floats) -> tuple[Any, Floats]:
    from scipy.spatial import cKDTree

    distances, numbers = cKDTree(centres).query(places)
    return numbers, distances**2


def not_private(places: Floats, k: int, domain: sdp.Domain) -> float:
    """Return the least cost of several runs of Lloyd's algorithm on the records themselves."""
    scale, rng = ground_scale(domain), np.random.default_rng(1)
    scaled, best = places * scale, np.inf
    for _ in range(STARTS):
        centres = scaled[rng.choice(len(scaled), k, replace=False)]
        for _ in range(100):
            numbers, _ = _nearest(scaled, centres)
            counts = np.bincount(numbers, minlength=k)
            sums = np.stack([np.bincount(numbers, axis, k) for axis in scaled.T], axis=1)
            centres = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centres)
        best = min(best, float(_nearest(scaled, centres)[1].mean()))
    return best


def ways(places: Floats, domain: sdp.Domain, k: int, epsilon: Fraction) -> dict[str, Callable[[int], Floats]]:
    """Return, by name, functions that find centres with the noise of a seed."""
    rows, points = with_coordinates(places, domain), sdp.Points(places, crs=domain.crs)

    def through_k(rounds: int) -> Callable[[int], Floats]:
        return lambda seed: lloyd(
            sdp.Curator.rehearsal(rows, domain, noise=sdp.SeededNoise(seed)), domain, k, epsilon, rounds
        )

    def on_release(mechanism: Any) -> Callable[[int], Floats]:
        return lambda seed: (
            sdp.kmeans(mechanism.release(points, domain, epsilon=epsilon, noise=sdp.SeededNoise(seed)), k).centres
        )

    return {
        "through K, 3 rounds": through_k(3),
        "through K, 5 rounds": through_k(5),
        "kmeans on `Hierarchy((32, 32))`": on_release(sdp.Hierarchy((32, 32))),
        "kmeans on `Adaptive()`": on_release(sdp.Adaptive()),
    }


def rows_of(cities: list[str], ks: list[int], epsilons: list[Fraction], trials: int) -> Iterator[list[str]]:
    """The lines of the table."""
    for name, k in product(cities, ks):
        data = DATASETS[name]
        places, domain = places_of(data), data.domain
        best = not_private(places, k, domain)
        for epsilon in epsilons:
            costs = {
                way: np.mean([cost(places, find(seed), domain) for seed in range(trials)]) / best
                for way, find in ways(places, domain, k, epsilon).items()
            }
            yield [data.title, str(k), f"{float(epsilon):g}", *(f"{mean:.2f}" for mean in costs.values())]


def main() -> None:
    """Find the centres, and write `lloyd.md`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("figures"))
    parser.add_argument("--cities", default=",".join(CITIES))
    parser.add_argument("--k", default="5,15")
    parser.add_argument("--epsilons", default="0.1,1")
    parser.add_argument("--trials", type=int, default=10)
    settings = parser.parse_args()
    ks, epsilons = (
        [int(each) for each in settings.k.split(",")],
        [Fraction(each) for each in settings.epsilons.split(",")],
    )
    header = ["records", "k", "ε", *ways(np.ones((1, 2)) / 2, sdp.Domain((0, 0, 1, 1)), 1, Fraction(1))]
    table = markdown([header, *rows_of(settings.cities.split(","), ks, epsilons, settings.trials)])
    note = (
        "Mean squared distance to the nearest centre, relative to the best of 20 runs on the records themselves; means "
        f"of {settings.trials} runs. Seeded noise, not private."
    )
    settings.output.mkdir(parents=True, exist_ok=True)
    (settings.output / "lloyd.md").write_text(f"{table}\n\n{note}\n", encoding="utf-8")
    print(table)


if __name__ == "__main__":
    main()
