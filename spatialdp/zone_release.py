"""What can be done with a release by zones? Everything that a release can do, and questions by the codes of zones.

A code names a zone, and a list of codes names a zone each; a *set* of zones is one question about all of them together.
Zones that were given as codes alone have no place: then questions by code have answers, and questions by box or polygon
are refused in words. Like every release, this one holds nothing private, and whatever is done with it costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Array, Floats, Integers, Objects
from spatialdp.errors import ParameterError
from spatialdp.estimates.answers import About, Answers
from spatialdp.estimates.unevenness.allowance import Allowance, Sums
from spatialdp.estimates.zones.counts import ZoneCounts
from spatialdp.privacy.statement import Privacy
from spatialdp.release import Release
from spatialdp.space.domain import Domain
from spatialdp.wording import either, quoted

if TYPE_CHECKING:
    import geopandas
    import pandas as pd

    from spatialdp.privacy.noise.source import Noise
    from spatialdp.space.zones.frame import Zones

__all__ = ["ZoneRelease"]

_NOTHING: Integers = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class ZoneRelease(Release):
    """Published counts of public zones, by the codes of the zones.

    `ZoneTree.release` or `spatialdp.load` makes such a release. Everything that `Release` offers is there too: boxes,
    polygons, files, maps and pages.

    Attributes
    ----------
    domain : Domain
        The bounds of all zones; None if the zones were given as codes alone.
    privacy : Privacy
    estimate : ZoneCounts

    Privacy
    -------
    A release holds released numbers and public parameters, no record and no true count. Every method here
    is post-processing: it costs nothing, however often it is called.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> zones = sdp.Zones.from_codes(["37063", "37135", "45001"], None, {"state": 2, "county": 5})
    >>> codes = sdp.Codes(["37063"] * 40 + ["37135"] * 7 + ["45001"] * 3)
    >>> release = sdp.ZoneTree().release(codes, zones, epsilon=100)
    >>> round(release.answer("37063")), [round(count) for count in release.answer(["37", "45"])]
    (40, [47, 3])
    """

    estimate: ZoneCounts

    @classmethod
    def of(cls, estimate: ZoneCounts, privacy: Privacy) -> ZoneRelease:
        """Make the release of an estimate.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> zones = sdp.Zones.from_codes(["37063", "45001"], None, {"state": 2, "county": 5})
        >>> release = sdp.ZoneTree().release(sdp.Codes([]), zones, epsilon=1)
        >>> again = sdp.ZoneRelease.of(release.estimate, release.privacy)
        >>> again.answer("37063") == release.answer("37063")
        True
        """
        return cls(cast(Domain, estimate.zones.domain), privacy, estimate)

    @property
    def zones(self) -> Zones:
        """The public frame: codes, levels, parents and, if they were given, polygons."""
        return self.estimate.zones

    # --- zones by code ---

    def answer(self, boxes: Any, *, extrapolate: bool = True, at: str | None = None) -> Any:
        """Estimate how many records lie in each zone, named by its code, or in each box.

        Parameters
        ----------
        boxes : code, list of codes, or boxes as for `Release.answer`
            Codes are texts.
        extrapolate : bool
            Has no effect on zones, whose answers are never corrected.
        at : str, optional
            The level of the zones, such as ``"county"``, or the name of areas that were given as `also`; needed if a
            code occurs on several levels.

        Returns
        -------
        float, or (m,) array
            A list of codes has an answer for each; `answer_set` answers a list of zones as one area.

        Raises
        ------
        ParameterError
            If there is no zone of that code.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> zones = sdp.Zones.from_codes(["37063", "37135", "45001"], None, {"state": 2, "county": 5})
        >>> release = sdp.ZoneTree().release(sdp.Codes(["37063"] * 40 + ["45001"] * 3), zones, epsilon=100)
        >>> round(release.answer("37")), release.answer(["37063", "45001"]).round().tolist()
        (40, [40.0, 3.0])
        """
        if not _are_codes(boxes):
            self._require_places()
            return super().answer(boxes, extrapolate=extrapolate)
        return _as_asked(self._zone_sums(boxes, at).values, boxes)

    def interval(self, boxes: Any, level: float = 0.95, *, about: str = About.TRUTH, at: str | None = None) -> Floats:
        """Intervals that cover the true count of each zone or box, or the noise in each answer, at a `level`.

        Parameters
        ----------
        boxes : as for `answer`
        level : float
            Between 0 and 1.
        about : {"truth", "noise"}
            As for `Release.interval`. Intervals of zones are guaranteed. So are those of boxes and polygons that cut
            zones, if they are about the truth: they go from the lower end for the zones inside to the upper end for
            the zones that the area touches, and are as wide as what may lie in the cut zones.
        at : as for `answer`

        Returns
        -------
        (2,) or (m, 2) array of lower and upper ends

        Examples
        --------
        >>> import spatialdp as sdp
        >>> zones = sdp.Zones.from_codes(["37063", "37135", "45001"], None, {"state": 2, "county": 5})
        >>> release = sdp.ZoneTree().release(sdp.Codes(["37063"] * 40), zones, epsilon=1)
        >>> lower, upper = release.interval("37063")
        >>> bool(lower <= release.answer("37063") <= upper), release.interval(["37", "45"]).shape
        (True, (2, 2))
        """
        if not _are_codes(boxes):
            self._require_places()
            return super().interval(boxes, level, about=about)
        return np.asarray(_as_asked(self._ends(self._zone_sums(boxes, at), level, about), boxes))

    def answer_set(self, codes: Any, *, at: str | None = None) -> Any:
        """Estimate how many records lie in a set of zones together, such as a region of several counties.

        Parameters
        ----------
        codes : list of codes, or list of such lists
            A zone that is named twice, or that lies in another zone of the set, counts once. Zones may be of several
            levels.
        at : as for `answer`

        Returns
        -------
        float, or (m,) array for a list of sets

        Examples
        --------
        >>> import spatialdp as sdp
        >>> zones = sdp.Zones.from_codes(["37063", "37135", "45001"], None, {"state": 2, "county": 5})
        >>> release = sdp.ZoneTree().release(sdp.Codes(["37063"] * 40 + ["45001"] * 3), zones, epsilon=100)
        >>> round(release.answer_set(["37063", "37", "45001"]))
        43
        """
        return _of_sets(self._set_sums(codes, at).values, codes)

    def interval_set(
        self, codes: Any, level: float = 0.95, *, about: str = About.TRUTH, at: str | None = None
    ) -> Floats:
        """Intervals of sets of zones; see `answer_set` and `interval`.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> zones = sdp.Zones.from_codes(["37063", "37135", "45001"], None, {"state": 2, "county": 5})
        >>> release = sdp.ZoneTree().release(sdp.Codes([]), zones, epsilon=1)
        >>> release.interval_set([["37063", "45001"], ["37"]]).shape
        (2, 2)
        """
        return np.asarray(_of_sets(self._ends(self._set_sums(codes, at), level, about), codes))

    def level(self, name: str, confidence: float = 0.95) -> pd.DataFrame:
        """The zones of one level as a table, whose estimates add up to the total.

        Parameters
        ----------
        name : str
            Name of the level, such as ``"county"``; `zones.levels` lists them. A zone that ends above this level
            stands for itself. Or the name of areas that were given as `also`, such as ``"city"``: then the table
            has these areas, which need not add up to the total.
        confidence : float
            Level of the intervals.

        Returns
        -------
        DataFrame, or GeoDataFrame if the zones have polygons
            With the columns `level`, `zone`, `parent`, `estimate`, `lower`, `upper` (the interval about the truth) and
            `sd`, the standard deviation of the noise; a biased release has neither intervals nor `sd`. The polygon of a
            zone is the union of its leaves. ``attrs["privacy"]`` is the whole privacy statement.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> zones = sdp.Zones.from_codes(["37063", "37135", "45001"], None, {"state": 2, "county": 5})
        >>> release = sdp.ZoneTree().release(sdp.Codes(["37063"] * 40 + ["45001"] * 3), zones, epsilon=100)
        >>> release.level("state")[["zone", "parent", "estimate"]].round().values.tolist()
        [['37', 'all zones', 40.0], ['45', 'all zones', 3.0]]
        """
        import pandas as pd

        from spatialdp.outputs.files.statement import statement_members
        from spatialdp.outputs.zones.areas import ZoneAreas, depth_of
        from spatialdp.outputs.zones.tables import zone_columns, zone_numbers

        if name in self.zones.sets:
            frame = pd.DataFrame(self._area_columns(name, confidence))
            geometry = _outlines_of_areas(self.zones, name)
        else:
            areas = ZoneAreas(self.zones, depth_of(self.zones, name))
            columns = zone_columns(self.estimate, areas.nodes)
            frame = pd.DataFrame(columns | zone_numbers(self.estimate, areas.nodes, confidence))
            geometry = None if self.zones.geometry is None else areas.geometry
        if geometry is not None:
            import geopandas

            frame = geopandas.GeoDataFrame(frame, geometry=geometry, crs=self.zones.crs)
        frame.attrs["privacy"] = statement_members(self.privacy)
        return frame

    def _area_columns(self, name: str, confidence: float) -> dict[str, Array]:
        """The areas that cut the hierarchy as columns of a table."""
        codes = np.unique(_texts_of(self.zones.sets[name]))
        sums = self._zone_sums(codes, name)
        columns = {"level": np.full(codes.size, name, dtype=object), "zone": codes, "estimate": sums.values}
        if self.estimate.biased:
            return columns
        lower, upper = self._ends(sums, confidence, About.TRUTH).T
        return columns | {"lower": lower, "upper": upper, "sd": np.sqrt(sums.variance)}

    def _set_sums(self, codes: Any, at: str | None) -> Sums:
        """Answer one set of codes, or a list of sets."""
        sets = [codes] if _is_one_set(codes) else list(codes)
        sizes = [len(members) for members in sets]
        every = np.array([code for members in sets for code in members], dtype=object)
        ends = np.cumsum(sizes, dtype=np.int64)
        if not self.zones.sets:
            nodes = self.zones.nodes_of(every, at) if every.size else _NOTHING
            return self.estimate.of_sets(np.split(nodes, ends[:-1]) if sizes else [])
        areas = self._areas(every, at)
        parts = [areas[end - size : end] for end, size in zip(ends, sizes, strict=True)]
        return self.estimate.of_sets([np.concatenate([_NOTHING, *members]) for members in parts])

    def _zone_sums(self, codes: Any, at: str | None) -> Sums:
        """Answer zones by their codes, and areas that are sets of zones."""
        wanted = np.atleast_1d(np.asarray(codes, dtype=object))
        if not self.zones.sets:
            return self.estimate.of_nodes(self.zones.nodes_of(wanted, at))
        return self.estimate.of_sets(self._areas(wanted, at))

    def _areas(self, codes: Objects, at: str | None) -> list[Integers]:
        """The nodes that make up each zone or area, where areas cut the zones."""
        if at is not None and at in self.zones.sets:
            return _leaves_of_areas(self.zones, codes, at)
        return [self.zones.areas_of(code, at) for code in codes]

    def _ends(self, sums: Sums, level: float, about: str) -> Floats:
        """Ends of the intervals of whole zones."""
        self._require_unbiased()
        zero = np.zeros(sums.values.size)
        allowance = Allowance(zero) if About.parse(about) is About.TRUTH else None
        step, whole = self.estimate.step, zero.astype(bool)
        return Answers(sums.values, sums.variance, sums.kurtosis, step, whole, allowance).ends(level)

    def sample(
        self, n: int | None = None, *, noise: Noise | None = None, as_geodataframe: bool = False
    ) -> Floats | geopandas.GeoDataFrame:
        """Draw synthetic points that follow the release; post-processing that costs nothing.

        Parameters
        ----------
        n, noise
            As for `Release.sample`.
        as_geodataframe : bool
            Whether to return point geometries with the codes of their zones, in the column `zone`, rather than an
            array.

        Returns
        -------
        (n, 2) array of x and y, or GeoDataFrame
            Independent draws: leaf zones in proportion to their non-negative estimates, and places evenly within a
            zone. Locating a point gives the zone that it was drawn for.

        Raises
        ------
        ReleaseError
            If the zones are codes without polygons, or points are asked for and no estimate is above zero.

        Examples
        --------
        >>> import geopandas, shapely, spatialdp as sdp
        >>> halves = [shapely.box(0, 0, 1, 1), shapely.box(1, 0, 2, 1)]
        >>> zones = sdp.Zones(geopandas.GeoDataFrame({"half": ["west", "east"]}, geometry=halves), levels=["half"])
        >>> release = sdp.ZoneTree().release([[0.5, 0.5]] * 3, zones, epsilon=100)
        >>> release.sample(2, as_geodataframe=True)["zone"].tolist()
        ['west', 'west']
        """
        from spatialdp.estimates.zones.sampling import sample_zones

        leaves, points = sample_zones(self.estimate, n, noise)
        if not as_geodataframe:
            return points
        import geopandas

        from spatialdp.outputs.files.statement import statement_members

        codes = self.zones.codes[self.zones.leaf_nodes[leaves]]
        places = geopandas.points_from_xy(*points.T)
        frame = geopandas.GeoDataFrame({"zone": codes}, geometry=places, crs=self.zones.crs)
        frame.attrs["privacy"] = statement_members(self.privacy)
        return frame

    # --- places, which zones that were given as codes alone do not have ---

    def answer_polygons(self, geometries: Any, *, extrapolate: bool = True) -> Any:
        """Estimate how many records lie in each polygon: whole zones, and shares of the zones that it cuts, by area.

        See `Release.answer_polygons`. The area of a zone says nothing about where in the zone its records are; ask
        `interval_polygons` how far the truth may be off.

        Examples
        --------
        >>> import geopandas, shapely, spatialdp as sdp
        >>> halves = [shapely.box(0, 0, 1, 1), shapely.box(1, 0, 2, 1)]
        >>> zones = sdp.Zones(geopandas.GeoDataFrame({"half": ["west", "east"]}, geometry=halves), levels=["half"])
        >>> release = sdp.ZoneTree().release([[0.5, 0.5]] * 40, zones, epsilon=100)
        >>> round(release.answer_polygons(halves[0])), round(release.answer_polygons(shapely.box(0, 0, 0.5, 1)))
        (40, 20)
        """
        self._require_places()
        return super().answer_polygons(geometries, extrapolate=extrapolate)

    def interval_polygons(self, geometries: Any, level: float = 0.95, *, about: str = About.TRUTH) -> Floats:
        """Intervals that cover the true count of each polygon, or the noise in its answer, with probability `level`.

        See `Release.interval_polygons`, and `interval` for what they cover if a polygon cuts zones.

        Examples
        --------
        >>> import geopandas, shapely, spatialdp as sdp
        >>> halves = [shapely.box(0, 0, 1, 1), shapely.box(1, 0, 2, 1)]
        >>> zones = sdp.Zones(geopandas.GeoDataFrame({"half": ["west", "east"]}, geometry=halves), levels=["half"])
        >>> release = sdp.ZoneTree().release([[0.5, 0.5]] * 40, zones, epsilon=100)
        >>> release.interval_polygons(shapely.box(0, 0, 0.5, 1)).round().tolist()  # all 40 may lie there, or none
        [0.0, 40.0]
        """
        self._require_places()
        return super().interval_polygons(geometries, level, about=about)

    def uniformity(self, boxes: npt.ArrayLike) -> Any:
        """About how far each answer can be off because records are not evenly spread within cut zones.

        See `Release.uniformity`.

        Examples
        --------
        >>> import geopandas, shapely, spatialdp as sdp
        >>> halves = [shapely.box(0, 0, 1, 1), shapely.box(1, 0, 2, 1)]
        >>> zones = sdp.Zones(geopandas.GeoDataFrame({"half": ["west", "east"]}, geometry=halves), levels=["half"])
        >>> release = sdp.ZoneTree().release([[0.5, 0.5]] * 40, zones, epsilon=100)
        >>> release.uniformity((0, 0, 1, 1)), release.uniformity((0, 0, 0.5, 1)) > 0
        (0.0, True)
        """
        self._require_places()
        return super().uniformity(boxes)

    def _require_places(self) -> None:
        _ = self.estimate.areas

    def __repr__(self) -> str:
        zones = self.zones
        name = "" if zones.name is None else f" of {zones.name}"
        return f"<ZoneRelease of {zones.n_leaves} zones{name} ({', '.join(zones.levels)}): {self.privacy}>"


def _leaves_of_areas(zones: Zones, codes: Objects, name: str) -> list[Integers]:
    """The leaves of each of some areas of one kind, as nodes; a code that none of them has is a zone's."""
    import pandas as pd

    kinds, areas = pd.factorize(np.asarray(zones.sets[name]))  # -1: in no area
    order = np.argsort(kinds, kind="stable")
    ends = np.cumsum(np.bincount(kinds + 1, minlength=len(areas) + 1))
    leaves = np.flatnonzero(zones.shape.leaves)[order]
    return [
        leaves[ends[place] : ends[place + 1]] if place >= 0 else zones.areas_of(code, name)
        for code, place in zip(codes, pd.Index(areas).get_indexer(codes), strict=True)
    ]


