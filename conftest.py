"""What all tests and examples share: they repeat, bit by bit, and keep out of the user's cache.

The operating system's random bits are replaced by a stream that is seeded with the test's own
name, so that a test (or an example in a docstring) that passes today passes tomorrow. Tests about
the real bits say so with the marker `real_bits` and state how often they fail by chance.
"""

from __future__ import annotations

import gc
import os
import sys
import zlib
from functools import cache
from pathlib import Path
from unittest import mock

import hypothesis
import pytest

from spatialdp.privacy.noise import source
from spatialdp.privacy.noise.source import SeededNoise

TESTS = Path(__file__).parent / "tests"
# Folders of tests that do the same with every mechanism, format or page, or run what the documentation shows.
REPEATING = frozenset(TESTS / name for name in ("audit", "attacks", "contract", "browser", "repository"))
REPEATING |= {TESTS / "space" / "test_polygons.py", TESTS / "estimates" / "test_sampling.py"}
# The package that must be run to the last line: even properties with made-up examples are measured.
MEASURED = frozenset({TESTS / "privacy"})

hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session):
    """Let a worker process measure coverage once, so that tests marked `unmeasured` can pause it.

    pytest-cov begins in every worker as if it were the main process, and then once more as a worker. What the first one
    measures is never read, but it goes on whenever the second one pauses.
    """
    controller = getattr(session.config.pluginmanager.getplugin("_cov"), "cov_controller", None)
    if controller is not None and hasattr(session.config, "workerinput"):
        controller.cov.stop()


def pytest_collection_finish():
    """Let the garbage collector pass over modules and tests, which stay to the end: it would go through them often."""
    gc.freeze()


def pytest_unconfigure():
    """Let the collector see everything again: libraries look for what is left over when Python ends."""
    gc.unfreeze()


def pytest_collection_modifyitems(items):
    """Leave tests that run the same lines again and again out of the measure of coverage, which slows them down most.

    What they are about has tests of its own, which say what must come out; so coverage does not rest on luck. The same
    holds for properties with made-up examples, except in `tests/privacy`, whose package must be run to the last line.
    Other long tests that run nothing new are marked `unmeasured` where they stand.
    """
    for item in items:
        if (
            item.get_closest_marker("statistical")
            or _is_in(item.path, REPEATING)
            or (_has_many_examples(item) and not _is_in(item.path, MEASURED))
        ):
            item.add_marker("unmeasured")


@cache
def _is_in(path, places):
    """Whether a file is one of these places or in one of them."""
    return not places.isdisjoint({path, *path.parents})


def _has_many_examples(item):
    """Whether hypothesis makes up the examples of a test."""
    return getattr(getattr(item, "obj", None), "is_hypothesis_test", False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Pause the measure of coverage for tests that are not measured: once for a row of them, which saves time."""
    controller = getattr(item.config.pluginmanager.getplugin("_cov"), "cov_controller", None)
    measured = not item.get_closest_marker("unmeasured")
    if controller is not None and controller.started != measured:
        (controller.resume if measured else controller.pause)()
    return (yield)


def pytest_runtest_teardown(item, nextitem):
    """Close figures, and forget the tables of noise before a test that is measured again.

    Kept from a test that is not, they would hide the lines that make them: the figure would depend on which test came
    first.
    """
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
    measured = nextitem is not None and not nextitem.get_closest_marker("unmeasured")
    if not (measured and item.get_closest_marker("unmeasured")):
        return
    for name in [name for name in sys.modules if name.startswith("spatialdp.privacy.")]:
        for value in list(vars(sys.modules[name]).values()):
            if hasattr(value, "cache_clear"):
                value.cache_clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Draw the system's noise from a stream of the test's own."""
    if item.get_closest_marker("real_bits"):
        return (yield)
    stream = SeededNoise(zlib.crc32(item.nodeid.encode()))
    with mock.patch.object(source, "_system_bytes", stream.random_bytes):
        return (yield)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    """Strategies that tests work out do not end up in the user's cache, nor come from there."""
    with mock.patch.dict(os.environ, {"XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache"))}):
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_waiting_for_disks():
    """Files of tests need not outlast a power cut; tests about that have processes or an `fsync` of their own."""
    with mock.patch.object(os, "fsync", return_value=None):
        yield
