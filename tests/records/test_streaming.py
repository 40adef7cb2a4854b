"""Files that stay unread: structure is checked at once, records are read when they are counted, and never kept."""

from __future__ import annotations

import os
import pickle
import tracemalloc
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import spatialdp as sdp
from spatialdp.errors import PointsError
from spatialdp.privacy.noise.laws import Law
from spatialdp.privacy.noise.source import SeededNoise
from spatialdp.records.counting import count_cells
from spatialdp.records.points import LatticePoints, in_memory, lattice_points
from spatialdp.records.streaming import FilePoints, StoredFile
from tests.helpers.cases import AUDITED
from tests.helpers.person_files import PERSON_FILES, person_options, write_persons
from tests.helpers.point_files import FILES, columns_of, write

DOMAIN = sdp.Domain((0, 0, 1, 1), crs="EPSG:4326")
GRID = DOMAIN.grid((16, 16))
COLUMNS = {"x": "lon", "y": "lat"}
BOUNDS = [sdp.Person(records=4), sdp.Person(cells=3), sdp.Person(shares=True)]


@pytest.fixture(scope="module")
def xy():
    return np.random.default_rng(1).uniform(-0.2, 1.2, (2, 500))


@pytest.fixture
def table(tmp_path, xy):
    return write(tmp_path / "table.csv", *xy)


@pytest.fixture
def readings(monkeypatch):
    """How many files have been read so far, as a list of their names."""
    read, batches = [], StoredFile.batches

    def counted(file, reading):
        read.append(file.source.path.name)
        return batches(file, reading)

    monkeypatch.setattr(StoredFile, "batches", counted)
    return read


# --- reading ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FILES)
def test_files_are_read_when_they_are_counted_and_each_time(name, tmp_path, xy, readings):
    points = sdp.read_points(write(tmp_path / name, *xy), DOMAIN, **columns_of(name))
    assert isinstance(points, FilePoints)
    assert readings == []
    expected = count_cells(sdp.Points(*xy), GRID)
    for times in (1, 2):
        assert np.array_equal(count_cells(points, GRID), expected)
        assert readings == [name] * times


def test_what_can_be_read_only_once_or_is_in_memory_is_read_at_once(table):
    with table.open("rb") as stream:
        assert isinstance(sdp.read_points(stream, DOMAIN, file_format="csv", **COLUMNS), LatticePoints)
        stream.seek(0)
        both = sdp.read_points([table, stream], DOMAIN, file_format="csv", **COLUMNS)
    twice = sdp.read_points([table, table], DOMAIN, **COLUMNS)
    assert np.array_equal(count_cells(both, GRID), count_cells(twice, GRID))
    frame = pa.table({"lon": [0.5], "lat": [0.5]})
    assert isinstance(sdp.read_points(frame, DOMAIN), LatticePoints)


def test_whoever_keeps_points_reads_the_files_once(table, xy, readings):
    points = in_memory(sdp.read_points([table, table], DOMAIN, **COLUMNS), DOMAIN)
    for _ in range(3):
        assert np.array_equal(count_cells(points, GRID), 2 * count_cells(sdp.Points(*xy), GRID))
    assert readings == ["table.csv"] * 2
    held = sdp.Points(*xy)
    assert in_memory(held, DOMAIN) is held
    assert in_memory(points, DOMAIN) is points


@pytest.mark.parametrize("processes", [1, 2])
def test_evaluations_read_files_once(table, xy, readings, processes):
    boxes = sdp.workload.random_boxes(DOMAIN, 20)
    settings = {"trials": 2, "processes": processes, "metrics": ["rmse"]}
    mechanisms = [sdp.Quadtree(3), sdp.KdTree(2)]
    points = sdp.read_points(table, DOMAIN, **COLUMNS)
    frame = sdp.evaluate(mechanisms, points, DOMAIN, boxes, [0.5, 1], **settings)
    assert readings == ["table.csv"]
    same = sdp.evaluate(mechanisms, sdp.Points(*xy), DOMAIN, boxes, [0.5, 1], **settings)
    assert frame["value"].tolist() == same["value"].tolist()


def test_counting_a_file_keeps_no_record(tmp_path):
    """Memory that numpy and Python allocate; lattice positions of these records take 16 megabytes."""
    records = 2_000_000
    column = np.random.default_rng(1).random(records)
    pq.write_table(pa.table({"lon": column, "lat": column}), tmp_path / "many.parquet")
    points = sdp.read_points(tmp_path / "many.parquet", DOMAIN, **COLUMNS)
    count_cells(points, GRID)  # what is imported on the way is not counted
    peaks = []
    for work in (lambda: count_cells(points, GRID), lambda: in_memory(points, DOMAIN)):
        tracemalloc.start()
        work()
        peaks.append(tracemalloc.get_traced_memory()[1] / 1e6)
        tracemalloc.stop()
    assert peaks[0] < 6
    assert peaks[1] > 15  # so this test can tell


