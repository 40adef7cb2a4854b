"""Where are the clusters of the records? `kmeans` finds their centres in a release, at no further cost.

A release is a map, so clusters of records are clusters of its cells, each weighted with its released count. No record
is read again, and any number of clusters may be tried. Asking for counts and sums of coordinates in every round of the
algorithm instead costs a share of ε each time, and is less accurate; ``docs/clusters.md`` has both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Floats, Integers, read_only
from spatialdp._support.checks import whole_number
from spatialdp.errors import ParameterError
from spatialdp.privacy.noise.source import SeededNoise
from spatialdp.privacy.statement import Privacy
from spatialdp.release import Release
from spatialdp.space.crs import geographic
from spatialdp.space.domain import Domain
from spatialdp.space.lattice import LATTICE
from spatialdp.wording import either, parameter

if TYPE_CHECKING:
    import geopandas

__all__ = ["Clusters", "kmeans"]

_SIDE = 256  # no part of the map is longer than the domain's side divided by this
_MOST_PARTS = 2**17  # a release with more leaves is read on a grid
_MOST_CLUSTERS = 10_000
_MOST_STARTS = 1000
_ROUNDS = 300  # of the best start, at most
_FIRST_ROUNDS = 10  # of each start
_SETTLED = 1e-6  # the share by which a round must lower the cost, or it is the last one


@dataclass(frozen=True, eq=False)
class Clusters:
    """Centres of clusters, and how much each of them stands for.

    Attributes
    ----------
    domain : Domain
    privacy : Privacy
        The statement of the release in which the clusters were found.
    centres : (k, 2) float array
        In domain coordinates, the largest cluster first.
    counts : (k,) float array
        Released count nearest to each centre, without negative cells.
    cost : float
        Mean squared distance to the nearest centre, weighted with released counts, in units of y. The distances are
        those of cells, so this is about the map and not about the records.

    Privacy
    -------
    Clusters hold released numbers and public parameters alone.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> homes = [[0.1, 0.2]] * 3000 + [[0.8, 0.7]] * 2000
    >>> clusters = sdp.kmeans(sdp.publish(homes, sdp.Domain((0, 0, 1, 1)), epsilon=1), 2)
    >>> clusters
    <2 clusters: ε = 1 (add-remove one record), adaptive, spatialdp ...>
    >>> clusters.counts.round(-2).tolist()
    [3000.0, 2000.0]
    """

    domain: Domain
    privacy: Privacy
    centres: Floats
    counts: Floats
    cost: float

    def __repr__(self) -> str:
        return f"<{len(self.centres)} clusters: {self.privacy}>"

    def nearest(self, xy: npt.ArrayLike) -> Integers:
        """Return the number of the nearest centre of each public place.

        Parameters
        ----------
        xy : (m, 2) array-like
            Coordinates of places, such as those of hospitals.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> homes = [[0.1, 0.2]] * 300 + [[0.8, 0.7]] * 200
        >>> release = sdp.Flat((16, 16)).release(homes, sdp.Domain((0, 0, 1, 1)), epsilon=10)
        >>> sdp.kmeans(release, 2).nearest([(0, 0), (1, 1)]).tolist()
        [0, 1]
        """
        places = np.asarray(xy, dtype=np.float64)
        if places.ndim != 2 or places.shape[1] != 2 or not np.all(np.isfinite(places)):
            raise ParameterError(
                f"{parameter('xy')} has the shape {places.shape}, or coordinates that are not finite; give one x and "
                "one y for each place."
            )
        scale = _scale(self.domain)
        return _nearest(places * scale, self.centres * scale)[0]

    def to_geodataframe(self) -> geopandas.GeoDataFrame:
        """Return the centres as points, with their counts, as a geopandas frame.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> release = sdp.Flat((4, 4)).release([[0.1, 0.2]] * 300, sdp.Domain((0, 0, 1, 1)), epsilon=10)
        >>> sdp.kmeans(release, 1).to_geodataframe().columns.tolist()
        ['count', 'geometry']
        """
        import geopandas

        points = geopandas.points_from_xy(*self.centres.T)
        frame = geopandas.GeoDataFrame({"count": self.counts}, geometry=points, crs=self.domain.crs)
        frame.attrs["privacy"] = str(self.privacy)
        return frame


def kmeans(release: Release, k: int, *, starts: int = 8, seed: int = 0) -> Clusters:
    """Find the centres of k clusters in a release; post-processing that costs nothing.

    Parameters
    ----------
    release : Release
        Of a grid or a tree.
    k : int
        Number of clusters.
    starts : int
        How many times to begin, from centres drawn by k-means++; the best result is returned.
    seed : int
        Of these draws. It is public: equal seeds give equal clusters.

    Returns
    -------
    Clusters

    Raises
    ------
    ParameterError
        If fewer than k parts of the map have a positive count.

    Notes
    -----
    Cells are weighted with their released counts, negative ones having been removed (`Release.non_negative`), and
    Lloyd's algorithm is run on their centres. Leaves of a tree that are longer than 1/256 of the domain are divided.
    In longitude and latitude, x is scaled by the cosine of the middle latitude.

    Privacy
    -------
    Only the release is read. Neighbours, unit and cost are those of the release's own statement, which the result
    carries along.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> homes = [[0.1, 0.2]] * 3000 + [[0.8, 0.7]] * 2000
    >>> release = sdp.publish(homes, sdp.Domain((0, 0, 1, 1)), epsilon=1)
    >>> clusters = sdp.kmeans(release, 2)
    >>> clusters.centres.round(1).tolist()
    [[0.1, 0.2], [0.8, 0.7]]
    """
    if not isinstance(release, Release):
        raise ParameterError(
            f"{parameter('release')} is a {type(release).__name__}; give a release of a grid or a tree, such as one "
            f"made by {either('spatialdp.publish', '`spatialdp release`')}."
        )
    number = whole_number(k, "k", 1, _MOST_CLUSTERS)
    begun = whole_number(starts, "starts", 1, _MOST_STARTS)
    start = whole_number(seed, "seed", 0, 2**63)
    parts = _parts(release)
    if len(parts.weights) < number:
        raise ParameterError(
            f"{parameter('k')} is {number}, but only {len(parts.weights)} parts of the map have a positive released "
            "count; give a smaller number."
        )
    first = [parts.improved(parts.drawn(number, (start, each)), _FIRST_ROUNDS) for each in range(begun)]
    best = min(first, key=parts.cost)
    return parts.clusters(parts.improved(best, _ROUNDS), release)


@dataclass(frozen=True, eq=False)
class _Parts:
    """Parts of a map that have a positive count: their centres, in scaled coordinates, and their counts."""

    places: Floats
    weights: Floats

    @cached_property
    def _total(self) -> float:
        return float(self.weights.sum())

    def cost(self, centres: Floats) -> float:
        """Mean squared distance to the nearest centre."""
        return float(np.sum(self.weights * _nearest(self.places, centres)[1])) / self._total

    def drawn(self, k: int, seed: tuple[int, ...]) -> Floats:
        """Draw centres by k-means++: each among the parts, weighed by count and squared distance to those before."""
        draws = (SeededNoise(seed).uniform_words(k) >> np.uint64(11)) * 2.0**-53
        centres = np.empty((k, 2))
        nearest = np.ones(len(self.weights))
        for number, draw in enumerate(draws):
            running = np.cumsum(self.weights * nearest)
            place = int(np.searchsorted(running, draw * running[-1], side="right"))
            centres[number] = self.places[min(place, len(running) - 1)]
            distances = np.sum((self.places - centres[number]) ** 2, axis=1)
            nearest = distances if number == 0 else np.minimum(nearest, distances)
        return centres

    def improved(self, centres: Floats, rounds: int) -> Floats:
        """Move centres to the means of the parts that are nearest to them, until the cost falls no more."""
        before = math.inf
        for _ in range(rounds):
            nearest, distances = _nearest(self.places, centres)
            cost = float(np.sum(self.weights * distances))
            if cost >= before * (1 - _SETTLED):
                break
            before, centres = cost, self._means(nearest, centres)
        return centres

    def _means(self, nearest: Integers, centres: Floats) -> Floats:
        """The mean of the parts of each cluster; a cluster without parts stays where it is."""
        weights = np.bincount(nearest, self.weights, len(centres))
        sums = [np.bincount(nearest, self.weights * axis, len(centres)) for axis in self.places.T]
        some = weights > 0
        return np.where(some[:, None], np.stack(sums, axis=1) / np.where(some, weights, 1.0)[:, None], centres)

    def clusters(self, centres: Floats, release: Release) -> Clusters:
        """The clusters about some centres, the largest first."""
        counts = np.bincount(_nearest(self.places, centres)[0], self.weights, len(centres))
        order = np.argsort(-counts, kind="stable")
        placed = read_only(centres[order] / _scale(release.domain), np.float64)
        return Clusters(
            release.domain, release.privacy, placed, read_only(counts[order], np.float64), self.cost(centres)
        )


def _parts(release: Release) -> _Parts:
    """Divide a release into parts, and keep those that have a positive count."""
    positive, domain = release.non_negative(), release.domain
    boxes = _boxes(positive)
    weights = positive.estimate.answer(boxes)
    some = weights > 0
    middles = (boxes[some, :2] + boxes[some, 2:]) / 2
    places = np.stack([axis.coordinates(along) for axis, along in zip(domain.axes, middles.T, strict=True)], axis=1)
    return _Parts(places * _scale(domain), weights[some])


def _boxes(release: Release) -> Integers:
    """The leaves of a release as lattice boxes, large ones divided; of a release with many leaves, a grid."""
    estimate = release.estimate
    whole = np.array([[0, 0, LATTICE, LATTICE]])
    leaves = whole if estimate.n_cells > _MOST_PARTS else estimate.leaf_boxes()
    numbers = -(-(leaves[:, 2:] - leaves[:, :2]) * _SIDE // LATTICE)
    number = numbers.prod(axis=1)
    leaf = np.repeat(np.arange(len(leaves)), number)
    place = np.arange(leaf.size) - np.repeat(np.cumsum(number) - number, number)
    steps = np.stack(np.divmod(place, numbers[leaf, 1]), axis=1)
    sides, low = (leaves[:, 2:] - leaves[:, :2])[leaf], leaves[leaf, :2]
    corners = [low + (steps + more) * sides // numbers[leaf] for more in (0, 1)]
    return np.concatenate(corners, axis=1)


def _nearest(places: Floats, centres: Floats) -> tuple[Integers, Floats]:
    """The number of the nearest centre of each place, and the squared distance to it."""
    from scipy.spatial import cKDTree

    distances, numbers = cKDTree(centres).query(places)
    return numbers, distances**2


def _scale(domain: Domain) -> Floats:
    """The factors of x and y with which distances along both are comparable on the ground, in units of y."""
    _, ymin, _, ymax = domain.bounds
    middle = math.radians(min(85.0, abs(ymin + ymax) / 2))
    return np.array([math.cos(middle) if geographic(domain.crs) else 1.0, 1.0])
