"""Did a change of the code alter any release? Print a SHA-256 of everything that seeded releases contain.

After a change that must not alter releases (files moved, code rewritten), every line is the same as before:

    python -m scripts.fingerprint > out/fingerprint.txt && diff scripts/fingerprint.txt out/fingerprint.txt

Each line is a mechanism of tests/helpers/cases.py on one domain, with one neighbour relation. It has a digest of each
saved file, of the answers and intervals of boxes and polygons, and of the numbers in the explorer's page; the words of
the page are left out, so that they can be improved. The last line is an evaluation. Files and last digits depend on the
versions of libraries, which the first line names: compare only outputs of the same machine.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")  # one thread adds up numbers in a fixed order
os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp()

import numpy as np
import pyarrow
import scipy
import shapely

import spatialdp as sdp
from tests.helpers.cases import SETTINGS, Setting

_WORDS = ("unit", "biasedReason")  # members of the page's data that people read
_SUFFIXES = (".parquet", ".gpkg", ".geojson", ".csv", ".tif")


def main() -> None:
    """Print the fingerprint."""
    print(f"numpy {np.__version__}, scipy {scipy.__version__}, pyarrow {pyarrow.__version__}")
    for number, setting in enumerate(SETTINGS):
        digests = " ".join(f"{name} {_sha(content)}" for name, content in _contents(setting, number))
        print(f"{setting}: {digests}", flush=True)
    print(f"evaluation: {_sha(_evaluation())}")


def _contents(setting: Setting, seed: int) -> Iterator[tuple[str, bytes]]:
    terms: dict[str, Any] = setting.terms
    release = setting.mechanism.release(_points(setting), setting.domain, noise=sdp.SeededNoise(seed), **terms)
    boxes, polygons = _queries(setting)
    yield "answers", release.answer(boxes).tobytes() + release.answer_polygons(polygons).tobytes()
    if not release.estimate.biased:
        yield "intervals", release.interval(boxes).tobytes() + release.interval_polygons(polygons, 0.8).tobytes()
    with tempfile.TemporaryDirectory() as folder:
        for suffix in _SUFFIXES:
            if suffix != ".geojson" or setting.domain.crs is not None:
                yield suffix[1:], _saved(release, Path(folder) / f"release{suffix}")
        release.explore(Path(folder) / "page.html")
        yield "page", _page_numbers((Path(folder) / "page.html").read_text(encoding="utf-8"))


def _points(setting: Setting) -> Any:
    """Return a cluster and scattered records, some of them outside the domain."""
    random = np.random.default_rng(13)
    xmin, ymin, xmax, ymax = setting.domain.bounds
    shares = np.concatenate([random.normal(0.85, 0.05, (60, 2)), random.uniform(-0.1, 1.1, (60, 2))])
    return np.array([xmin, ymin]) + shares * [xmax - xmin, ymax - ymin]


def _queries(setting: Setting) -> tuple[Any, Any]:
    random = np.random.default_rng(14)
    xmin, ymin, xmax, ymax = setting.domain.bounds
    corners = np.sort(random.uniform(0, 1, (20, 2, 2)), axis=1).reshape(20, 4)
    boxes = np.array([xmin, ymin] * 2) + np.vstack([corners, [0, 0, 1, 1]]) * ([xmax - xmin, ymax - ymin] * 2)
    centres = shapely.points((boxes[:5, :2] + boxes[:5, 2:]) / 2)
    return boxes, shapely.buffer(centres, (xmax - xmin) / 5, quad_segs=3)


def _saved(release: sdp.Release, path: Path) -> bytes:
    tree = path.suffix == ".tif" and release.estimate.kind == "tree"
    release.save(path, shape=(6, 5) if tree else None)
    return b"".join(file.read_bytes() for file in sorted(path.parent.glob(f"{path.stem}*")) if _belongs(file, path))


def _belongs(file: Path, path: Path) -> bool:
    """Whether a file is part of a saved release: a CSV file has its privacy statement beside it."""
    return file == path or (path.suffix == ".csv" and file.name.endswith(".privacy.json"))


def _page_numbers(page: str) -> bytes:
    match = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert match is not None
    data = json.loads(match[1])
    return json.dumps({name: value for name, value in data.items() if name not in _WORDS}, sort_keys=True).encode()


def _evaluation() -> bytes:
    domain, points = sdp.Domain((0, 0, 1, 1)), np.random.default_rng(15).normal(0.5, 0.1, (500, 2))
    mechanisms = [sdp.Flat((16, 16)), sdp.Quadtree(4), sdp.KdTree(4), sdp.Fourier((16, 16))]
    work = sdp.workload.random_boxes(domain, 50, seed=2)
    frame = sdp.evaluate(mechanisms, points, domain, work, [0.5, 1], 3, seed=4)
    results = frame[[name for name in frame.columns if not re.search("second|memory|bytes", name)]]
    return bytes(results.to_csv(index=False).encode())


def _sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


if __name__ == "__main__":
    main()
