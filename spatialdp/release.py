"""What is published, and what can be done with it? Estimates, with the privacy statement they were made under.

A release must hold nothing private: no record and no true count. Whatever is done with a release
(queries, maps, files) is post-processing and costs nothing. Methods that publish import `outputs` when
they are called, so that reading answers needs no plotting library.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Floats
from spatialdp.errors import ReleaseError
from spatialdp.estimates.answers import About, Answers
from spatialdp.estimates.base import Estimate
from spatialdp.privacy.certified import Certified
from spatialdp.privacy.statement import Privacy
from spatialdp.space.domain import Domain
from spatialdp.space.polygons import read_polygons
from spatialdp.space.questions import for_boxes, for_polygons
from spatialdp.trees.adjust import NonNegative

if TYPE_CHECKING:
    import geopandas
    import xarray
    from matplotlib.axes import Axes

    from spatialdp.outputs.explorer.notebook import NotebookPage
    from spatialdp.privacy.ledger.account import Account
    from spatialdp.privacy.noise.source import Noise

__all__ = ["Release"]


@dataclass(frozen=True, eq=False)
class Release(Certified):
    """Published estimates of a private data set, with their privacy statement.

    A mechanism's `release` method or `spatialdp.load` makes a release.

    Attributes
    ----------
    domain : Domain
    privacy : Privacy
        The privacy statement: ε, δ, neighbours, unit, mechanism, budget by step, private or not, version.
    estimate : Histogram or Decomposition
        The released numbers, by kind: on a grid, on a tree, a list of cells and others.
    account : Account or None
        The account that paid, to which `save` tells the digests of files; None if the release was loaded.

    Privacy
    -------
    A release holds released numbers and public parameters. Every method is post-processing and costs nothing.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> points = [[0.2, 0.3], [0.8, 0.4], [0.9, 0.9]]
    >>> domain = sdp.Domain(bounds=(0, 0, 1, 1))
    >>> release = sdp.Flat(shape=(4, 4)).release(points, domain, epsilon=100)
    >>> round(release.answer((0.5, 0, 1, 1)))
    2
    >>> release.answer([(0, 0, 1, 1), (0.5, 0.5, 0.5, 0.5), (0, 0, 9, 9)]).tolist()
    [3.0, 0.0, 3.0]
    >>> release.answer((5, 5, 9, 9))
    Traceback (most recent call last):
    spatialdp.errors.ParameterError: the box lies outside the domain, whose bounds are (0.0, 0.0, 1.0, 1.0); ...
    """

    domain: Domain
    privacy: Privacy
    estimate: Estimate
    account: Account | None = field(default=None, repr=False, kw_only=True)

    @property
    def total(self) -> float:
        """Estimated number of records in the domain and its region, or of what `privacy.counted` names."""
        return self.estimate.total

    def answer(self, boxes: npt.ArrayLike, *, extrapolate: bool = True) -> Any:
        """Estimate how many records lie in each box, or how much of what `privacy.counted` names.

        Parameters
        ----------
        boxes : (xmin, ymin, xmax, ymax) or (m, 4) array-like
            Half-open, in domain coordinates. Parts outside the domain hold no records; edges may be infinite.
        extrapolate : bool
            On trees of unequal leaves, such as kd-trees: whether to correct an answer that cuts leaves by
            what the nodes above those leaves tell. It makes large boxes more accurate (see
            ``docs/design/unevenness.md``), but the answers of two halves of a box then no longer add up to
            that of the box. Grids, trees of equal leaves and biased releases have no such correction.

        Returns
        -------
        float, or (m,) array
            Records are assumed to be evenly spread within the region's part of a partly covered cell.

        Raises
        ------
        ParameterError
            If a single box lies wholly outside the domain. Of many boxes, those outside are answered with NaN, with
            an `OutsideDomainWarning`.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> domain = sdp.Domain((0, 0, 4, 4))
        >>> release = sdp.Flat(shape=(4, 4)).release([[0.5, 0.5], [3.5, 3.5]], domain, epsilon=100)
        >>> release.answer((0, 0, 2, 2))
        1.0
        >>> release.answer([(0, 0, 4, 4), (0, 0, 0.5, 1)]).tolist()  # the second box cuts a cell in half
        [2.0, 0.5]
        """
        lattice = self.domain.boxes(boxes)
        answers = self.estimate.answer(lattice)
        if extrapolate and self.estimate.extrapolates:
            answers = answers + self.estimate.allowance(lattice).shift
        return for_boxes(answers, boxes, self.domain)

    def interval(self, boxes: npt.ArrayLike, level: float = 0.95, *, about: str = About.TRUTH) -> Floats:
        """Intervals that cover the true count of each box, or the noise in each answer, with probability `level`.

        Parameters
        ----------
        boxes : as for `answer`
        level : float
            Between 0 and 1.
        about : {"truth", "noise"}
            What the interval is to cover. "truth": the true count. The interval then has an allowance for
            records that are not evenly spread within the cells or leaves that a box cuts. "noise": what
            the answer would be without noise.

        Returns
        -------
        (2,) or (m, 2) array of lower and upper ends
            About noise, intervals cover with the stated probability or a little more. About the truth, they do the
            same for boxes made of whole cells; for others the allowance is an estimate from the released numbers,
            calibrated on public data sets, and not a guarantee: see ``docs/intervals.md`` for how often it covers, and
            where it fails. Counts are not negative, so the ends of intervals about the truth are not below 0.

        Raises
        ------
        ReleaseError
            If the estimates were truncated, rounded or made non-negative, if coefficients were left out, or
            if the tree stopped where counts were small: then errors no longer average out, and no honest
            interval for sums exists.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> domain = sdp.Domain((0, 0, 1, 1))
        >>> release = sdp.Flat(shape=(4, 4)).release([[0.1, 0.1]] * 50, domain, epsilon=1)
        >>> low, high = release.interval((0, 0, 0.25, 0.25))
        >>> float(high - low)  # the width is known beforehand: the law of the noise is public
        6.0
        >>> low, high = release.interval((0, 0, 0.125, 0.125))  # a quarter of a cell: records may lie in it, or not
        >>> bool(high - low > 6)
        True
        """
        self._require_unbiased()
        answers = Answers.of_boxes(self.estimate, self.domain.boxes(boxes), About.parse(about))
        return np.asarray(for_boxes(answers.ends(level), boxes, self.domain))

    def answer_polygons(self, geometries: Any, *, extrapolate: bool = True) -> Any:
        """Estimate how many records lie in each polygon, such as counties, by area weighting.

        Parameters
        ----------
        geometries : shapely Polygon or MultiPolygon, or a list, array, GeoSeries or GeoDataFrame of them
            In domain coordinates; a GeoSeries must state its CRS, and is reprojected to the domain's. Parts outside
            the domain hold no records, and neither do empty polygons. Polygons wholly outside are treated as boxes
            are: one is an error, among many they are answered with NaN.
        extrapolate : bool
            As for `answer`.

        Returns
        -------
        float, or (m,) array
            Records are assumed to be evenly spread within the region's part of a partly covered cell. A polygon
            that is a box gets the answer of `answer`, up to the rounding of edges.

        Examples
        --------
        >>> import shapely, spatialdp as sdp
        >>> domain = sdp.Domain(bounds=(0, 0, 4, 4))
        >>> release = sdp.Flat(shape=(4, 4)).release([[0.5, 0.5], [3.5, 1.5]], domain, epsilon=100)
        >>> triangle = shapely.Polygon([(0, 0), (4, 0), (0, 4)])
        >>> release.answer_polygons([triangle, shapely.box(3, 1, 9, 9)]).tolist()
        [1.0, 1.0]
        """
        polygons = read_polygons(geometries, self.domain)
        answers = self.estimate.answer_polygons(polygons)
        if extrapolate and self.estimate.extrapolates:
            answers = answers + self.estimate.polygon_allowance(polygons).shift
        return for_polygons(answers, polygons, self.domain, single=not np.ndim(geometries))

    def interval_polygons(self, geometries: Any, level: float = 0.95, *, about: str = About.TRUTH) -> Floats:
        """Intervals that cover the true count of each polygon, or the noise in its answer, with probability `level`.

        Parameters
        ----------
        geometries : as for `answer_polygons`
        level : float
            Between 0 and 1.
        about : {"truth", "noise"}
            As for `interval`.

        Returns
        -------
        (2,) or (m, 2) array of lower and upper ends

        Raises
        ------
        ReleaseError
            If the release is biased; see `interval`.

        Examples
        --------
        >>> import shapely, spatialdp as sdp
        >>> release = sdp.Flat(shape=(4, 4)).release([], sdp.Domain((0, 0, 4, 4)), epsilon=1)
        >>> release.interval_polygons([shapely.Point(2, 2).buffer(1), shapely.box(0, 0, 2, 2)]).shape
        (2, 2)
        """
        self._require_unbiased()
        polygons = read_polygons(geometries, self.domain)
        ends = Answers.of_polygons(self.estimate, polygons, About.parse(about)).ends(level)
        return np.asarray(for_polygons(ends, polygons, self.domain, single=not np.ndim(geometries)))

    def _require_unbiased(self) -> None:
        if self.estimate.biased:
            raise ReleaseError(
                "this release was truncated, rounded, made non-negative, smoothed, listed by its own noise or stopped "
                "where counts were small, so that its errors do not average out, but intervals need unbiased "
                "estimates; release without that step."
            )

    def uniformity(self, boxes: npt.ArrayLike) -> Any:
        """About how far each answer can be off because records are not evenly spread within partly covered cells.

        The result is an estimated bound, to be added to an interval about noise. The bound is the sum over cut cells or
        leaves of the (noisy) estimate times the larger of the covered and the uncovered share. It is rarely reached.

        Parameters
        ----------
        boxes : as for `answer`

        Examples
        --------
        >>> import spatialdp as sdp
        >>> release = sdp.Flat(shape=(2, 2)).release([[0.1, 0.1]] * 8, sdp.Domain((0, 0, 1, 1)), epsilon=100)
        >>> release.uniformity([(0, 0, 0.5, 0.5), (0, 0, 0.5, 0.125)]).tolist()  # whole cells; a quarter of one
        [0.0, 6.0]
        """
        return for_boxes(self.estimate.uniformity(self.domain.boxes(boxes)), boxes, self.domain)

    def non_negative(self, method: str = NonNegative.FAMILIES) -> Release:
        """A copy of the release without negative estimates; post-processing that costs nothing, but adds bias.

        Parameters
        ----------
        method : {"families", "least-squares"}
            For trees: adjust family by family from the root, which keeps large totals accurate, or take the
            non-negative least-squares fit. Negative cells of a grid become 0 either way.

        Returns
        -------
        Release
            Trees stay consistent. The release is marked as biased: it offers no intervals, and sums of many
            small cells come out too high.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> release = sdp.Flat(shape=(8, 8)).release([], sdp.Domain((0, 0, 1, 1)), epsilon=0.1)
        >>> float(release.estimate.values.min()) < 0, float(release.non_negative().estimate.values.min())
        (True, 0.0)
        """
        return replace(self, estimate=self.estimate.non_negative(NonNegative.parse(method)))

    def rounded(self) -> Release:
        """A copy of the release in whole numbers; post-processing that costs nothing, but adds bias.

        Trees still add up. The release is marked as biased and offers no intervals.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> release = sdp.Quadtree(height=2).release([[0.1, 0.1]] * 9, sdp.Domain((0, 0, 1, 1)), epsilon=1)
        >>> release.rounded().answer((0, 0, 0.25, 0.25)).is_integer()
        True
        """
        return replace(self, estimate=self.estimate.rounded())

    def sample(
        self, n: int | None = None, *, noise: Noise | None = None, as_geodataframe: bool = False
    ) -> Floats | geopandas.GeoDataFrame:
        """Draw synthetic points that follow the release; post-processing that costs nothing.

        Parameters
        ----------
        n : int, optional
            Number of points; by default the released total, rounded and not below 0.
        noise : Noise, optional
            Source of random bits. A `SeededNoise` makes the points repeatable, and no less private than the
            release is.
        as_geodataframe : bool
            Whether to return point geometries in the domain's CRS rather than an array. Their ``attrs["privacy"]`` is
            the whole privacy statement. An array cannot carry a statement: whoever passes it on must say whether the
            release is private (`privacy.private`).

        Returns
        -------
        (n, 2) array of x and y, or GeoDataFrame
            Independent draws: cells (or leaves) in proportion to their non-negative estimates, and places evenly
            within a cell and the region (which is drawn on 1024 x 1024 cells of the domain).

        Raises
        ------
        ReleaseError
            If points are asked for and no estimate is above zero.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> domain = sdp.Domain(bounds=(0, 0, 1, 1))
        >>> release = sdp.Flat(shape=(2, 2)).release([[0.9, 0.1]] * 5, domain, epsilon=100)
        >>> points = release.sample()
        >>> points.shape, bool((points[:, 0] >= 0.5).all()), bool((points[:, 1] < 0.5).all())
        ((5, 2), True, True)
        """
        from spatialdp.estimates.sampling import sample

        points = sample(self.estimate, self.domain, n, noise)
        if not as_geodataframe:
            return points
        import geopandas

        from spatialdp.outputs.files.statement import statement_members

        frame = geopandas.GeoDataFrame(geometry=geopandas.points_from_xy(*points.T), crs=self.domain.crs)
        frame.attrs["privacy"] = statement_members(self.privacy)
        return frame

    def to_geodataframe(self) -> geopandas.GeoDataFrame:
        """The cells of a grid, or the leaves of a tree, as polygons with their place, estimate and interval.

        Returns
        -------
        GeoDataFrame
            The columns `lower` and `upper` are the ends of the 95 % interval of each cell, and `sd` is the standard
            deviation of its noise; a biased release has none of them. Cells of a grid have their `column` and `row`,
            counted from the south-west; leaves of different sizes have their `depth`. ``attrs["privacy"]`` is the
            whole privacy statement.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> release = sdp.Flat(shape=(2, 2)).release([], sdp.Domain((0, 0, 1, 1), crs="EPSG:4326"), epsilon=1)
        >>> frame = release.to_geodataframe()
        >>> list(frame.columns)
        ['column', 'row', 'estimate', 'lower', 'upper', 'sd', 'geometry']
        >>> frame.attrs["privacy"]["epsilon"], frame.attrs["privacy"]["private"]
        (1.0, True)
        """
        from spatialdp.outputs.files.geoparquet import to_geodataframe

        return to_geodataframe(self)

    def to_xarray(self, shape: tuple[int, int] | None = None) -> xarray.Dataset:
        """The release as an xarray Dataset: rasters of its cells, with coordinates and CRS.

        Needs xarray: ``pip install 'spatialdp[xarray]'``.

        Parameters
        ----------
        shape : (nx, ny), optional
            Number of pixels, if not the grid's own cells; needed for trees whose leaves differ in size and follow no
            grid.

        Returns
        -------
        xarray.Dataset
            Variables `estimate` and, unless the release is biased, `lower`, `upper` (the 95 % interval) and `sd`, with
            the dimensions y (from north to south) and x: centres of cells. NaN outside the region. The CRS is in the
            coordinate `spatial_ref`, where rioxarray finds it, and the privacy statement in
            ``attrs["SPATIALDP_PRIVACY"]``.

        Raises
        ------
        ParameterError
            If xarray is not installed, or the leaves follow no grid and no shape was given.

        Examples
        --------
        >>> import spatialdp as sdp
        >>> domain = sdp.Domain((0, 0, 3, 2), crs="EPSG:4326")
        >>> data = sdp.Flat(shape=(3, 2)).release([], domain, epsilon=1).to_xarray()
        >>> data["estimate"].dims, data["y"].values.tolist(), data["spatial_ref"].attrs["grid_mapping_name"]
        (('y', 'x'), [1.5, 0.5], 'latitude_longitude')
        """
        from spatialdp.outputs.files.arrays import to_xarray

        return to_xarray(self, shape)

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the released map; see `spatialdp.outputs.maps.plot` for the options.

        Examples
        --------
        >>> import matplotlib, spatialdp as sdp
        >>> matplotlib.use("Agg")
        >>> release = sdp.Flat(shape=(2, 2)).release([], sdp.Domain((0, 0, 1, 1)), epsilon=1)
        >>> print(release.plot(limits=(0, 10)).get_xlabel())
        ε = 1 (add-remove one record), flat, spatialdp ...
        """
        from spatialdp.outputs.maps.plot import plot

        return plot(self, ax=ax, **options)

    def explore(
        self, path: str | PathLike[str] | None = None, *, overwrite: bool = False, **options: Any
    ) -> NotebookPage | None:
        """Write the release as one self-contained page to explore in a browser, or show it in a notebook.

        Parameters
        ----------
        path : str or path, optional
            Ends in ``.html``. Without it no file is written.
        overwrite : bool
            Replace an existing file.
        **options
            As for `spatialdp.outputs.explorer.page.write_page`: `title`, `boundaries`, `level`.

        Examples
        --------
        >>> import tempfile, pathlib, spatialdp as sdp
        >>> page = pathlib.Path(tempfile.mkdtemp()) / "map.html"
        >>> release = sdp.Flat(shape=(2, 2)).release([], sdp.Domain((0, 0, 1, 1)), epsilon=1)
        >>> release.explore(page, title="Homes")
        >>> "<title>Homes" in page.read_text(encoding="utf-8")
        True
        """
        if path is None:
            from spatialdp.outputs.explorer.notebook import NotebookPage

            return NotebookPage.of(self, **options)
        from spatialdp.outputs.explorer.page import write_page

        write_page(self, path, overwrite=overwrite, **options)
        return None

    def save(self, path: str | PathLike[str], *, overwrite: bool = False, shape: tuple[int, int] | None = None) -> None:
        """Write the release to a file together with its privacy statement: the whole file or nothing.

        Parameters
        ----------
        path : str or path
            The suffix says the format. ``.parquet`` (GeoParquet) holds the complete release, which `spatialdp.load`
            reads. ``.gpkg`` (GeoPackage), ``.tif`` (Cloud-Optimized GeoTIFF), ``.geojson`` (in WGS 84) and ``.csv``
            (with the statement in a ``.privacy.json`` file beside it) hold the map: estimates and, unless the release
            is biased, their 95 % intervals and standard deviations.
        overwrite : bool
            Whether to replace an existing file; a release cannot be repeated for free.
        shape : (nx, ny), optional
            Pixels of a GeoTIFF, if not the grid's own cells; needed for trees whose leaves differ in size.

        Raises
        ------
        ParameterError
            If the format is not known, or cannot hold this release.
        OSError
            If the file exists, or cannot be written; nothing is left behind then.

        Examples
        --------
        >>> import tempfile, pathlib, spatialdp as sdp
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "map.parquet"
        >>> release = sdp.Flat(shape=(2, 2)).release([[0.1, 0.1]], sdp.Domain((0, 0, 1, 1)), epsilon=1)
        >>> release.save(path)
        >>> sdp.load(path).answer((0, 0, 1, 1)) == release.answer((0, 0, 1, 1))
        True
        """
        from spatialdp.outputs.files.save import save

        save(self, path, overwrite=overwrite, shape=shape)

    def _repr_html_(self) -> str:
        """The release as a table, for notebooks."""
        from spatialdp.outputs.explorer.notebook import release_table

        return release_table(self)

    def __repr__(self) -> str:
        return f"<Release of {self.estimate.n_cells} cells: {self.privacy}>"
