"""What all tests and examples share: they repeat, bit by bit, and keep out of the user's cache.

The operating system's random bits are replaced by a stream that is seeded with the test's own
name, so that a test (or an example in a docstring) that passes today passes tomorrow. Tests about
the real bits say so with the marker `real_bits` and state how often they fail by chance.
"""

from __future__ import annotations

import os
import zlib
from unittest import mock

import hypothesis
import pytest

from spatialdp.privacy.noise import SeededNoise, SystemNoise

hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Draw the system's noise from a stream of the test's own."""
    if item.get_closest_marker("real_bits"):
        return (yield)
    stream = SeededNoise(zlib.crc32(item.nodeid.encode()))
    with mock.patch.object(SystemNoise, "random_bytes", lambda _, count: stream.random_bytes(count)):
        return (yield)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    """Strategies that tests work out do not end up in the user's cache, nor come from there."""
    with mock.patch.dict(os.environ, {"XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache"))}):
        yield
