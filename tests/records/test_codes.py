import random
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import spatialdp as sdp
from spatialdp.errors import PointsError
from spatialdp.records.codes import Codes, codes_of, read_codes
from spatialdp.records.zones import count_zones
from tests.attacks.records import raw_text, text
from tests.helpers.zones import squares

ZONES = sdp.Zones(squares("01", "02", "NA"), ["zone"])
GOOD = ["01", "02", "02", "NA", "01"]


def counted(codes, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return count_zones(codes if isinstance(codes, Codes) else Codes(codes, **options), ZONES).tolist()


@pytest.mark.parametrize(
    "make",
    [
        list,
        tuple,
        np.array,
        lambda codes: np.array(codes, dtype=object),
        pd.Series,
        pd.Index,
        lambda codes: pd.Series(codes, dtype=object),
        lambda codes: pd.Series(codes, dtype="category"),
        lambda codes: pd.Series(codes, dtype="string"),
        pa.array,
        lambda codes: pa.chunked_array([codes[:2], codes[2:]]),
        lambda codes: pa.array(codes).dictionary_encode(),
    ],
)
def test_codes_in_every_form_give_the_same_counts(make):
    assert counted(make(GOOD)) == [2, 2, 1]


@pytest.mark.parametrize("dtype", [str, object])
def test_masked_codes_count_nowhere(dtype):
    masked = np.ma.array([*GOOD, GOOD[0]], mask=[False] * len(GOOD) + [True], dtype=dtype)
    assert counted(masked) == [2, 2, 1]


ODD = [
    None,
    "",
    "1",
    " 01",
    "01 ",
    "O1",
    "all zones",
    1,
    1.0,
    float("nan"),
    b"01",
    ["01"],
    {"01"},
    "\ud800",
    "0" * 10**5,
]
ODD += [True, np.datetime64("2020"), complex(1), object(), pd.NA, pd.NaT, "\x00", 10**40]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: ascii(odd)[:20])
@pytest.mark.parametrize("make", [list, lambda codes: pd.Series(codes, dtype=object), lambda codes: objects(codes)])
def test_a_record_that_is_no_code_changes_nothing(make, odd):
    assert counted(make([*GOOD[:2], odd, *GOOD[2:]])) == [2, 2, 1]


def objects(codes):
    array = np.empty(len(codes), dtype=object)
    array[:] = codes
    return array


@pytest.mark.parametrize("values", [np.array([1, 2]), np.array([1.5]), pa.array([1]), np.array([["01"]]), 5, {"a"}])
def test_a_declared_type_that_is_not_text_is_refused(values):
    with pytest.raises(PointsError, match="codes are of type"):
        Codes(values)


def test_numbers_that_pandas_has_chosen_count_nowhere():
    """Pandas makes numbers of a column for want of one record that is text; an error would tell of that record."""
    assert counted(pd.Series([1, 2])) == [0, 0, 0]
    assert counted(pd.Series([], dtype=float)) == [0, 0, 0]


def test_nothing_is_shown():
    assert repr(Codes(GOOD)) == "Codes(<private>)"
    assert repr(Codes(GOOD, person=GOOD)) == "Codes(<private>, person=<private>)"
    with pytest.raises(PointsError, match="different lengths"):
        Codes(GOOD, person=[1])


def test_codes_of_nothing_are_text():
    assert codes_of([]).type == pa.large_string()


# --- files -----------------------------------------------------------------------------------------


def csv(path, cells):
    path.write_bytes(b"zone,more\n" + b"".join(b'"' + cell.replace(b'"', b'""') + b'",x\n' for cell in cells))


def parquet(path, cells):
    pq.write_table(pa.table({"zone": pa.array(cells, pa.binary()), "more": ["x"] * len(cells)}), path)


@pytest.mark.parametrize(("name", "write"), [("codes.csv", csv), ("codes.parquet", parquet)])
def test_hostile_records_in_files_change_nothing_else(tmp_path, capfd, name, write):
    path = tmp_path / name
    for seed in range(150):
        chance = random.Random(seed)
        good = [code.encode() for code in GOOD]
        good.insert(chance.randrange(len(good) + 1), raw_text(chance))
        write(path, good)
        assert counted(read_codes(path, "zone")) == [2, 2, 1]
    assert tuple(capfd.readouterr()) == ("", "")


@pytest.mark.parametrize("options", [{}, {"use_dictionary": False}])
def test_hostile_text_in_dictionaries(tmp_path, options):
    for seed in range(30):
        texts = [*GOOD, text(random.Random(seed)), None]
        table = pa.table({"zone": pa.array(texts).dictionary_encode()})
        pq.write_table(table, tmp_path / "codes.parquet", **options)
        assert counted(read_codes(tmp_path / "codes.parquet", "zone")) == [2, 2, 1]


def test_text_in_files_stays_text(tmp_path):
    (tmp_path / "codes.csv").write_text("zone\n01\n1\n01.0\nNA\nnull\n\n02\n")
    assert counted(read_codes(tmp_path / "codes.csv", "zone")) == [1, 1, 1]
    (tmp_path / "codes.tsv").write_text("zone\tx\n01\t1\n")
    assert counted(read_codes([tmp_path / "codes.csv", tmp_path / "codes.tsv"], "zone")) == [2, 1, 1]


def test_what_is_asked_of_the_structure_of_files(tmp_path):
    csv(tmp_path / "codes.csv", [b"01"])
    pq.write_table(pa.table({"zone": [1]}), tmp_path / "numbers.parquet")
    (tmp_path / "points.geojson").write_text("{}")
    for path, column, words in [
        ("codes.csv", "county", "no column 'county'"),
        ("numbers.parquet", "zone", "is of type int64; codes must be text"),
        ("numbers.parquet", "county", "no column 'county'"),
        ("points.geojson", "zone", "is a file of points"),
        ("none.csv", "zone", "cannot be opened"),
        ("codes.csv", 5, "column is a int"),
    ]:
        with pytest.raises(PointsError, match=words):
            read_codes(tmp_path / path, column)


def test_doubles_that_pandas_has_written_count_nowhere(tmp_path):
    pd.DataFrame({"zone": [1.0, None]}).to_parquet(tmp_path / "codes.parquet")
    assert counted(read_codes(tmp_path / "codes.parquet", "zone")) == [0, 0, 0]


def test_a_file_that_changes_is_refused(tmp_path):
    csv(tmp_path / "codes.csv", [b"01"])
    codes = read_codes(tmp_path / "codes.csv", "zone")
    csv(tmp_path / "codes.csv", [b"01", b"02"])
    with pytest.raises(PointsError, match="was changed"):
        counted(codes)


def test_errors_hold_no_record(tmp_path):
    (tmp_path / "codes.csv").write_text('zone\n01\n"secret-73519\n')
    with pytest.raises(PointsError) as caught:
        counted(read_codes(tmp_path / "codes.csv", "zone"))
    error = caught.value
    assert "73519" not in str(error)
    assert error.__cause__ is error.__context__ is None
