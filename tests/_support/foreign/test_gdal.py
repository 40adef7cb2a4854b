"""GDAL, kept to the file that it is given: names and contents agree, options come and go."""

from __future__ import annotations

import geopandas
import pyogrio
import pytest
import shapely

from spatialdp._support.foreign.gdal import ALGORITHM, configured, content_fits_suffix, offline

POINTS = geopandas.GeoDataFrame(geometry=[shapely.Point(1, 2)], crs="EPSG:4326")
NAMES = ["a.gpkg", "a.geojson", "a.shp", "a.fgb"]


@pytest.mark.parametrize("name", NAMES)
def test_files_that_gdal_writes_begin_as_their_names_say(name, tmp_path):
    POINTS.to_file(tmp_path / name)
    assert content_fits_suffix(tmp_path / name)


@pytest.mark.parametrize("name", NAMES)
def test_programs_and_other_formats_do_not_fit_a_suffix(name, tmp_path):
    path = tmp_path / name
    for content in (b"", b"<OGRVRTDataSource></OGRVRTDataSource>", b"PAR1", b" "):
        path.write_bytes(content)
        assert not content_fits_suffix(path)


def test_json_may_begin_with_blanks_or_a_mark_but_not_hold_an_algorithm(tmp_path):
    path = tmp_path / "a.json"
    for before in (b"", b" \n\t", b"\xef\xbb\xbf", b"\xef\xbb\xbf "):
        path.write_bytes(before + b'{"type": "FeatureCollection", "features": []}')
        assert content_fits_suffix(path)
    path.write_bytes(b'{"type": "' + ALGORITHM + b'", "command_line": "gdal vector read /etc/passwd"}')
    assert not content_fits_suffix(path)


def test_options_hold_within_the_block_and_are_put_back_even_after_an_error():
    name = "SPATIALDP_TEST"
    assert pyogrio.get_gdal_config_option(name) is None
    with configured({name: "one"}):
        with pytest.raises(RuntimeError, match="found two"):
            fail_within(name, "two")
        assert pyogrio.get_gdal_config_option(name) == "one"
    assert pyogrio.get_gdal_config_option(name) is None


def fail_within(name, value):
    with configured({name: value}):
        raise RuntimeError(f"found {pyogrio.get_gdal_config_option(name)}")


def test_nothing_can_be_fetched_while_offline():
    before = pyogrio.get_gdal_config_option("GDAL_HTTP_PROXY")
    with offline():
        assert pyogrio.get_gdal_config_option("GDAL_HTTP_PROXY") == "127.0.0.1:0"
        assert pyogrio.get_gdal_config_option("CPL_VSIL_CURL_ALLOWED_FILENAME") == "none"
    assert pyogrio.get_gdal_config_option("GDAL_HTTP_PROXY") == before
