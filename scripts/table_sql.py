"""Which SQL do engines run for a release from a table? Print it, compiled from the expressions that count records.

    python -m scripts.table_sql snowflake              # counts of cells
    python -m scripts.table_sql bigquery --person      # counts of persons, each in at most 20 cells
    python -m scripts.table_sql --page > docs/tables-sql.md

No engine is needed; SQL for Spark needs pyspark, but no session.
"""

from __future__ import annotations

import argparse

import spatialdp as sdp
from spatialdp.records.engines.bounding import bounded_counts
from spatialdp.records.engines.cells import cells_of_table, counts_of
from spatialdp.records.engines.dialects import DIALECTS
from spatialdp.records.engines.schema import Columns, located

DOMAIN = sdp.Domain((-125, 24, -66, 50))
GRID = DOMAIN.grid((1024, 1024))
PERSON = sdp.Person(cells=20)
HEAD = """# The SQL of tables

`python -m scripts.table_sql --page` wrote this page from the expressions that count records; a test
compares them. The table `visits` has the columns lon, lat and user_id, the domain is (-125, 24, -66,
50), and there are 1024 × 1024 cells. [Tables in databases](tables.md) says what was run and what
was not.
"""
SECTIONS = {
    "BigQuery: counts of cells": ("bigquery", None),
    "Spark: persons, each in at most 20 cells": ("pyspark", PERSON),
    "Snowflake: persons, each in at most 20 cells": ("snowflake", PERSON),
}


def sql(engine: str, person: sdp.Person | None = None) -> str:
    """Return the query that counts a table ``visits`` with the columns lon, lat and user_id."""
    import ibis

    if engine == "pyspark":
        assert ibis.pyspark  # loads options that the compiler for Spark reads
    dialect = DIALECTS[engine]
    table = ibis.table({"lon": "float64", "lat": "float64", "user_id": "string"}, name="visits")
    columns = Columns("lon", "lat", None, None if person is None else "user_id")
    cells = cells_of_table(located(table, columns, dialect), GRID, dialect)
    answer = counts_of(cells) if person is None else bounded_counts(cells, person, dialect)
    return str(ibis.to_sql(answer, dialect=engine))


def section(title: str) -> str:
    """Return a section of the page."""
    return f"\n## {title}\n\n```text\n{sql(*SECTIONS[title])}\n```\n"


def main() -> None:
    """Print the SQL of one engine, or the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("engine", nargs="?", choices=tuple(DIALECTS))
    parser.add_argument("--person", action="store_true", help="bound what a person contributes to 20 cells")
    parser.add_argument("--page", action="store_true", help="print the page of the documentation")
    options = parser.parse_args()
    if options.page:
        print(HEAD + "".join(map(section, SECTIONS)), end="")
    else:
        print(sql(options.engine or "duckdb", PERSON if options.person else None))


if __name__ == "__main__":
    main()
