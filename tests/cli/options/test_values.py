"""Values of options: numbers with commas, exact numbers, and several options as one value."""

from __future__ import annotations

from fractions import Fraction

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from spatialdp.cli.options.values import Exact, Numbers, bundled, join_numbers

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(st.tuples(finite, finite, finite, finite))
def test_numbers_come_back_as_typed(numbers):
    kind = Numbers("A", "B", "C", "D")
    assert kind.convert(",".join(map(repr, numbers)), None, None) == numbers
    assert kind.convert(numbers, None, None) == numbers


@pytest.mark.parametrize("text", ["", "1", "1,2,3", "1;2", "1,b", "1,,2"])
def test_other_than_two_numbers_are_refused(text):
    with pytest.raises(click.BadParameter, match="2 numbers NX,NY are required"):
        Numbers("NX", "NY").convert(text, None, None)


@given(st.tuples(finite, finite, finite, finite))
def test_separate_numbers_become_one_word(numbers):
    kind = Numbers("A", "B", "C", "D")
    option = click.Option(["--box", "-b"], type=kind)
    for flag in option.opts:
        words = join_numbers(["in.csv", flag, *map(repr, numbers), "-o", "5"], [option])
        assert kind.convert(words[2], None, None) == numbers
        assert [*words[:2], *words[3:]] == ["in.csv", flag, "-o", "5"]
    assert kind.convert(" ".join(map(repr, numbers)), None, None) == numbers


@pytest.mark.parametrize(
    ("words", "joined"),
    [
        (["--box", "1,2", "3"], ["--box", "1,2", "3"]),
        (["--box", "1", "2", "3"], ["--box", "1,2", "3"]),
        (["--box", "1", "-o", "2"], ["--box", "1", "-o", "2"]),
        (["--box=1", "2"], ["--box=1", "2"]),
        (["--", "--box", "1", "2"], ["--", "--box", "1", "2"]),
        (["--name", "1", "2"], ["--name", "1", "2"]),
        (["--box"], ["--box"]),
    ],
)
def test_no_other_words_are_joined(words, joined):
    options = [click.Option(["--box"], type=Numbers("A", "B")), click.Option(["--name"])]
    assert join_numbers(words, options) == joined


@given(st.fractions(Fraction(1, 10**9), 10**9))
def test_fractions_are_exact(number):
    assert Exact().convert(f"{number.numerator}/{number.denominator}", None, None) == number


def test_decimals_are_as_typed():
    assert Exact().convert("0.1", None, None) == Fraction(1, 10)
    assert Exact().convert("1e-6", None, None) == Fraction(1, 10**6)


@pytest.mark.parametrize("text", ["", "one", "1/0", "1/", "nan", "1e400000000", "0x10"])
def test_what_is_no_number_is_refused(text):
    with pytest.raises(click.BadParameter):
        Exact().convert(text, None, None)


def test_options_reach_the_command_as_one_checked_value():
    def make(low, high):
        if low > high:
            raise click.UsageError("low is above high")
        return range(low, high)

    limits = bundled("limits", make, click.option("--low", type=int, default=0), click.option("--high", type=int))

    @click.command()
    @click.option("--name")
    @limits
    def command(limits, name):
        click.echo(f"{name} {list(limits)}")

    assert CliRunner().invoke(command, ["--high=3", "--name=x"]).output == "x [0, 1, 2]\n"
    refused = CliRunner().invoke(command, ["--low=5", "--high=3"])
    assert refused.exit_code == 2
    assert "low is above high" in refused.output
    assert [option.name for option in command.params] == ["name", "low", "high"]
