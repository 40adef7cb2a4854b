"""Public files: the same boxes and polygons from every format, and errors that name the file."""

from __future__ import annotations

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely

from spatialdp.errors import FileFormatError
from spatialdp.space.public_files import EDGES, boxes_of, read_boxes, read_frame, read_geometries

BOXES = pd.DataFrame([(0, 0, 1, 1), (2.5, 0, 3, 4)], columns=EDGES)
SHAPES = geopandas.GeoDataFrame({"name": ["a", "b"]}, geometry=shapely.box(*BOXES.to_numpy().T), crs="EPSG:4326")


@pytest.mark.parametrize("name", ["boxes.csv", "boxes.parquet", "BOXES.PARQUET"])
def test_boxes_are_the_same_from_every_format(name, tmp_path):
    write = BOXES.to_csv if name.endswith("csv") else BOXES.to_parquet
    write(tmp_path / name, index=False)
    assert np.array_equal(read_boxes(tmp_path / name), BOXES.to_numpy())


def test_columns_are_found_by_name_in_any_order():
    shuffled = BOXES[EDGES[::-1]].assign(other="text")
    assert np.array_equal(boxes_of(shuffled, "mine"), BOXES.to_numpy())


def test_boxes_without_a_column_or_with_text_are_refused_by_the_files_name(tmp_path):
    with pytest.raises(FileFormatError, match="mine has no column 'ymin'"):
        boxes_of(BOXES.drop(columns="ymin"), "mine")
    with pytest.raises(FileFormatError, match="mine are not all numbers"):
        boxes_of(BOXES.astype(object).replace(2.5, "x"), "mine")


@pytest.mark.parametrize("name", ["a.geojson", "a.gpkg", "a.shp", "a.parquet"])
def test_geometries_are_the_same_from_every_format(name, tmp_path):
    (SHAPES.to_parquet if name.endswith("parquet") else SHAPES.to_file)(tmp_path / name)
    for found in (read_geometries(tmp_path / name), read_frame(tmp_path / name)):
        assert shapely.equals(found.geometry.to_numpy(), SHAPES.geometry.to_numpy()).all()
        assert found.crs == SHAPES.crs


def test_layers_are_read_by_name(tmp_path):
    SHAPES.to_file(tmp_path / "two.gpkg", layer="both")
    SHAPES[:1].to_file(tmp_path / "two.gpkg", layer="one")
    assert len(read_geometries(tmp_path / "two.gpkg", "one")) == 1
    assert len(read_geometries(tmp_path / "two.gpkg", "both")) == 2


def test_plain_tables_are_frames_and_no_geometries(tmp_path):
    BOXES.to_parquet(tmp_path / "plain.parquet")
    BOXES.to_csv(tmp_path / "plain.csv", index=False)
    for name in ("plain.parquet", "plain.csv"):
        assert read_frame(tmp_path / name)[EDGES].equals(BOXES)
        with pytest.raises(FileFormatError, match=name):
            read_geometries(tmp_path / name)


@pytest.mark.parametrize("read", [read_boxes, read_geometries, read_frame])
@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".gpkg"])
def test_what_is_no_such_file_is_refused_by_name(read, suffix, tmp_path):
    path = tmp_path / f"mine{suffix}"
    with pytest.raises(FileFormatError, match=r"mine.*No such file"):
        read(path)
    path.mkdir()
    with pytest.raises(FileFormatError, match=r"mine.* is a folder"):
        read(path)
    path.rmdir()
    path.write_bytes(b"\x00\xff damaged")
    with pytest.raises(FileFormatError, match="mine"):
        read(path)
