"""A release in a file, for tests of files."""

from __future__ import annotations

import pytest

from tests.helpers.release_files import make


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "release.parquet"
    make().save(path)
    return path
