"""What the command line prints and writes depends on a record through paid-for noise alone."""

from __future__ import annotations

import json
import logging
import re
import shutil

import geopandas
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from click.testing import CliRunner

from spatialdp.cli import main
from spatialdp.outputs.files.formats import FORMATS
from spatialdp.records.files import FORMATS as POINT_FORMATS
from tests.audit.tape import Tape
from tests.helpers.point_files import FILES, columns_of, write

BOUNDS = ("--bounds=0,0,1,1", "--crs=EPSG:4326")

# Digits that occur nowhere by chance: of a secret place, of one outside, of how many records there are.
PLACE = 0.73519284
OUTSIDE = 86420.975318
COUNTS = (7919, 3571)


def secret_points():
    """A crowd at a secret place, and another outside the domain."""
    inside, outside = COUNTS
    x = np.concatenate([np.full(inside, PLACE), np.full(outside, OUTSIDE)])
    return x, x[::-1].copy()


def traces(data: bytes) -> list[str]:
    """Secrets that can be seen in some bytes, as text or as doubles."""
    digits = [b"73519284", b"86420", b"975318", *(np.float64(value).tobytes() for value in (PLACE, OUTSIDE))]
    counts = "|".join(f"{count}|{count:,}" for count in (*COUNTS, sum(COUNTS)))
    whole = re.findall(rf"(?<![\d.,-])(?:{counts})(?![\d])".encode(), data)  # not as digits of another number
    return [repr(secret) for secret in digits if secret in data] + [repr(found) for found in whole]


class Caught(logging.Handler):
    """Everything that is logged by anyone."""

    def __init__(self) -> None:
        super().__init__(0)
        self.lines: list[str] = []

    def emit(self, record):
        self.lines.append(record.getMessage())


@pytest.fixture
def log():
    caught = Caught()
    logging.getLogger().addHandler(caught)
    yield caught.lines
    logging.getLogger().removeHandler(caught)


def shown(words, log):
    result = CliRunner().invoke(main, [str(word) for word in words])
    return result, "\n".join([result.stdout, result.stderr, *log]).encode()


@pytest.mark.parametrize("name", [name for name in FILES if name != "layer.fgb"])
def test_secrets_are_in_no_byte(tmp_path, log, name):
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    source = write(tmp_path / "in" / name, *secret_points())
    columns = [f"--{key}={value}" for key, value in columns_of(name).items()]
    released = tmp_path / "out" / "release.parquet"
    outputs = [word for suffix in FORMATS for word in ("-o", released.with_suffix(suffix))]
    terms = ("--method=quadtree", "--height=3", "--epsilon=0.01")
    for words in (
        ("release", source, *columns, *BOUNDS, *terms, *outputs),
        ("sample", released, "-o", tmp_path / "out" / "drawn.gpkg"),
        ("query", released, "--bbox=0,0,1,1", "-o", tmp_path / "out" / "answers.csv"),
        ("map", released, "-o", tmp_path / "out" / "map.svg"),
        ("info", released),
        ("release", source, *columns, *BOUNDS, *terms, "-o", released),  # exists
        ("release", source, "--x=nowhere", "--y=lat", *BOUNDS, *terms, "-o", tmp_path / "out" / "o.parquet"),
        (
            "release",
            source,
            *columns,
            "--bounds=0,0,1,1",
            "--crs=EPSG:4258",
            "--points-crs=EPSG:4326",
            *terms,
            "-o",
            tmp_path / "o.parquet",
        ),
    ):
        _, told = shown(words, log)
        assert not traces(told), words
    written = sorted((tmp_path / "out").iterdir())
    assert len(written) == len(FORMATS) + 5
    for path in written:
        assert not traces(path.read_bytes()), path.name


