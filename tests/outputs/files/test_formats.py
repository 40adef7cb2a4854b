"""Formats by the ending of a name: every one can be written, and the table costs no import."""

from __future__ import annotations

import subprocess
import sys

import pytest

import spatialdp as sdp
from spatialdp.outputs.files import formats
from spatialdp.outputs.files.formats import FORMATS

RELEASE = sdp.Flat((4, 3)).release([], sdp.Domain((0, 0, 4, 3), crs="EPSG:4326"), epsilon=1)


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("upper", [False, True], ids=["lower", "upper"])
def test_every_ending_can_be_written_in_either_case(suffix, upper, tmp_path):
    path = tmp_path / f"map{suffix.upper() if upper else suffix}"
    RELEASE.save(path)
    assert path.stat().st_size > 100
    others = {"map.privacy.json"} if FORMATS[suffix] == "CSV" else set()
    assert {each.name for each in tmp_path.iterdir()} == {path.name} | others


def test_endings_are_small_letters_behind_a_dot():
    assert all(suffix.startswith(".") and suffix == suffix.lower() for suffix in FORMATS)
    assert FORMATS[".parquet"] == "GeoParquet"  # what `load` reads


def test_the_table_needs_nothing():
    """Help texts show it before anything heavy is imported."""
    code = "import sys; before = set(sys.modules); exec(open(sys.argv[1]).read()); print(set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code, formats.__file__], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
