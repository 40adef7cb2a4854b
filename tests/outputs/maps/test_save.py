"""Pictures as files: the same bytes for the same release."""

from __future__ import annotations

import io

import numpy as np
import pytest

from spatialdp.outputs.maps.save import save_figure
from tests.helpers.releases import REGION as PENTAGON
from tests.helpers.releases import release_of


@pytest.mark.parametrize("name", ["flat", "kd"])
@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_files_are_the_same_for_the_same_release(name, suffix, tmp_path):
    release = release_of(name, PENTAGON)
    for copy in ("a", "b"):
        save_figure(release.plot().figure, tmp_path / f"{copy}{suffix}", dpi=60)
    held = (tmp_path / f"a{suffix}").read_bytes()
    assert held == (tmp_path / f"b{suffix}").read_bytes()
    assert held.startswith(b"<?xml" if suffix == ".svg" else b"\x89PNG")


def test_pictures_have_the_size_that_was_asked_for(tmp_path):
    from PIL import Image

    figure = release_of("flat").plot().figure
    figure.get_layout_engine().execute(figure)
    figure.set_layout_engine("none")  # places are settled
    for dpi in (37, 100, 210):
        save_figure(figure, tmp_path / "map.png", dpi=dpi)
        plain = io.BytesIO()
        figure.savefig(plain, dpi=dpi)
        one, two = Image.open(tmp_path / "map.png").convert("RGB"), Image.open(plain).convert("RGB")
        assert one.size == two.size
        assert np.abs(np.asarray(one).astype(int) - np.asarray(two)).max() < 24  # of 255: a palette's rounding


def test_a_failed_picture_leaves_the_old_file_and_the_layout(tmp_path, monkeypatch):
    figure = release_of("flat").plot().figure
    engine, path = figure.get_layout_engine(), tmp_path / "map.png"
    path.write_bytes(b"old")
    with pytest.raises(FileExistsError):
        save_figure(figure, path, overwrite=False)
    monkeypatch.setattr(figure, "savefig", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save_figure(figure, path)
    assert path.read_bytes() == b"old"
    assert figure.get_layout_engine() is engine
