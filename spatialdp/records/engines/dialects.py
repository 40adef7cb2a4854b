"""How does each engine compare persons, and compute keys and cells? The expressions in which engines differ.

Persons are equal if their texts have the same bytes. Engines compare texts by collations, which may take "Ann" for
"ann", so texts are turned into bytes by a function of the engine before anything is grouped by them; integers and UUIDs
are compared as they are. The functions cannot fail, whatever a text holds. `DIALECTS` has the engines that spatialdp
knows, by the names that Ibis gives them.
"""

from __future__ import annotations

from functools import cache, reduce
from typing import Any, ClassVar

from spatialdp._support.override import override
from spatialdp.space.lattice import LATTICE, LATTICE_BITS

__all__ = ["DIALECTS", "Dialect"]

_EXACT = 2 ** (52 - LATTICE_BITS)  # cells of an axis for which doubles are exact
_DIGITS = 8  # of an md5 that make a seed
_LARGEST_CELL = 2**31  # above the number of every cell of a grid
_LARGEST_HEAP = 10**6  # values that DuckDB keeps in order for a group, and one more


class Dialect:
    """The expressions that differ between engines: what persons are grouped by, their keys, and parts of cells.

    Attributes
    ----------
    name : str
        The engine in messages.
    tested : bool
        Whether the project's tests run this engine; of the others the SQL is known, and each connection's self-test.
    """

    name: ClassVar[str]
    tested: ClassVar[bool] = True

    def within(self, values: Any, low: Any, high: Any) -> Any:
        """Return whether doubles are between two numbers, or one of them; false or missing for NaN."""
        return (values >= low) & (values <= high)

    def axis_cells(self, values: Any, inside: Any, low: Any, step: Any, count: int) -> Any:
        """Return in which cell of `count` coordinates are that are `inside`; any number for others."""
        import ibis

        # What is outside is replaced as well as filtered: engines may compute a column before they filter rows.
        distance = ibis.ifelse(inside, values, low) - low
        # Below one step the rounded quotient is below 1. It is not computed, because PostgreSQL refuses to underflow.
        line = ibis.ifelse(distance >= step, ibis.least((distance / step).floor(), LATTICE - 1), 0).cast("int64")
        return (line * count + (count - 1)) >> LATTICE_BITS

    def cells(self, columns: Any, rows: Any, shape: tuple[int, int]) -> Any:
        """Return the numbers of the cells of a grid, row by row, as whole numbers."""
        return rows * shape[0] + columns

    def identity(self, person: Any) -> Any:
        """Return what a column of persons is grouped by: bytes for texts, the values themselves for others."""
        return self._bytes(person.cast("string")) if person.type().is_string() else person

    def seed(self, salt: str, identity: Any) -> Any:
        """Return a person's seed: the first 8 hexadecimal digits of md5(salt + person), as a whole number.

        `identity` is a person as `identity` returns it.
        """
        return self._number(self._md5(salt, self._text(identity)))

    def first(self, keyed: Any, most: int) -> Any:
        """Leave the first `most` rows of each person, in the order of (key, cell)."""
        import ibis

        place = ibis.row_number().over(group_by=keyed.person, order_by=[keyed.key, keyed.cell])
        numbered = keyed.mutate(place=place)
        return numbered.filter(numbered.place < most)

    def first_records(self, keyed: Any, most: int) -> Any:
        """Return the cells of the first `most` rows of each person, in the order of (key, cell), and how many each has.

        Rows are counted by person and cell first, so that nobody's rows are many to order. A cell may come several
        times, once for each person.
        """
        import ibis

        sizes = keyed.group_by(["person", "cell", "key"]).agg(m=keyed.count())
        so_far = ibis.window(group_by=sizes.person, order_by=[sizes.key, sizes.cell], rows=(None, 0))
        running = sizes.mutate(before=sizes.m.sum().over(so_far).cast("int64") - sizes.m)
        fitting = running.filter(running.before < most)
        return fitting.select(fitting.cell, m=ibis.least(fitting.m, most - fitting.before))

    def _bytes(self, text: Any) -> Any:
        """Return the UTF-8 bytes of a text."""
        raise NotImplementedError

    def _text(self, identity: Any) -> Any:
        """Return the person's text in the form that `_md5` joins."""
        return identity.cast("string")

    def _md5(self, salt: str, person: Any) -> Any:
        """Return the 32 hexadecimal digits of the md5 of the joined parts."""
        return _function("md5", str, str)(salt + person)

    def _number(self, md5: Any) -> Any:
        """Return the number of the first 8 digits."""
        return ("0x" + _function("left", str, int, str)(md5, _DIGITS)).cast("int64")