def _outlines_of_areas(zones: Zones, name: str) -> Objects | None:
    """The areas of one kind as unions of their leaves, in the order of their codes."""
    if zones.geometry is None:
        return None
    import geopandas

    leaves = geopandas.GeoDataFrame({"area": zones.sets[name]}, geometry=np.asarray(zones.geometry))
    unions: Objects = leaves.dropna(subset="area").dissolve(by="area", sort=True).geometry.to_numpy()
    return unions


def _texts_of(values: Objects) -> Objects:
    """The texts of an array that has None where there is none."""
    return np.array([value for value in values if value is not None], dtype=object)


def _are_codes(queries: Any) -> bool:
    """Whether queries are codes of zones rather than boxes: a text, or a list of texts."""
    if isinstance(queries, str):
        return True
    values = np.asarray(queries, dtype=object)
    if values.ndim == 0 or (values.ndim == 1 and values.size not in (0, 4) and not isinstance(values[0], str)):
        raise ParameterError(
            f"a {type(queries).__name__} names no zone and is no box; give codes as text, such as '06', because a "
            f"leading zero is part of a code, or boxes {either('(xmin, ymin, xmax, ymax)', 'XMIN,YMIN,XMAX,YMAX')}."
        )
    return values.ndim == 1 and (values.size == 0 or isinstance(values[0], str))


def _as_asked(values: Array, codes: Any) -> Any:
    """Return the values of codes as the caller gave the codes: those of one zone, or of many."""
    if not isinstance(codes, str):
        return values
    return float(values[0]) if values.ndim == 1 else values[0]


def _is_one_set(codes: Any) -> bool:
    """Whether codes are one set rather than a list of sets."""
    if not np.ndim(np.asarray(codes, dtype=object)) or isinstance(codes, str):
        raise ParameterError(
            f"a {type(codes).__name__} is no set of zones; give a list of codes, such as "
            f"{quoted(['37063', '37135'])}, or a list of such lists."
        )
    return len(codes) == 0 or not isinstance(next(iter(codes)), list | tuple | np.ndarray | set | frozenset)


def _of_sets(values: Array, codes: Any) -> Any:
    """Return the values of sets as the caller gave them: those of one set, or of many."""
    if not _is_one_set(codes):
        return values
    return float(values[0]) if values.ndim == 1 else values[0]
