"""A bar is shown on terminals only, and never changes what is gone through."""

from __future__ import annotations

import io
import sys

from spatialdp._support.progress import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_steps_come_one_by_one_in_their_order(capsys):
    steps = progress([3, 1, 2], "counting")
    assert next(steps) == 3
    assert list(steps) == [1, 2]
    assert capsys.readouterr() == ("", "")


def test_short_work_shows_no_bar_even_on_a_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert list(progress(range(100), "counting")) == list(range(100))
    assert sys.stderr.getvalue() == ""


def test_long_work_shows_its_label_on_a_terminal(monkeypatch):
    """The clock jumps by an hour with every look at it."""
    hours = iter(range(0, 10**9, 3600))
    monkeypatch.setattr("tqdm.std.time", lambda: next(hours))
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert list(progress(range(5), "counting")) == list(range(5))
    assert "counting" in sys.stderr.getvalue()
