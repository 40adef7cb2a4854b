"""How do codes of zones become a tree? By columns, one for each level, or by prefixes that are the parents' codes.

A row of the columns is a leaf. Its codes, root first, are its path; where the codes of the lower levels are missing,
the leaf lies above them. Zones of one level are numbered by their parents and then by their codes, so the order of the
rows changes no number. Codes are text: whole numbers would lose leading zeros. All of this is public, so errors quote
codes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from spatialdp._support.arrays import Array, Booleans, Integers, Objects
from spatialdp._support.checks import whole_number
from spatialdp._support.terminal import is_printable, printable
from spatialdp.errors import ParameterError
from spatialdp.trees.shape import TreeShape
from spatialdp.wording import either, parameter

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ALL_ZONES", "Hierarchy", "code_column", "hierarchy", "prefix_columns"]

ALL_ZONES = "all zones"  # the level, and the code, of a root that is added
_LONGEST_CODE = 200  # characters


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Zones and their parents.

    Attributes
    ----------
    levels : tuple of str
        Names of the depths, root first.
    shape : TreeShape
        The tree; a node is a zone.
    codes : object array
        The code of each node.
    rows : integer array
        For each leaf, in the order of the nodes, its row in the columns.
    """

    levels: tuple[str, ...]
    shape: TreeShape
    codes: Objects
    rows: Integers


def code_column(values: Any, level: str) -> pa.Array:
    """Return the codes of a level as Arrow text, null where a code is missing.

    Raises
    ------
    ParameterError
        If the codes are not text, or if one is empty, longer than 200 characters, or has characters that cannot be
        seen.

    Examples
    --------
    >>> code_column(["37", None], "state").to_pylist()
    ['37', None]
    """
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc

    series = pd.Series(values, dtype=None if hasattr(values, "dtype") else object)
    if isinstance(series.dtype, pd.CategoricalDtype):
        series = series.astype(object)
    kind = pd.api.types.infer_dtype(series, skipna=True)
    if kind not in ("string", "empty"):
        raise ParameterError(
            f"the codes of level {level!r} are {kind} values; they must be text, because a leading zero is part of a "
            f"code. Read the column as text{either('; astype(str) brings no lost zero back', '')}."
        )
    codes = pa.array(series.array, pa.large_string(), from_pandas=True)
    codes = codes.combine_chunks() if isinstance(codes, pa.ChunkedArray) else codes
    longest = pc.max(pc.utf8_length(codes)).as_py() or 0
    if longest > _LONGEST_CODE or pc.any(pc.equal(codes, "")).as_py():
        raise ParameterError(
            f"a code of level {level!r} is {'empty text' if longest <= _LONGEST_CODE else 'too long'}; a code has 1 to "
            f"{_LONGEST_CODE} characters, and is missing where there is no zone of that level. Correct the column."
        )
    if not is_printable("".join(code for code in codes.to_pylist() if code)):
        raise ParameterError(f"a code of level {level!r} has characters that cannot be seen; correct the column.")
    return codes


