"""The engines that tests of tables run on; all but DuckDB are started once, when a test first asks for them."""

from __future__ import annotations

import pytest

from tests.helpers.engines import ALL, DuckDB, PostgreSQL, Spark, postgresql_server, spark_session


@pytest.fixture(scope="session")
def postgresql_place():
    """Where a temporary PostgreSQL with PostGIS listens."""
    with postgresql_server() as place:
        server = PostgreSQL(place)
        for extension in ("postgis", "citext"):
            server.run(f"CREATE EXTENSION {extension}")
        server.backend.disconnect()
        yield place


@pytest.fixture(scope="session")
def spark():
    with spark_session() as (session, folder):
        yield Spark(session, folder)


@pytest.fixture
def postgresql(postgresql_place):
    engine = PostgreSQL(postgresql_place)
    yield engine
    engine.backend.disconnect()


@pytest.fixture
def duckdb():
    engine = DuckDB()
    yield engine
    engine.backend.disconnect()


@pytest.fixture(params=ALL)
def engine(request):
    """Each engine in turn."""
    return request.getfixturevalue(request.param)
