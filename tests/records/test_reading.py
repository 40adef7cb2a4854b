"""Arrays, frames and series as two columns: what is missing counts nowhere, and no complaint tells of a record."""

from __future__ import annotations

import io
import json
import traceback
import tracemalloc
from collections import UserList, deque
from decimal import Decimal

import geopandas
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import shapely

import spatialdp as sdp
from spatialdp.errors import CRSMismatchError, PointsError
from tests.helpers.points import DOMAIN, XY, counts


def test_whole_numbers_and_missing_values():
    assert counts(np.array([[1, 1], [4, 4]])).sum() == 2
    assert counts([[1.0, None], [1.0, 1.0]]).sum() == 1
    assert counts(pd.DataFrame({"x": [1.0, None], "y": [1.0, 1.0]})).sum() == 1
    nullable = pd.DataFrame({"x": [1.0, None], "y": [1.0, 1.0]}).convert_dtypes()
    assert counts(nullable).sum() == 1
    assert counts(sdp.Points(nullable["x"], nullable["y"])).sum() == 1
    assert counts([[10**400, 1.0], [1, 1]]).sum() == 1
    for text in ("NaN", "sNaN", "Infinity", "1e999"):
        assert counts(np.array([[Decimal(text), 1], [1, 1]], dtype=object)).sum() == 1
    assert counts(np.ma.masked_array(XY, np.arange(8).reshape(4, 2) == 1)).sum() == 3
    missing = geopandas.GeoSeries([shapely.Point(1, 1), None, shapely.Point()], crs="EPSG:4326")
    assert counts(missing).sum() == 1


@pytest.mark.parametrize(
    "points",
    [
        np.zeros(3),
        np.zeros((3, 3)),
        np.zeros((2, 2, 2)),
        np.array([["a", "b", "c"]]),
        np.zeros((3, 2), dtype=[("a", "f8")]),
        pd.DataFrame({"x": [1.0], "y": [1.0], "z": [1.0]}),
        7,
        "points",
        None,
        {"x": 1},
    ],
)
def test_wrong_forms_are_refused(points):
    with pytest.raises(PointsError):
        sdp.Points(points)


@pytest.mark.parametrize(
    "geometry", [shapely.Point(1, 2), shapely.Point(), shapely.MultiPoint([(1, 2)]), shapely.box(0, 0, 1, 1)], ids=str
)
def test_a_single_geometry_is_refused_in_words(geometry):
    for points in (lambda: sdp.Points(geometry), lambda: sdp.Points(geometry, crs="EPSG:4326")):
        with pytest.raises(PointsError, match=r"^points are a single geometry of shapely; give a list of points"):
            points()


def test_columns_named_like_attributes_of_geometries_are_columns():
    frame = pd.DataFrame({"geom_type": [1.0], "crs": [1.0]})
    assert counts(frame).sum() == 1


@pytest.mark.parametrize("odd", [pd.Timestamp("2020"), pd.Timedelta(1), np.datetime64("2020"), np.timedelta64(1, "s")])
def test_a_date_counts_nowhere_alone_and_among_numbers(odd):
    """If it is alone, pandas and numpy make a column of dates of it."""
    for column in (pd.Series, lambda values: np.array(values), list):
        assert counts(sdp.Points(column([odd]), column([1.0]))).sum() == 0
        assert counts(sdp.Points(column([odd]), column([odd]))).sum() == 0
    assert counts(sdp.Points(pd.Series([odd, 1.0]), pd.Series([1.0, 1.0]))).sum() == 1
    assert counts(pd.DataFrame({"x": [odd], "y": [odd]})).sum() == 0
    assert counts(np.array([[odd, odd]])).sum() == 0


@pytest.mark.parametrize("kind", [list, tuple, deque, UserList])
def test_memory_does_not_multiply_one_record_by_the_others(kind):
    """numpy gives each element of a list as much room as the longest text in it needs."""
    long = "z" * 100_000
    for make in (
        lambda: sdp.Points(kind([[1.5, 1.5]] * 1000 + [[long, 1.5]])),
        lambda: sdp.Points(kind([1.5] * 1000 + [long]), [1.5] * 1001),
    ):
        tracemalloc.start()
        points = make()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 4_000_000
        assert counts(points).sum() == 1000


