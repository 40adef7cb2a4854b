"""The README's example runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")


def test_ten_lines_work(tmp_path, monkeypatch, capsys):
    text = (Path(__file__).parent.parent / "README.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "README.md", "exec"), {})
    assert "ε = 1 (add-remove one record), quadtree" in capsys.readouterr().out
    assert (tmp_path / "chattanooga.png").exists()
    assert (tmp_path / "chattanooga.parquet").exists()