def test_unread_points_are_sent_to_other_processes(table, xy):
    points = sdp.read_points(table, DOMAIN, person="name", **COLUMNS)
    copy = pickle.loads(pickle.dumps(points))
    assert repr(copy) == repr(points) == "Points(<private>, crs='EPSG:4326', person=<private>)"
    assert np.array_equal(copy._counts(GRID, BOUNDS[0]), points._counts(GRID, BOUNDS[0]))


def test_paths_hold_when_the_working_directory_changes(table, xy, monkeypatch, tmp_path_factory):
    monkeypatch.chdir(table.parent)
    points = sdp.read_points("table.csv", DOMAIN, **COLUMNS)
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert np.array_equal(count_cells(points, GRID), count_cells(sdp.Points(*xy), GRID))


def test_unread_points_belong_to_their_domain(table, readings):
    points = sdp.read_points(table, DOMAIN, **COLUMNS)
    wider = sdp.Domain((0, 0, 2, 1), crs="EPSG:4326")
    for use in (
        lambda: sdp.Flat((2, 2)).release(points, wider, epsilon=1),
        lambda: sdp.KdTree(2).release(points, wider, epsilon=1),
        lambda: in_memory(points, wider),
    ):
        with pytest.raises(PointsError, match="read them again"):
            use()
    assert readings == []


# --- persons ---------------------------------------------------------------------------------------

PERSONS = {
    "numbers": lambda number: number,
    "numbers with a gap": lambda number: None if number == 3 else number,
    "text": lambda number: f"é{number}, \\n",
    "text with a gap": lambda number: None if number == 3 else f"p{number}",
    "large numbers": lambda number: 2**52 + number,
}


@pytest.mark.parametrize("kind", PERSONS)
@pytest.mark.parametrize("name", PERSON_FILES)
def test_every_format_gives_the_same_persons(tmp_path, xy, name, kind):
    """Writers make doubles of whole numbers for one that is missing; the persons stay who they were."""
    numbers = np.random.default_rng(2).integers(1, 20, xy.shape[1]).tolist()
    persons = [PERSONS[kind](number) for number in numbers]
    write_persons(tmp_path / name, *xy, persons)
    held = sdp.Points(*xy, person=persons)
    points = sdp.read_points(tmp_path / name, DOMAIN, **person_options(name))
    for bound in BOUNDS:
        expected = held._counts(GRID, bound)
        assert np.array_equal(points._counts(GRID, bound), expected)
        assert np.array_equal(in_memory(points, DOMAIN)._counts(GRID, bound), expected)
        for one, two in zip(points._fine_cells(DOMAIN, bound), held._fine_cells(DOMAIN, bound), strict=True):
            assert np.array_equal(one, two)


def test_persons_of_several_files_and_batches_are_one_set(tmp_path, xy, monkeypatch):
    """Who is in two files, and in columns of different types, is one person."""
    numbers = np.random.default_rng(2).integers(1, 20, xy.shape[1])
    for name, rows, kind in (("a.parquet", slice(0, 200), pa.int32()), ("b.parquet", slice(200, None), pa.string())):
        columns = {"lon": xy[0][rows], "lat": xy[1][rows], "who": pa.array(numbers[rows]).cast(kind)}
        pq.write_table(pa.table(columns), tmp_path / name)
    monkeypatch.setattr("spatialdp.records.formats.arrow.BATCH", 30)
    points = sdp.read_points(tmp_path, DOMAIN, person="who", **COLUMNS)
    for bound in BOUNDS:
        assert np.array_equal(points._counts(GRID, bound), sdp.Points(*xy, person=numbers)._counts(GRID, bound))


@pytest.mark.parametrize("mechanism", [sdp.Flat((5, 4)), sdp.Quadtree(3), sdp.KdTree(2)], ids=lambda m: m.name)
@pytest.mark.parametrize("bound", BOUNDS, ids=str)
def test_releases_of_persons_in_a_file_and_in_arrays_agree(tmp_path, xy, mechanism, bound):
    numbers = np.random.default_rng(2).integers(1, 20, xy.shape[1])
    path = write_persons(tmp_path / "plain.parquet", *xy, numbers)
    one, two = (
        mechanism.release(points, DOMAIN, epsilon=1, person=bound, noise=SeededNoise(3)).estimate.values
        for points in (sdp.read_points(path, DOMAIN, person="who", **COLUMNS), sdp.Points(*xy, person=numbers))
    )
    assert np.array_equal(one, two)


# --- damage ----------------------------------------------------------------------------------------


