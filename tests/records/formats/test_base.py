"""What all formats share: sources, checks of names and declared types, and errors that carry nothing along."""

from __future__ import annotations

import io
import warnings

import numpy as np
import pytest

from spatialdp.errors import CRSMismatchError, PointsError
from spatialdp.records.formats.base import (
    Selection,
    Source,
    check_names,
    forgetful,
    quietly,
    without_columns,
    without_layers,
)

FILE = Source("homes.csv", ".csv")


def test_a_source_is_a_path_or_a_stream(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"abc")
    stream = io.BytesIO(b"abc")
    for source in (Source("a", ".csv", path=path), Source("a", ".csv", stream=stream)):
        assert source.bytes().tobytes() == b"abc"
    assert not stream.closed
    with Source("a", ".csv", path=path).opened() as file:
        assert file.read() == b"abc"
    assert file.closed
    with pytest.raises(PointsError, match="a is empty"):
        Source("a", ".csv", stream=io.BytesIO()).bytes()


def test_names_must_be_there_once():
    check_names(FILE, ["a", "b"], ["a"])
    with pytest.raises(PointsError, match=r"homes.csv has no column 'c'; its columns are a, b"):
        check_names(FILE, ["a", "b"], ["c"])
    with pytest.raises(PointsError, match="more than one column 'a'"):
        check_names(FILE, ["a", "a"], ["a"])
    with pytest.raises(PointsError, match="none but the geometry; leave x and y out"):
        check_names(FILE, [], ["a"])


def test_what_a_format_does_not_have_is_refused_by_name():
    for selection in (Selection("a", "b"), Selection(geometry="g")):
        with pytest.raises(PointsError, match=r"homes.csv is GeoJSON.*leave x, y and geometry out"):
            without_columns(FILE, selection, "GeoJSON")
    with pytest.raises(PointsError, match="leave layer out"):
        without_layers(FILE, Selection(layer="homes"))
    without_columns(FILE, Selection(), "GeoJSON")
    without_layers(FILE, Selection())
    assert Selection("a").columns is None


def failing(error):
    secret = "0.73519284"  # noqa: F841 - a variable of a frame that must not be kept
    try:
        raise RuntimeError("0.73519284")
    except RuntimeError:
        raise error  # noqa: B904 - the point of the test


@pytest.mark.parametrize(
    "raised", [KeyError("0.73519284"), PointsError("ours"), CRSMismatchError("ours"), MemoryError("7351")]
)
def test_errors_carry_neither_others_nor_their_variables(raised):
    with pytest.raises((PointsError, CRSMismatchError, MemoryError)) as caught:
        quietly(lambda: failing(raised), FILE)
    error = caught.value
    assert error.__context__ is None
    assert error.__cause__ is None
    assert "7351" not in str(error)
    assert str(error) == "ours" or "homes.csv cannot be read as csv" in str(error) or isinstance(error, MemoryError)
    trace = error.__traceback__
    while trace is not None:
        assert trace.tb_frame.f_code.co_name != "failing"
        trace = trace.tb_next


def test_warnings_are_not_shown_and_results_are_returned():
    def read():
        warnings.warn("0.73519284", stacklevel=1)
        return np.arange(3)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert quietly(read, FILE).sum() == 3


@pytest.mark.parametrize("raised", [KeyError("x"), PointsError("ours"), MemoryError("much"), KeyboardInterrupt()])
def test_errors_of_forgetful_functions_hold_no_variables(raised):
    @forgetful
    def read(records, *, more):
        """Read."""
        held = [records, more]
        return held if raised is None else failing(raised)

    with pytest.raises(type(raised)) as caught:
        read([0.73519284], more=[0.73519284])
    trace = caught.value.__traceback__.tb_next
    assert "7351" not in repr(trace.tb_frame.f_locals)
    assert trace.tb_next is None
    assert caught.value.__context__ is None
    assert (read.__name__, read.__doc__) == ("read", "Read.")
