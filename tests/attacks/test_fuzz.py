"""Files that are damaged, forged or something else than they say: a clear error or a harmless result."""

from __future__ import annotations

import http.server
import json
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import spatialdp as sdp
from spatialdp.errors import FileFormatError
from spatialdp.outputs.files.statement import read_statement
from tests.attacks.fuzz import DOMAIN, KINDS, SECONDS

ROOT = Path(__file__).parents[2]
MEGABYTES = 1000  # at most, of which the libraries are a fifth; the files have less than one


def fuzz(kind, first, count, folder):
    """Read mutated files in another process, which must come back."""
    command = [sys.executable, "-m", "tests.attacks.fuzz", kind, str(first), str(count), str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60 + SECONDS * count, check=False)
    number = folder / "number"
    last = number.read_text() if number.exists() else "none"
    assert done.returncode == 0, f"{kind}: input {last} ended the process ({done.returncode}): {done.stderr[-2000:]}"
    return json.loads(done.stdout), done.stderr


def check(kind, first, count, folder):
    found, said = fuzz(kind, first, count, folder)
    assert not found["wrong"], "errors that are not ours"
    assert not found["seen"], "things that a reader of files does not do"
    assert found["megabytes"] < MEGABYTES
    assert sum(found["results"].values()) == count
    if kind.startswith("points"):
        assert not said  # readers quote records
    return found["results"]


@pytest.mark.parametrize("kind", KINDS)
def test_mutated_files_are_refused_or_harmless(kind, tmp_path):
    results = check(kind, 0, 60, tmp_path)
    assert len(results) > 1 or kind == "points.csv"  # some mutations matter, some do not


@pytest.mark.audit
@pytest.mark.parametrize("kind", KINDS)
def test_many_mutated_files_are_refused_or_harmless(kind, tmp_path):
    """12,000 releases as GeoParquet, GeoPackage and JSON, 6,000 in other formats, and 12,000 files of points."""
    check(kind, 1000, 2000 if kind.startswith("points") else 3000, tmp_path)


# --- the watch is awake ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("harm", "mark"),
    [
        ("os.system('true')", "os.system"),
        ("pickle.loads(b'cos\\ngetpid\\n.')", "pickle.find_class"),
        ("bytearray(2 ** 33)", "MemoryError"),
        ("os.abort()", "ended the process (-6)"),
        ("[None for _ in iter(int, 1)]", "ended the process (-14)"),
    ],
)
def test_harm_would_be_seen(harm, mark, tmp_path, monkeypatch):
    """The same process with a reader that does harm."""
    code = (
        "import json, os, pathlib, pickle, sys; from tests.attacks import fuzz\n"
        "fuzz.SECONDS = 1; made = fuzz._make_points\n"
        f"def reader(path):\n    if 'current' in str(path): {harm}\n"
        "fuzz.KINDS['points.csv'] = made, '.csv', reader\n"
        "print(json.dumps(fuzz.run('points.csv', 0, 1, pathlib.Path(sys.argv[-1]))))"
    )
    run = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda command, **how: run([sys.executable, "-c", code, command[-1]], **how))
    try:
        shown = str(fuzz("points.csv", 0, 1, tmp_path))
    except AssertionError as error:
        shown = str(error)
    assert mark in shown


# --- small files that announce much ----------------------------------------------------------------