class NoDraws(SeededNoise):
    """A source that must not be asked for anything."""

    def __init__(self):
        super().__init__(0)

    def random_bytes(self, count):
        raise AssertionError("noise was drawn")


@pytest.fixture
def damaged(tmp_path):
    """A file whose damage shows only when its records are read."""
    rows = "0.73519284,0.5,73519284\n" * 80
    (tmp_path / "quote.csv").write_text(f'lon,lat,who\n{rows}"0.5,0.5,7\n')
    return tmp_path / "quote.csv"


@pytest.mark.parametrize("name", AUDITED)
@pytest.mark.parametrize("bound", [None, sdp.Person(cells=3)], ids=["records", "persons"])
def test_damage_is_found_before_noise_is_drawn(name, bound, damaged):
    mechanism = AUDITED[name].small
    points = sdp.read_points(damaged, DOMAIN, **COLUMNS, **({} if bound is None else {"person": "who"}))
    delta = 1e-6 if mechanism.law is Law.GAUSSIAN else 0
    prepared = mechanism.prepare(DOMAIN, epsilon=1, delta=delta, person=bound)
    with pytest.raises(PointsError, match="cannot be read as csv: it is truncated, damaged") as caught:
        prepared.release(points, noise=NoDraws())
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    trace, shown = caught.value.__traceback__.tb_next, []
    while trace is not None:
        shown.append(repr(trace.tb_frame.f_locals))
        assert not any(isinstance(value, np.ndarray | pa.Array) for value in trace.tb_frame.f_locals.values())
        trace = trace.tb_next
    assert "73519284" not in "".join(shown)


def test_a_release_that_draws_noise_fails_with_no_draws(table):
    with pytest.raises(AssertionError, match="noise was drawn"):
        sdp.Flat((4, 4)).release(sdp.read_points(table, DOMAIN, **COLUMNS), DOMAIN, epsilon=1, noise=NoDraws())


def test_damaged_pages_of_parquet_are_found_in_the_release(tmp_path, xy):
    path = write(tmp_path / "plain.parquet", *xy)
    content = bytearray(path.read_bytes())
    content[len(content) // 3 : len(content) // 2] = bytes(len(content) // 2 - len(content) // 3)
    path.write_bytes(content)
    points = sdp.read_points(path, DOMAIN, **COLUMNS)
    with pytest.raises(PointsError, match="truncated, damaged"):
        sdp.Flat((4, 4)).release(points, DOMAIN, epsilon=1, noise=NoDraws())


def test_changed_files_are_refused(table):
    points = sdp.read_points(table, DOMAIN, **COLUMNS)
    assert count_cells(points, GRID).sum() > 0
    content, stamp = table.read_bytes(), table.stat()
    table.write_bytes(content + b"n,0.5,0.5\n")
    with pytest.raises(PointsError, match=r"table\.csv was changed, replaced or removed .*Call read_points again"):
        count_cells(points, GRID)
    table.write_bytes(content)
    os.utime(table, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert count_cells(points, GRID).sum() > 0
    table.unlink()
    with pytest.raises(PointsError, match="was changed, replaced or removed"):
        lattice_points(points, DOMAIN)


@pytest.mark.parametrize("name", ["layer.shp", "layer.gpkg"])
def test_changes_beside_a_file_are_noticed_too(name, xy, tmp_path):
    """The columns of a Shapefile are in its .dbf, and what was written to a GeoPackage may still be in its log."""
    path = write(tmp_path / name, *xy)
    points = sdp.read_points(path, DOMAIN)
    assert count_cells(points, GRID).sum() > 0
    stamp = path.stat()
    if name == "layer.shp":
        table = path.with_suffix(".dbf")
        table.write_bytes(table.read_bytes()[:-1] + b" ")
    else:
        path.with_name(f"{name}-wal").write_bytes(b"")
    assert path.stat().st_mtime_ns == stamp.st_mtime_ns
    with pytest.raises(PointsError, match="was changed, replaced or removed"):
        count_cells(points, GRID)


def test_files_that_change_while_they_are_read_are_refused(table):
    points = sdp.read_points(table, DOMAIN, **COLUMNS)
    cells = points._cells(GRID)
    next(cells)
    with table.open("a") as file:
        file.write("n,0.5,0.5\n")
    with pytest.raises(PointsError, match="was changed"):
        list(cells)


def test_reading_later_warns_of_nothing(tmp_path):
    (tmp_path / "odd.csv").write_text("lon,lat,who\n1e999,nan,\xff\nx,,\n0.5,0.5,ann\n", encoding="latin-1")
    points = sdp.read_points(tmp_path / "odd.csv", DOMAIN, person="who", **COLUMNS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert points._counts(GRID, sdp.Person(cells=1)).sum() == 1
        assert count_cells(points, GRID).sum() == 1
        assert lattice_points(points, DOMAIN)[0].size == 1