@pytest.mark.parametrize("other", ["x", 10**400, None, (1,), Decimal(1)], ids=str)
def test_how_a_record_is_read_does_not_depend_on_the_others(other):
    """Lists of plain numbers are read at once, and others one by one: with the same result."""
    numbers = [0.1 + 0.2, 1, 2**53 + 1, True, np.float32(0.1), np.int32(3), 1e300, 2**1023]
    alone = sdp.Points([[number, number] for number in numbers])
    among = sdp.Points([*([number, number] for number in numbers), [other, 1.0]])
    arrays = [np.array([number, 1.0]) for number in numbers[:2]]
    assert sdp.Points(arrays)._x.tolist() == sdp.Points([*arrays, other])._x[:-1].tolist()
    assert alone._x.tolist() == among._x[:-1].tolist() == sdp.Points([*numbers, other], [1.0] * 9)._x[:-1].tolist()
    for text in ("1_0", "nan", "inf", " 1 ", b"1"):
        one, two = sdp.Points([[text, 1.0]]), sdp.Points([[text, 1.0], [other, 1.0]])
        assert np.array_equal(one._x, two._x[:1], equal_nan=True)


@pytest.mark.skipif(np.finfo(np.longdouble).max == np.finfo(float).max, reason="long doubles are doubles here")
@pytest.mark.parametrize("errors", ["warn", "raise"])
@pytest.mark.filterwarnings("error")
def test_a_long_number_that_no_double_holds_is_silent(errors):
    values = np.array([[1.5, 1.5], [1.5, 1.5]], dtype=np.longdouble)
    values[1, 0] = np.longdouble("1e400")
    with np.errstate(all=errors):
        for held in (values, np.ma.array(values), values.astype(np.clongdouble), list(values), list(map(list, values))):
            assert counts(held).sum() == 1
            assert counts(sdp.Points(np.ma.array(values[:, 0]), np.ma.array(values[:, 1]))).sum() == 1


def test_errors_hold_no_records():
    for wrong in (np.full((3, 3), 271828.18), pd.DataFrame({"x": [271828.18]}), [[271828.18, 1.0]]):
        with pytest.raises(PointsError) as caught:
            sdp.Points(wrong, None if not isinstance(wrong, list) else [1.0, 2.0])
        trace, held = caught.value.__traceback__.tb_next, []
        while trace is not None:
            held += trace.tb_frame.f_locals.values()
            trace = trace.tb_next
        assert not [value for value in held if isinstance(value, np.ndarray | pd.DataFrame | list | tuple | sdp.Points)]


def test_geometries_in_the_wrong_wrapping():
    with pytest.raises(PointsError, match="set_geometry"):
        sdp.Points(geopandas.GeoDataFrame({"x": [1.0]}))
    assert counts([shapely.Point(1, 1), shapely.Point(), shapely.box(0, 0, 1, 1)]).sum() == 1
    assert counts(np.array([shapely.Point(1, 1), shapely.Point()])).sum() == 1
    assert counts(geopandas.GeoSeries([shapely.Point(1, 1), None], crs="EPSG:4326").array).sum() == 1


class Hostile:
    """A record that raises, with a secret, whatever is done to it."""

    def __getattr__(self, name):
        raise RuntimeError("271828.18")

    def __float__(self):
        raise RuntimeError("271828.18")

    __len__ = __iter__ = __float__


