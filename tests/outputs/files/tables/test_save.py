"""A table is written whole or not at all."""

from __future__ import annotations

import pytest

import spatialdp as sdp
from spatialdp.errors import ParameterError
from spatialdp.outputs.files.save import save
from spatialdp.outputs.files.tables.save import row_file


def release_of():
    frame = sdp.Frame(sdp.Domain((0, 0, 2, 1)).grid((2, 1)), kind=sdp.Categories(["a", 'b"b']))
    return sdp.Table().release(sdp.Rows([], kind=[]), frame, epsilon=1)


def test_csv_quotes_what_must_be_quoted():
    assert b'"b""b"' in row_file(release_of()).content()


def test_a_file_is_kept_unless_it_may_be_replaced(tmp_path):
    path = tmp_path / "table.csv"
    save(release_of(), path, overwrite=False)
    with pytest.raises(FileExistsError):
        save(release_of(), path, overwrite=False)
    save(release_of(), path, overwrite=True)
    with pytest.raises(ParameterError, match="one map"):
        save(release_of(), tmp_path / "table.parquet", overwrite=False, shape=(2, 2))
