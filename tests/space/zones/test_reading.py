import pytest

from spatialdp.errors import FileFormatError
from spatialdp.space.zones.reading import read_zone_frame
from tests.helpers.zones import tiling


def test_a_layer_is_chosen_by_name(tmp_path):
    path = tmp_path / "zones.gpkg"
    tiling(1).set_crs(4326).to_file(path, layer="one")
    tiling(1).set_crs(4326).head(2).to_file(path, layer="two")
    assert len(read_zone_frame(path, "two")) == 2


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_separated_values_are_text(tmp_path, suffix):
    path = tmp_path / f"zones.{suffix}"
    path.write_text("zone\n007\nNA\nnull\n")
    assert read_zone_frame(path).zone.tolist() == ["007", "NA", "null"]


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "zones.gpkg"
    path.write_bytes(b"nothing")
    with pytest.raises(FileFormatError, match="cannot be read"):
        read_zone_frame(path)
