"""The README's example runs as it stands."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import matplotlib as mpl
from click.testing import CliRunner

from spatialdp.cli import main

mpl.use("Agg")


def test_ten_lines_work(tmp_path, monkeypatch, capsys):
    text = (Path(__file__).parents[2] / "README.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "README.md", "exec"), {})
    assert "ε = 1 (add-remove one record), quadtree" in capsys.readouterr().out
    assert (tmp_path / "chattanooga.png").exists()
    assert (tmp_path / "chattanooga.parquet").exists()


def test_command_line_examples_work(tmp_path, monkeypatch):
    here = Path(__file__).parents[2]
    (example,) = re.findall(r"```sh\n(spatialdp.*?)```", (here / "README.md").read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    os.symlink(here / "datasets", tmp_path / "datasets")
    for line in example.replace("\\\n", " ").splitlines():
        name, *words = shlex.split(line)
        result = CliRunner().invoke(main, words)
        assert name == "spatialdp"
        assert result.exit_code == 0, result.output
    assert (tmp_path / "chattanooga.png").exists()
