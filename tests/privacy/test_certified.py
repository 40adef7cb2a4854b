"""Releases of every kind have a certificate; tests/outputs/certificate/ has the tests of the page."""

from __future__ import annotations

import pytest

from spatialdp.privacy.certified import Certified
from tests.helpers.certificates import RELEASES, running_release


@pytest.mark.parametrize("name", ["grid", "zones", "table", "running"])
def test_every_kind_of_release_has_a_certificate(name, tmp_path):
    release = running_release() if name == "running" else RELEASES[name]()
    assert isinstance(release, Certified)
    release.certificate(tmp_path / "page.html")
    release.certificate(str(tmp_path / "page.MD"))
    assert "7. To check it" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "## 7. To check it" in (tmp_path / "page.MD").read_text(encoding="utf-8")


def test_a_file_is_replaced_only_if_that_is_asked_for(tmp_path):
    release = RELEASES["grid"]()
    release.certificate(tmp_path / "page.html")
    with pytest.raises(FileExistsError):
        release.certificate(tmp_path / "page.html")
    release.certificate(tmp_path / "page.html", overwrite=True)