def malformed(folder):
    """Files with secrets in records that are not as they should be, or in files cut off behind them."""
    secret = f"{PLACE}"
    (folder / "text.csv").write_text(f"x,y\n{secret}x,1\n{secret},{secret}\n{OUTSIDE},,{secret},{secret}\n")
    (folder / "quote.csv").write_text(f'x,y\n"{secret},1\n' * 3)
    (folder / "headless.csv").write_text(f"{secret},{OUTSIDE}\n")
    (folder / "binary.csv").write_bytes(f"x,y\n{secret}\xff,\x00{secret}\n".encode("latin-1"))
    strings = pa.table({"x": [secret, "no"], "y": [secret, secret]})
    pq.write_table(strings, folder / "strings.parquet")
    whole = (folder / "strings.parquet").read_bytes()
    (folder / "cut.parquet").write_bytes(whole[:-20])
    (folder / "holes.parquet").write_bytes(whole[:10] + b"\xff" * 60 + whole[70:])
    points = [{"type": "Point", "coordinates": at} for at in ([secret, PLACE], [PLACE], {"x": PLACE}, [[PLACE, PLACE]])]
    points += [{"type": secret, "coordinates": [PLACE, PLACE]}, {"type": "Polygon", "coordinates": [PLACE, OUTSIDE]}]
    features = [{"type": "Feature", "properties": {secret: secret}, "geometry": point} for point in points]
    text = json.dumps({"type": "FeatureCollection", "features": features})
    (folder / "odd.geojson").write_text(text)
    (folder / "cut.geojson").write_text(text[: text.index("Polygon")])
    mixed = geopandas.GeoSeries([shapely.Point(PLACE, PLACE), shapely.box(PLACE, 0, 1, 1)], crs="EPSG:4326")
    mixed.to_file(folder / "mixed.gpkg")
    wkb = np.array([shapely.to_wkb(shapely.Point(PLACE, PLACE))[:-3], shapely.to_wkb(shapely.Point(PLACE, OUTSIDE))])
    geo = {"primary_column": "g", "columns": {"g": {"encoding": "WKB", "geometry_types": []}}}
    table = pa.table({"g": pa.array(wkb.tolist(), pa.binary())}).replace_schema_metadata({"geo": json.dumps(geo)})
    pq.write_table(table, folder / "wkb.parquet")
    for name in ("layer.gpkg", "layer.shp", "layer.fgb"):
        path = write(folder / f"hurt-{name}", *secret_points())
        data = bytearray(path.read_bytes())
        for place in range(2 * len(data) // 3, len(data), 997):
            data[place] ^= 0xFF
        path.write_bytes(data)
    for path in folder.glob("hurt-layer.[cdpx]*"):  # of the Shapefile; its .shp stays
        path.write_bytes(path.read_bytes()[:-7])


def test_malformed_records_tell_nothing(tmp_path, log, capfd):
    (tmp_path / "in").mkdir()
    malformed(tmp_path / "in")
    codes = {}
    for path in sorted(path for path in (tmp_path / "in").iterdir() if path.suffix in POINT_FORMATS):
        for columns in ((), ("--x=x", "--y=y")):
            out = tmp_path / "out.parquet"
            words = ("release", path, *columns, *BOUNDS, "--method=flat", "--shape=2,2", "--epsilon=0.01", "-o", out)
            result, told = shown(words, log)
            codes[path.name, bool(columns)] = result.exit_code
            assert not traces(told), path.name
            assert "".join(capfd.readouterr()) == ""  # what libraries in C print
            assert not out.exists() or not traces(out.read_bytes())
            out.unlink(missing_ok=True)
    assert codes["text.csv", True] == codes["binary.csv", True] == 0
    assert codes["odd.geojson", False] == codes["mixed.gpkg", False] == codes["wkb.parquet", False] == 0
    assert codes["quote.csv", True] == codes["headless.csv", True] == codes["cut.parquet", True] == 2
    assert set(codes.values()) == {0, 2}


@pytest.mark.parametrize("extra", [(0.4, 0.6), (np.nan, 0.5), (7.0, 7.0), (np.inf, -np.inf)], ids=str)
@pytest.mark.parametrize(
    "method", [("quadtree", "--height=3"), ("kd-tree", "--height=2", "--pixels=9,9"), ("flat", "--shape=4,4")]
)
def test_files_of_neighbours_are_the_same_bytes_when_the_noisy_values_are(tmp_path, method, extra):
    x, y = np.random.default_rng(1).random((2, 200))
    outcomes = []
    with Tape() as tape:
        for name, xy in (("one", (x, y)), ("two", (np.append(x, extra[0]), np.append(y, extra[1])))):
            source = write(tmp_path / f"plain-{name}.parquet", *xy)
            (tmp_path / "out").mkdir()
            outputs = [word for suffix in FORMATS for word in ("-o", tmp_path / "out" / f"map{suffix}")]
            words = ["release", source, "--x=lon", "--y=lat", *BOUNDS, "--method", *method, "--epsilon=1", *outputs]
            result = CliRunner().invoke(main, [str(word) for word in words])
            files = {path.name: path.read_bytes() for path in sorted((tmp_path / "out").iterdir())}
            outcomes.append((result.exit_code, result.stdout, result.stderr, files))
            shutil.rmtree(tmp_path / "out")
            tape.play()
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][0] == 0
    assert len(outcomes[0][3]) == len(FORMATS) + 1  # and a statement
