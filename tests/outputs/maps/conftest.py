"""Pictures are drawn without a screen, and closed after each test."""

from __future__ import annotations

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")
