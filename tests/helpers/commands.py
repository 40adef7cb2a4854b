"""Commands of `spatialdp`, run in this process or in one of their own."""

from __future__ import annotations

import os

from click.testing import CliRunner

from spatialdp.cli import main

BOUNDS = "--bounds=0,0,1,1"
QUADTREE = ("--method", "quadtree", "--height", "3", "--epsilon", "1")


def run(*args, code=0):
    """Run a command, check its exit code, and give back what it printed."""
    result = CliRunner().invoke(main, [str(arg) for arg in args])
    assert result.exit_code == code, result.output
    return result


GOOD = {
    "points": "points.gpkg",
    "--bounds": "0,0,1,1",
    "--crs": "EPSG:4326",
    "--method": "quadtree",
    "--height": "3",
    "--epsilon": "1",
    "-o": "out.parquet",
}


def command(**changes):
    """A release that works, but for the changes; None leaves an option out."""
    named = {
        key if key == "points" else "-o" if key == "o" else f"--{key.replace('_', '-')}": changes[key]
        for key in changes
    }
    words = {**GOOD, **named}
    points = words.pop("points")
    return [
        "release",
        points,
        *(f"{k}={v}" if k.startswith("--") else f"{k}{v}" for k, v in words.items() if v is not None),
    ]


def refused(words, *, code=2):
    """What a command that fails says, after checking that it left nothing behind."""
    before = sorted(os.listdir())
    result = CliRunner().invoke(main, words)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert sorted(os.listdir()) == before
    return result.stderr