def prefix_columns(codes: pa.Array, prefixes: Mapping[str, int]) -> dict[str, pa.Array]:
    """Return the codes of each level, which are the first characters of the leaves' codes.

    A code that is as long as an upper level's is a leaf of that level.

    Parameters
    ----------
    codes : Arrow text
        The codes of the leaves.
    prefixes : mapping of str to int
        Number of characters of the codes of each level, root first.

    Examples
    --------
    >>> columns = prefix_columns(code_column(["37063", "11"], "county"), {"state": 2, "county": 5})
    >>> columns["state"].to_pylist(), columns["county"].to_pylist()
    (['37', '11'], ['37063', None])
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    lengths = [whole_number(length, f"prefixes[{level!r}]", 1, _LONGEST_CODE) for level, length in prefixes.items()]
    if not lengths or any(second <= first for first, second in pairwise(lengths)):
        raise ParameterError(
            f"{parameter('prefixes')} are {dict(prefixes)}; each level's codes must be longer than those of the level "
            "above, root first."
        )
    sizes = pc.utf8_length(codes)
    odd = pc.invert(pc.is_in(sizes, pa.array(lengths, sizes.type)))
    if pc.any(odd).as_py():
        code = codes.filter(odd)[0].as_py()
        raise ParameterError(
            f"code {code!r} has {len(code or '')} characters; codes have {' or '.join(map(str, lengths))}, as "
            f"{parameter('prefixes')} say. Correct the code, or the prefixes."
        )
    return {
        level: pc.if_else(pc.greater_equal(sizes, length), pc.utf8_slice_codeunits(codes, 0, length), None)
        for level, length in zip(prefixes, lengths, strict=True)
    }


def hierarchy(columns: Mapping[str, pa.Array]) -> Hierarchy:
    """Return the tree of zones whose codes are given by level, root first; a root is added if there are several.

    Raises
    ------
    ParameterError
        If a code lies under two parents, if a leaf occurs twice or also has zones below it, or if a code is missing
        although one of a lower level is there.

    Examples
    --------
    >>> states, counties = code_column(["37", "37", "11"], "state"), code_column(["37063", "37001", None], "county")
    >>> found = hierarchy({"state": states, "county": counties})
    >>> found.levels, found.codes.tolist(), found.rows.tolist()
    (('all zones', 'state', 'county'), ['all zones', '11', '37', '37001', '37063'], [2, 1, 0])
    """
    levels = _checked_levels(list(columns))
    ranks, names = zip(*(_ranked(column) for column in columns.values()), strict=True)
    paths = np.stack(ranks)  # (levels, rows); -1: missing
    if not paths.shape[1]:
        raise ParameterError("there are no zones; give at least one row.")
    _check_missing(paths, levels, names)
    order = np.lexsort(paths[::-1])
    paths = paths[:, order]
    # A row begins a node of a level if its path down to that level differs from the row's before.
    begins = np.ones(paths.shape, dtype=bool)
    begins[:, 1:] = np.logical_or.accumulate(paths[:, 1:] != paths[:, :-1], axis=0)
    depths = (paths >= 0).sum(axis=0) - 1
    _check_leaves(paths, begins, depths, levels, names)
    starts = [np.flatnonzero(new & (path >= 0)) for new, path in zip(begins, paths, strict=True)]
    starts = [start for start in starts if start.size]  # a level may have no code at all
    for level, start in enumerate(starts):
        _check_parents(level, paths, start, levels, names)
    rows = [order[start[depths[start] == level]] for level, start in enumerate(starts)]
    codes = [_names_at(names[level], paths[level][start]) for level, start in enumerate(starts)]
    kept = levels[: len(starts)]
    if starts[0].size > 1:
        kept, codes, starts = (
            (ALL_ZONES, *kept),
            [np.array([ALL_ZONES], dtype=object), *codes],
            [np.zeros(1, int), *starts],
        )
    return Hierarchy(kept, _shape(starts), np.concatenate(codes), np.concatenate(rows))


def _checked_levels(levels: Sequence[str]) -> tuple[str, ...]:
    bad = [level for level in levels if not isinstance(level, str) or not level or not is_printable(level)]
    if not levels or bad or len(set(levels)) < len(levels) or ALL_ZONES in levels:
        raise ParameterError(
            f"{parameter('levels')} are {printable(levels)}; they must be different names, root first, and none may "
            f"be {ALL_ZONES!r}."
        )
    return tuple(levels)


def _ranked(codes: pa.Array) -> tuple[Integers, pa.Array]:
    """Return the place of each code among the sorted codes, -1 for a missing one, and these sorted codes."""
    import pyarrow.compute as pc

    encoded = codes.dictionary_encode()
    order = pc.array_sort_indices(encoded.dictionary)
    rank = np.empty(len(order) + 1, dtype=np.int64)
    rank[order.to_numpy()] = np.arange(len(order))
    rank[-1] = -1
    return rank[encoded.indices.fill_null(-1).to_numpy()], encoded.dictionary.take(order)


def _names_at(names: pa.Array, ranks: Integers) -> Objects:
    import pyarrow as pa

    codes = np.empty(ranks.size, dtype=object)
    codes[:] = names.take(pa.array(ranks)).to_pylist()
    return codes


def _shape(starts: Sequence[Integers]) -> TreeShape:
    """Return the tree of nodes that begin at these rows, level by level; a node's rows are those up to the next one."""
    n_children = [
        np.bincount(np.searchsorted(above, below, side="right") - 1, minlength=above.size)
        for above, below in pairwise(starts)
    ]
    offsets = np.concatenate([[0], np.cumsum([start.size for start in starts])])
    return TreeShape(offsets, np.concatenate([*n_children, np.zeros(starts[-1].size, dtype=np.int64)]))


def _check_missing(paths: Array, levels: Sequence[str], names: Sequence[pa.Array]) -> None:
    if (paths[0] < 0).any():
        raise ParameterError(f"a zone has no code of level {levels[0]!r}; every zone needs one. Correct the column.")
    for level in range(1, len(levels)):
        skipped = np.flatnonzero((paths[level] >= 0) & (paths[level - 1] < 0))
        if skipped.size:
            code = names[level][int(paths[level][skipped[0]])].as_py()
            raise ParameterError(
                f"zone {code!r} of level {levels[level]!r} has no code of level {levels[level - 1]!r}; codes may be "
                "missing only below the lowest level that a zone belongs to. Give the code."
            )


def _check_leaves(
    paths: Array, begins: Booleans, depths: Integers, levels: Sequence[str], names: Sequence[pa.Array]
) -> None:
    """Refuse rows that are followed by one of the same zone."""
    same = np.flatnonzero(~begins[depths[:-1], np.arange(1, depths.size)])
    if not same.size:
        return
    row = same[0]
    level = depths[row]
    code = names[level][int(paths[level][row])].as_py()
    if depths[row + 1] == level:
        raise ParameterError(
            f"zone {code!r} of level {levels[level]!r} occurs more than once; give a row a zone, with its parts as "
            f"one multipolygon{either(', such as by areas.dissolve', '')}."
        )
    raise ParameterError(
        f"zone {code!r} of level {levels[level]!r} has a row of its own and zones of level {levels[level + 1]!r} "
        "below it; a zone is divided or not. Leave its row out, or those of its parts."
    )


def _check_parents(
    level: int, paths: Array, starts: Integers, levels: Sequence[str], names: Sequence[pa.Array]
) -> None:
    """Refuse a code that begins two zones of its level."""
    if starts.size == len(names[level]):
        return
    code = np.flatnonzero(np.bincount(paths[level][starts]) > 1)[0]
    first, second = starts[paths[level][starts] == code][:2]
    above = next(depth for depth in range(level) if paths[depth][first] != paths[depth][second])
    parents = [names[above][int(paths[above][row])].as_py() for row in (first, second)]
    raise ParameterError(
        f"code {names[level][int(code)].as_py()!r} of level {levels[level]!r} lies under {parents[0]!r} and under "
        f"{parents[1]!r} of level {levels[above]!r}; a zone has one parent. Use codes that begin with the parent's "
        "code, or correct the columns."
    )