ODD = {
    "text": "secret 271828.18",
    "bytes": b"\xff271828.18",
    "complex": 1 + 2j,
    "none": None,
    "huge": 10**400,
    "list": [1.0, 2.0],
    "empty list": [],
    "deep": [[[[1.0, 2.0]]]],
    "array": np.array([1.0, 2.0]),
    "polygon": shapely.box(0, 0, 1, 1),
    "dict": {"x": 1},
    "signalling": Decimal("sNaN"),
    "date": pd.Timestamp("2020-01-01"),
    "not available": pd.NA,
    "long": "1" * 5000,
    "hexadecimal": "0x1",
    "underscore": "1_0",
    "hostile": Hostile(),
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
@pytest.mark.filterwarnings("error")
def test_one_odd_record_counts_nowhere_and_changes_nothing_else(odd):
    """In lists, in arrays and frames of objects and text, and in two columns: one rule."""
    pairs = [[1.0, 1.0], [odd, 1.0], [3.0, 3.0]]
    assert counts(pairs).sum() == 2
    assert counts([tuple(pair) for pair in pairs]).sum() == 2
    assert counts([[1.0, 1.0], odd, [3.0, 3.0]]).sum() == 2 + (repr(odd) in ("[1.0, 2.0]", "array([1., 2.])"))
    assert counts(sdp.Points([1.0, odd, 3.0], [1.0, 1.0, 3.0])).sum() == 2
    cells = np.empty((3, 2), dtype=object)
    for row, pair in enumerate(pairs):
        cells[row, 0], cells[row, 1] = pair
    assert counts(cells).sum() == 2
    assert counts(pd.DataFrame({"x": pd.Series(list(cells[:, 0]), dtype=object), "y": [1.0, 1.0, 3.0]})).sum() == 2
    if isinstance(odd, str | complex):  # numpy makes all numbers text, or complex, for the one
        assert counts(np.array(pairs)).sum() == 2


def test_a_column_that_became_text_for_one_record_is_read():
    text = pd.read_csv(io.StringIO("x,y\n1.0,1.0\nunknown,2.0\n3.0,3.0\n"))
    assert text["x"].dtype.kind == "O"
    assert counts(text).sum() == 2
    assert counts(np.array([[b"1.0", b" 1e0 "], [b"x", b"1"]])).sum() == 1


def test_other_geometries_count_nowhere():
    mixed = geopandas.GeoSeries([shapely.Point(1, 1), shapely.box(0, 0, 1, 1), None], crs="EPSG:4326")
    assert counts(mixed).sum() == 1
    assert counts(geopandas.GeoDataFrame(geometry=mixed)).sum() == 1
    assert counts(mixed[1:]).sum() == 0


@pytest.mark.parametrize("bad", [np.array([["1.5", "271828.18", "3"]]), pd.DataFrame({"x": [271828.18]})])
def test_errors_do_not_quote_a_record(bad):
    with pytest.raises(PointsError) as caught:
        sdp.Points(bad)
    assert "271828" not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__context__ is None


WRONG = {
    "three columns": lambda n: np.zeros((n, 3)),
    "one column": lambda n: np.zeros(n),
    "a cube": lambda n: np.zeros((n, 2, 2)),
    "structures": lambda n: np.zeros((n, 2), dtype=[("a", "f8")]),
    "a frame of three columns": lambda n: pd.DataFrame(np.zeros((n, 3))),
    "an Arrow table of three columns": lambda n: pa.table({name: np.zeros(n) for name in "xyz"}),
    "an Arrow table of text": lambda n: pa.table({name: ["a"] * n for name in "xy"}),
}


@pytest.mark.parametrize("form", WRONG)
def test_complaints_do_not_tell_how_many_records_there_are(form):
    said = set()
    for n in (3, 4, 1000):
        with pytest.raises(PointsError) as caught:
            sdp.Points(WRONG[form](n))
        said.add((str(caught.value), repr(caught.value.__cause__), repr(caught.value.__context__)))
    for n in (3, 1000):
        with pytest.raises(PointsError, match="different lengths") as caught:
            sdp.Points(np.zeros(n), np.zeros(n + 9))
        assert str(n) not in str(caught.value)
    assert len(said) == 1


@pytest.mark.parametrize(
    "geometry",
    [
        shapely.MultiPoint([(1, 1), (3, 3)]),
        shapely.LineString([(1, 1), (3, 3)]),
        shapely.GeometryCollection([shapely.Point(1, 1), shapely.Point(3, 3)]),
    ],
    ids=lambda geometry: geometry.geom_type,
)
def test_what_is_more_than_one_point_counts_nowhere(geometry):
    for held in (geopandas.GeoSeries, lambda listed, crs: geopandas.GeoDataFrame(geometry=listed, crs=crs)):
        assert counts(held([geometry, shapely.Point(1, 1)], crs="EPSG:4326")).sum() == 1
    assert counts([geometry, (1, 1)]).sum() == 1


def test_a_multi_point_of_one_part_is_that_part():
    single = [shapely.MultiPoint([(1, 1)]), shapely.MultiPoint([(1, 1, 7)])]
    nowhere = [shapely.MultiPoint(), shapely.from_wkt("MULTIPOINT (EMPTY)"), shapely.MultiPoint([(1, 1), (1, 1)])]
    for held in (geopandas.GeoSeries, lambda listed, crs: listed, lambda listed, crs: np.array(listed, dtype=object)):
        assert counts(held([*single, *nowhere, shapely.Point(1, 1)], crs="EPSG:4326")).sum() == 3


# --- Arrow ----------------------------------------------------------------------------------------

TWO = pa.table({"lon": [1.0, None, 7.0], "lat": [1.0, 2.0, 2.0]})
WKB = pa.array([shapely.to_wkb(shapely.Point(1, 1)), b"nonsense", None], pa.binary())


def geoarrow(kind, values, crs="EPSG:4326"):
    metadata = {"ARROW:extension:name": kind, "ARROW:extension:metadata": json.dumps({"crs": crs} if crs else {})}
    return pa.table([values], schema=pa.schema([pa.field("where", values.type, metadata=metadata)]))


class Stream:
    """What other libraries offer: a stream and nothing else."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "wrap",
    [lambda t: t, lambda t: t.to_reader(), lambda t: t.to_batches()[0], Stream],
    ids=["table", "reader", "batch", "stream"],
)
def test_arrow_tables_and_readers_are_points(wrap):
    assert counts(sdp.Points(wrap(TWO))).sum() == 1
    assert counts(wrap(geoarrow("geoarrow.wkb", WKB))).sum() == 1
    release = sdp.Flat((2, 2)).release(wrap(TWO), DOMAIN, epsilon=1)
    assert release.estimate.values.shape == (2, 2)


def test_every_form_of_geoarrow_points_is_read():
    x, y = pa.array([1.0, 2.0, 9.0]), pa.array([1.0, None, 1.0])
    for values, kind in (
        (pa.StructArray.from_arrays([x, y], ["x", "y"]), "geoarrow.point"),
        (pa.array([[1.0, 1.0], None, [9.0, 9.0]], pa.list_(pa.float64(), 2)), "geoarrow.point"),
        (pa.array(["POINT (1 1)", "POINT EMPTY", "nonsense"]), "geoarrow.wkt"),
        (WKB.cast(pa.large_binary()), "geoarrow.wkb"),
        (WKB.slice(0, 2), "geoarrow.wkb"),
    ):
        assert counts(geoarrow(kind, values)).sum() == 1
    assert counts(sdp.Points(geoarrow("geoarrow.wkb", WKB, crs=None), crs="EPSG:4326")).sum() == 1


def test_arrow_tables_bring_their_crs():
    with pytest.raises(CRSMismatchError, match="set_crs"):
        counts(geoarrow("geoarrow.wkb", WKB, crs=None))
    with pytest.raises(CRSMismatchError, match="EPSG:2154"):
        counts(geoarrow("geoarrow.wkb", WKB, crs="EPSG:2154"))
    with pytest.raises(PointsError, match="leave crs out"):
        sdp.Points(geoarrow("geoarrow.wkb", WKB), crs="EPSG:4326")


def test_an_arrow_reader_that_fails_tells_nothing():
    def batches():
        yield TWO.to_batches()[0]
        raise RuntimeError("271828.18")

    with pytest.raises(PointsError, match="Arrow table cannot be read") as caught:
        sdp.Points(pa.RecordBatchReader.from_batches(TWO.schema, batches()))
    assert caught.value.__context__ is None
