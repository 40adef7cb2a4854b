"""What the process of a block says: one finite number, or nothing."""

from __future__ import annotations

import io
import pickle
import sys

import numpy as np
import pytest

from spatialdp.curator.aggregate import worker
from spatialdp.curator.aggregate.worker import LOADED, NUMBER, carry_out, message, number_of
from tests.helpers.block_functions import mean_x, odd

TABLE = np.array([[1.0, 2.0], [2.0, 5.0]])


def answer(function, table):
    said = io.BytesIO()
    carry_out(message(function, table), said)
    return said.getvalue()


def test_a_number_comes_back_exactly():
    assert NUMBER.unpack(answer(mean_x, TABLE)) == (1.5,)


def test_a_function_is_loaded_without_records():
    assert answer(mean_x, None) == LOADED


def test_anything_else_says_nothing():
    assert answer(odd, TABLE) == b""


@pytest.mark.parametrize(
    ("result", "number"),
    [
        *((3, 3.0), (np.int64(3), 3.0), (np.array(0.5), 0.5), (True, 1.0)),
        *((float("nan"), None), (float("-inf"), None), ("3", None), (b"3", None), ([1], None), (np.array([1.0]), None)),
    ],
)
def test_results_are_finite_numbers_or_nothing(result, number):
    assert number_of(result) == number


@pytest.mark.parametrize("result", [None, 1j, {}, object()])
def test_what_is_no_number_at_all_is_an_error_in_the_process(result):
    with pytest.raises(TypeError):
        number_of(result)


def test_a_script_is_run_again_only_for_its_own_functions(monkeypatch):
    own = pickle.loads(pickle.loads(message(mean_x, None))[0])
    assert not {"authkey", "init_main_from_name", "init_main_from_path"} & set(own)
    main = sys.modules["__main__"]
    monkeypatch.setattr(mean_x, "__module__", "__main__")
    monkeypatch.setattr(main, "mean_x", mean_x, raising=False)
    monkeypatch.setattr(main, "__spec__", None, raising=False)
    monkeypatch.setattr(main, "__file__", "/some/script.py", raising=False)  # processes of tests run from no file
    own = pickle.loads(pickle.loads(message(mean_x, None))[0])
    assert {"init_main_from_name", "init_main_from_path"} & set(own)


def test_this_process_is_no_block():
    assert not worker.is_begun()
