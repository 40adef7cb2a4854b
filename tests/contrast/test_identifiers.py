"""Columns of any form become numbers, categories in a stated order, and nothing is dropped."""

from __future__ import annotations

import geopandas
import numpy as np
import pandas as pd
import pytest

from spatialdp import contrast
from spatialdp.contrast.identifiers import columns_in, labels_of
from spatialdp.errors import ParameterError


def test_arrays_frames_mappings_and_geometries_are_read_alike():
    array = np.array([[1.0, 2.0], [3.0, 4.0]])
    frame = pd.DataFrame(array, columns=["x", "y"])
    points = geopandas.GeoSeries(geopandas.points_from_xy(array[:, 0], array[:, 1]))
    for form in (array, frame, {"x": array[:, 0], "y": array[:, 1]}, points, array.tolist()):
        read = contrast.QuasiIdentifiers.of(form)
        assert (read.names, read.values.T.tolist()) == (("x", "y"), array.tolist())
        assert contrast.QuasiIdentifiers.of(read) is read
    assert contrast.QuasiIdentifiers.of(np.zeros((4, 3))).names == ("column 1", "column 2", "column 3")


def test_categorical_columns_keep_their_order_and_texts_have_the_alphabets():
    sizes = pd.Categorical(["small", "large"], categories=["small", "medium", "large"])
    read = contrast.QuasiIdentifiers.of(pd.DataFrame({"size": sizes, "name": ["b", "a"]}))
    assert read.orders == {"size": ("small", "medium", "large"), "name": ("a", "b")}
    assert read.values.tolist() == [[0, 2], [1, 0]]
    assert contrast.Secrets.of(sizes).values == ("small", "medium", "large")


def test_missing_categories_are_a_category():
    for column in (["a", None], pd.Series(["a", np.nan], dtype=object), pd.Categorical(["a", None])):
        secrets = contrast.Secrets.of(column)
        assert (secrets.values, secrets.codes.tolist()) == (("a", "missing"), [0, 1])


def test_numbers_are_ordered_by_size_and_written_without_a_point():
    assert contrast.Secrets.of([10, 9, 10]).values == ("9", "10")
    assert contrast.Secrets.of([10.0, 9.5]).values == ("9.5", "10")
    assert labels_of([2.0, np.nan])[0] == ["2", "missing"]


def test_whole_numbers_and_categories_have_a_width_and_places_have_none():
    read = contrast.QuasiIdentifiers.of({"age": [3, 4], "sex": ["f", "m"], "x": [0.5, 0.7]})
    assert read.steps == (1.0, 1.0, 0.0)


def test_another_table_can_be_read_in_the_same_order():
    first = contrast.QuasiIdentifiers.of({"sex": ["f", "m"]})
    assert contrast.QuasiIdentifiers.of({"sex": ["m"]}, first.orders).values.tolist() == [[1.0]]
    with pytest.raises(ParameterError, match="not in the order"):
        contrast.QuasiIdentifiers.of({"sex": ["x"]}, first.orders)


def test_parts_keep_the_orders():
    read = contrast.QuasiIdentifiers.of({"sex": ["f", "m", "f"]}).some(np.array([True, False, False]))
    assert (len(read), read.orders["sex"]) == (1, ("f", "m"))
    secrets = contrast.Secrets.of(["flu", "cold"]).some(np.array([False, True]))
    assert (len(secrets), secrets.values) == (1, ("cold", "flu"))


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ([1.0, 2.0], "1 dimensions"),
        ({"x": [1.0, np.nan]}, "missing or infinite numbers"),
        ({"x": [1.0], "y": [1.0, 2.0]}, "different lengths"),
        ({}, "there are none"),
    ],
)
def test_other_forms_are_refused(data, complaint):
    with pytest.raises(ParameterError, match=complaint):
        contrast.QuasiIdentifiers.of(data)


def test_columns_have_names():
    assert list(columns_in(pd.DataFrame({1: [2], "a": ["b"]}))) == ["1", "a"]