@pytest.mark.parametrize("bomb", ["rows", "geometry", "columns"])
def test_small_files_do_not_become_large_tables(bomb, tmp_path, monkeypatch):
    """They are refused by what they announce, before a row is read, though header and rows agree."""
    path, rows = tmp_path / "bomb.parquet", 10**6 if bomb == "rows" else 4
    sdp.Flat((2, 2)).release([], DOMAIN, epsilon=1).save(path)
    metadata = pq.read_schema(path).metadata
    header = json.loads(metadata[b"spatialdp"]) | {"rows": rows}
    columns = {"estimate": pa.array(np.zeros(rows)), "geometry": pa.array([bytes(2**20)] * 4)}
    names = {"rows": ["estimate"], "geometry": ["estimate", "geometry"]}.get(bomb, [str(i) for i in range(65)])
    table = pa.table({name: columns.get(name, columns["estimate"]) for name in names})
    table = table.replace_schema_metadata({**metadata, b"spatialdp": json.dumps(header).encode()})
    pq.write_table(table, path, compression="zstd", use_dictionary=False)
    assert path.stat().st_size < 40_000
    monkeypatch.setattr(pq.ParquetFile, "read", None)  # would be a TypeError
    with pytest.raises(FileFormatError, match="altered or damaged"):
        sdp.load(path)


# --- files in disguise -----------------------------------------------------------------------------


@pytest.fixture
def address(monkeypatch):
    """A web server, and what it was asked for."""
    for name in ("no_proxy", "NO_PROXY"):  # which would let requests through
        monkeypatch.delenv(name, raising=False)
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_error(404)

        do_HEAD = do_GET  # noqa: N815 - names that the server looks for

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()


POINT = {"type": "Feature", "properties": {}, "geometry": {"type": "Point", "coordinates": [1, 1]}}


def virtual_layer(source):
    return (
        f'<OGRVRTDataSource><OGRVRTLayer name="layer"><SrcDataSource>{source}</SrcDataSource></OGRVRTLayer>'
        "</OGRVRTDataSource>"
    )


def algorithm(source):
    return json.dumps({"type": "gdal_streamed_alg", "command_line": f"gdal vector pipeline ! read {source}"})


@pytest.mark.parametrize("disguise", [virtual_layer, algorithm])
@pytest.mark.parametrize("name", ["a.geojson", "a.json", "a.gpkg", "a.shp", "a.fgb"])
def test_points_files_read_no_other_file_and_fetch_nothing(disguise, name, address, tmp_path):
    url, asked = address
    other = tmp_path / "other.geojson"
    other.write_text(json.dumps({"type": "FeatureCollection", "features": [POINT]}))
    for source in (other, f"/vsicurl/{url}/points.geojson"):
        (tmp_path / name).write_text(disguise(source))
        with pytest.raises(sdp.SpatialDPError, match=r"of another format|not a GeoJSON FeatureCollection"):
            sdp.read_points(tmp_path / name, DOMAIN)
    assert not asked


def test_a_crs_is_not_fetched(address, tmp_path):
    url, asked = address
    linked = {"type": "link", "properties": {"href": f"{url}/crs", "type": "ogcwkt"}}
    (tmp_path / "a.geojson").write_text(json.dumps({"type": "FeatureCollection", "crs": linked, "features": [POINT]}))
    with pytest.raises(sdp.SpatialDPError, match="states no CRS"):
        sdp.read_points(tmp_path / "a.geojson", DOMAIN)
    sdp.read_points(tmp_path / "a.geojson", DOMAIN, crs="EPSG:4326")
    assert not asked


@pytest.mark.parametrize("name", ["a.gpkg", "a.tif"])
def test_statements_are_not_those_of_other_files(name, tmp_path):
    other = tmp_path / f"other{name[1:]}"
    sdp.Flat((2, 2)).release([], DOMAIN, epsilon=1).save(other)
    band = f'<VRTRasterBand dataType="Float64" band="1"><SimpleSource><SourceFilename>{other}</SourceFilename>'
    raster = (
        f'<VRTDataset rasterXSize="2" rasterYSize="2"><Metadata><MDI key="SPATIALDP_PRIVACY">'
        f"{json.dumps(read_statement(other).to_json())}</MDI></Metadata>{band}<SourceBand>1</SourceBand></SimpleSource>"
        "</VRTRasterBand></VRTDataset>"
    )
    (tmp_path / name).write_text(raster if name == "a.tif" else virtual_layer(other))
    with pytest.raises(FileFormatError, match="no privacy statement"):
        read_statement(tmp_path / name)