class DuckDB(Dialect):
    """DuckDB: ``encode`` and ``decode`` are the UTF-8 bytes of a text and back.

    From the range of the coordinates DuckDB (2 and later) reckons that of each expression, and what it knows to be in a
    short range it counts in an array, which takes a fifth of the time. It knows no range after a shift, so cells are
    computed in doubles; these are exact, because every number before a rounding is below 2^53.

    The statistics of Parquet leave NaN out, and DuckDB drops comparisons that hold from the least to the largest value,
    after which every NaN would pass. What ``isfinite`` says it does not guess.
    """

    name = "DuckDB"

    @override
    def within(self, values: Any, low: Any, high: Any) -> Any:
        return _function("isfinite", float, bool)(values) & super().within(values, low, high)

    @override
    def axis_cells(self, values: Any, inside: Any, low: Any, step: Any, count: int) -> Any:
        import ibis

        if count > _EXACT:
            return super().axis_cells(values, inside, low, step, count)
        floor = _function("floor", float, float)  # that of Ibis makes integers
        line = floor((values - low) / step)
        cell = floor((line * count + (count - 1)) * 2.0**-LATTICE_BITS)
        return ibis.least(cell, count - 1)  # the far bound belongs to the last cell; NaN is above all numbers

    @override
    def cells(self, columns: Any, rows: Any, shape: tuple[int, int]) -> Any:
        import ibis

        # What lies outside is filtered; should it be computed before that, no number is too small for the cast.
        number = ibis.greatest(super().cells(columns, rows, shape), 0)
        return number.cast("int32" if shape[0] * shape[1] < 2**31 else "int64")

    @override
    def _bytes(self, text: Any) -> Any:
        return _function("encode", str, bytes)(text)

    @override
    def _text(self, identity: Any) -> Any:
        return _function("decode", bytes, str)(identity) if identity.type().is_binary() else identity.cast("string")

    @override
    def first(self, keyed: Any, most: int) -> Any:
        """Take the least values of each person, which takes half the time of numbering them.

        Key and cell are one number. DuckDB makes room for `most` values of each person beforehand, so persons must
        have more cells than that.
        """
        if most >= _LARGEST_HEAP:
            return super().first(keyed, most)
        packed = keyed.mutate(packed=keyed.key * _LARGEST_CELL + keyed.cell)
        chosen = packed.group_by("person").agg(packed=_least()(packed.packed, most))
        rows = chosen.select(chosen.person, packed=chosen.packed.unnest())
        return rows.mutate(cell=(rows.packed % _LARGEST_CELL).cast(keyed.cell.type()))

    @override
    def first_records(self, keyed: Any, most: int) -> Any:
        """Take the least values of all rows, which takes less time than to count them by person and cell."""
        import ibis

        if most >= _LARGEST_HEAP:
            return super().first_records(keyed, most)
        rows = self.first(keyed, most)
        return rows.select(rows.cell, m=ibis.literal(1, "int64"))


class PostgreSQL(Dialect):
    """PostgreSQL: bytes have no collation; a database in UTF-8 hands out a text's bytes as they are.

    A digest has no number in PostgreSQL, so the seed is put together from its bytes.
    """

    name = "PostgreSQL"

    @override
    def _bytes(self, text: Any) -> Any:
        import ibis

        return _function("convert_to", str, str, bytes)(text, ibis.literal("UTF8"))

    @override
    def _text(self, identity: Any) -> Any:
        return identity if identity.type().is_binary() else self._bytes(identity.cast("string"))

    @override
    def _md5(self, salt: str, person: Any) -> Any:
        import ibis

        join = _function("byteacat", bytes, bytes, bytes)
        return _function("md5", bytes, str)(join(self._bytes(ibis.literal(salt)), person))

    @override
    def _number(self, md5: Any) -> Any:
        import ibis

        digest = _function("decode", str, str, bytes)(md5, ibis.literal("hex"))
        octet = _function("get_byte", bytes, int, "int32")
        first, *others = (octet(digest, place).cast("int64") for place in range(_DIGITS // 2))
        return reduce(lambda number, each: number * 256 + each, others, first)


class Spark(Dialect):
    """Spark: a cast to binary gives the UTF-8 bytes of a text, and a cast back the text, in the default collation."""

    name = "Spark"

    @override
    def _bytes(self, text: Any) -> Any:
        return text.cast("binary")

    @override
    def _number(self, md5: Any) -> Any:
        digits = _function("left", str, int, str)(md5, _DIGITS)
        return _function("conv", str, int, int, str)(digits, 16, 10).cast("int64")


class BigQuery(Dialect):
    """BigQuery, untested: md5 gives bytes."""

    name, tested = "BigQuery", False

    @override
    def _bytes(self, text: Any) -> Any:
        return text.cast("binary")

    @override
    def _md5(self, salt: str, person: Any) -> Any:
        return _function("to_hex", bytes, str)(_function("md5", str, bytes)(salt + person))


class Snowflake(Dialect):
    """Snowflake, untested: a collation is taken off by COLLATE with an empty name, which compares bytes."""

    name, tested = "Snowflake", False

    @override
    def _bytes(self, text: Any) -> Any:
        import ibis

        return _function("collate", str, str, str)(text, ibis.literal(""))

    @override
    def _number(self, md5: Any) -> Any:
        digits = _function("left", str, int, str)(md5, _DIGITS)
        return _function("to_number", str, str, int)(digits, "X" * _DIGITS).cast("int64")


DIALECTS: dict[str, Dialect] = {
    "duckdb": DuckDB(),
    "postgres": PostgreSQL(),
    "pyspark": Spark(),
    "bigquery": BigQuery(),
    "snowflake": Snowflake(),
}


@cache
def _function(name: str, *types: type | str) -> Any:
    """Return a function that the engine has, for use in expressions; the last type is that of its result."""
    import ibis

    *arguments, result = types
    return ibis.udf.scalar.builtin(_STUBS[len(arguments)], name=name, signature=(tuple(arguments), result))


@cache
def _least() -> Any:
    """Return the aggregate of DuckDB that lists the n least values of a column."""
    import ibis

    return ibis.udf.agg.builtin(_STUBS[2], name="min", signature=((int, int), list[int]))


_STUBS = {  # Ibis counts the parameters
    1: lambda value: value,
    2: lambda first, second: (first, second),
    3: lambda first, second, third: (first, second, third),
}
