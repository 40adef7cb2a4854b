"""What a certificate is about: files of this release and of no other, and the place that the release has."""

from __future__ import annotations

import pytest

import spatialdp as sdp
from spatialdp.errors import FileFormatError, ParameterError
from spatialdp.outputs.certificate.subject import Subject, digests
from tests.helpers.certificates import CODES, DOMAIN, RELEASES, running_release


@pytest.mark.parametrize("suffix", [".parquet", ".gpkg", ".tif", ".geojson", ".csv"])
def test_files_of_every_format_are_known_by_their_statement(suffix, tmp_path):
    release = RELEASES["grid"]()
    release.save(tmp_path / f"map{suffix}")
    ((name, digest),) = digests(release.privacy, [tmp_path / f"map{suffix}"])
    assert name == f"map{suffix}"
    assert len(digest) == 64


def test_files_of_other_releases_are_refused(tmp_path):
    sdp.Flat((2, 2)).release([], DOMAIN, epsilon=1).save(tmp_path / "other.parquet")
    with pytest.raises(ParameterError, match=r"other.parquet has another privacy statement than this release"):
        digests(RELEASES["grid"]().privacy, [tmp_path / "other.parquet"])
    (tmp_path / "text.parquet").write_text("text")
    with pytest.raises(FileFormatError):
        digests(RELEASES["grid"]().privacy, [tmp_path / "text.parquet"])
    with pytest.raises(FileNotFoundError):
        digests(RELEASES["grid"]().privacy, [tmp_path / "missing.parquet"])


def test_every_kind_of_release_has_its_place():
    assert Subject.of(RELEASES["grid"](), (), None).domain is DOMAIN
    assert Subject.of(RELEASES["table"](), (), None).domain is DOMAIN
    assert Subject.of(running_release(), (), None).domain is DOMAIN
    assert Subject.of(RELEASES["codes"](), (), None).domain is None
    frame = sdp.Frame(CODES)
    assert Subject.of(sdp.Table().release(sdp.Codes([]), frame, epsilon=1), (), None).domain is None
