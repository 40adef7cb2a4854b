"""The README's examples run one after the other, in one folder, as they are printed."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import matplotlib as mpl
import pytest
from click.testing import CliRunner

from spatialdp.cli import main

mpl.use("Agg")

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FOR_PEOPLE = {"make", "pip", "python3", "."}  # these build and install, and are not run here


def run_page(text: str) -> str:
    """Run every block in the order of the page; return what was printed by commands."""
    printed = []
    for language, body in FENCE.findall(text):
        if language == "python":
            exec(compile(body, "README.md", "exec"), {})
            continue
        assert language == "sh"
        for line in body.replace("\\\n", " ").splitlines():
            name, *words = shlex.split(line, comments=True)
            if name in FOR_PEOPLE:
                continue
            assert name == "spatialdp", line
            result = CliRunner().invoke(main, words)
            assert result.exit_code == 0, f"{line}\n{result.output}"
            printed.append(result.stdout)
    return "".join(printed)


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A folder like a clone, in which the README's reader works."""
    (tmp_path / "datasets").symlink_to(ROOT / "datasets")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_all_examples_work_in_one_folder_in_their_order(clone, capsys):
    told = run_page(README)
    assert "ε = 1 (add-remove one record), adaptive" in capsys.readouterr().out
    assert "ε = 1 (add-remove one record), adaptive" in told
    for name in (
        "chattanooga.png",
        "chattanooga.parquet",
        "county.parquet",
        "county.gpkg",
        "county.png",
        "county.html",
    ):
        assert (clone / name).exists()


@pytest.mark.usefixtures("clone")
def test_examples_that_write_the_same_file_are_found():
    clashing = README.replace("-o county.parquet", "-o chattanooga.parquet")
    with pytest.raises(AssertionError, match="exists"):
        run_page(clashing)


def test_the_readme_says_how_to_install():
    assert "pip install ." in README
    assert "pip wheel" in README
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = set(re.findall(r"`(\w+)`", README)) | set(",".join(re.findall(r"'\.\[([\w,]+)\]'", README)).split(","))
    assert set(extras) <= named
