"""Accounts: what they pay for, what they refuse, parts, persons, and the two pots."""

from __future__ import annotations

import pickle
from fractions import Fraction

import pytest

import spatialdp as sdp
from spatialdp import Cost
from spatialdp.errors import BudgetError, LedgerError, ParameterError
from spatialdp.privacy.ledger.books import Books
from tests.helpers.ledgers import PERSON, RECORD, MemoryTable, pay


@pytest.fixture
def account(ledger):
    return ledger.open("crashes", epsilon=2)


@pytest.fixture
def mixed(ledger):
    """An account with both pots."""
    return ledger.open("mixed", epsilon=2, delta=1e-9, pure=1)


def test_what_is_spent_is_spent_exactly(account):
    for _ in range(11):
        pay(account, Fraction(1, 11))
    assert account.spent.epsilon == 1
    for _ in range(10):
        pay(account, 0.1)
    assert account.left.epsilon == 0
    with pytest.raises(BudgetError):
        pay(account, 1e-9)


def test_a_refusal_names_what_is_asked_and_left_and_writes_nothing(account, ledger):
    pay(account, Fraction(4, 3))
    entries = ledger.entries
    for refuse in (account.check, lambda *args, **kwargs: account.spend(*args, what={}, **kwargs)):
        with pytest.raises(BudgetError, match=r"ε = 0\.7, but of the limit of 2 of the account 'crashes' only 2/3"):
            refuse(Cost.pure(0.7), **RECORD)
    assert ledger.entries == entries


def test_the_amount_left_is_rounded_down_in_messages(account):
    pay(account, 2 - Fraction(1, 3) + Fraction(1, 10**7))
    with pytest.raises(BudgetError, match=r"only 0\.333333 is left"):
        pay(account, 1)


def test_the_entry_says_what_was_paid_for(account):
    receipt = account.spend(Cost.pure(0.5), **RECORD, what={"mechanism": "flat", "shape": (4, 4)})
    entry = account.entries[-1]
    assert (receipt.entry, receipt.hash) == (entry.seq, entry.hash)
    assert entry.facts["what"] == {"mechanism": "flat", "shape": [4, 4]}
    assert entry.facts["cost"] == entry.facts["charged"] == {"epsilon": "1/2", "rho": "0"}
    assert entry.facts["unit"] == "record"


def test_facts_that_are_not_plain_are_refused_before_anything_is_spent(account):
    with pytest.raises(ParameterError, match="public facts"):
        account.spend(Cost.pure(0.5), **RECORD, what={"array": object()})
    assert account.spent.epsilon == 0


def test_entries_are_those_of_the_account(account, mixed):
    pay(mixed, 0.5)
    pay(account, 0.5)
    assert [entry.kind for entry in account.entries] == ["open", "spend"]


def test_other_neighbours_are_refused(account):
    with pytest.raises(ParameterError, match="release with neighbours='add-remove'"):
        account.check(Cost.pure(0.1), neighbours="replace", unit="record")


def test_an_account_of_a_ledger_that_was_replaced_is_not_found(account):
    account._places = (("other",),)
    with pytest.raises(LedgerError, match="no account 'other' any more"):
        _ = account.limit


def test_accounts_can_be_sent_to_other_processes(account):
    pay(pickle.loads(pickle.dumps(account)), 0.5)
    assert account.spent.epsilon == Fraction(1, 2)


# --- two pots --------------------------------------------------------------------------------------


def test_pure_steps_and_gaussian_noise_have_pots_of_their_own(mixed):
    pay(mixed, 1)
    mixed.spend(Cost.zcdp(mixed.limit.rho), **RECORD, what={})
    assert (mixed.left.epsilon, mixed.left.rho) == (0, 0)
    for cost in (Cost.pure(1e-9), Cost.zcdp(1e-9)):
        with pytest.raises(BudgetError):
            mixed.check(cost, **RECORD)


def test_gaussian_noise_without_a_pot_is_refused(account):
    with pytest.raises(BudgetError, match="no pot for Gaussian noise"):
        account.check(Cost.zcdp(1e-6), **RECORD)
    with pytest.raises(ParameterError, match="no pot of zCDP"):
        account.in_zcdp()


@pytest.mark.parametrize(
    ("cost", "rho"),
    [
        (Cost.pure(0.1), Fraction(1, 200)),
        (Cost.selection(0.1, exponential=True), Fraction(1, 800)),
        (Cost.selection(0.1, exponential=False), Fraction(1, 200)),
    ],
)
def test_pure_steps_are_paid_in_zcdp_on_request(mixed, cost, rho):
    mixed.in_zcdp().spend(cost, **RECORD, what={})
    assert (mixed.spent.epsilon, mixed.spent.rho) == (0, rho)
    assert mixed.entries[-1].facts["cost"]["epsilon"] == "1/10"


def test_parts_pay_in_zcdp_if_the_account_does(mixed):
    mixed.partition("state", ["Iowa", "Ohio"])
    pay(mixed.in_zcdp().part("state", "Ohio"), 0.1)
    assert mixed.part("state", "Ohio").spent.rho == Fraction(1, 200)


# --- persons ---------------------------------------------------------------------------------------


def test_an_account_of_persons_pays_for_records_as_many_times_as_a_person_has(ledger):
    account = ledger.open("visits", epsilon=10, delta=1e-9, pure=5, unit="person", records=5)
    account.spend(Cost.pure(0.1) + Cost.zcdp(0.0001), **RECORD, what={})
    assert account.spent.epsilon == Fraction(1, 2)
    assert account.spent.rho == Fraction(25, 10000)
    account.spend(Cost.pure(0.1), **PERSON, what={})
    assert account.spent.epsilon == Fraction(6, 10)


def test_an_account_of_persons_without_a_number_of_records_pays_for_persons_alone(ledger):
    account = ledger.open("visits", epsilon=10, unit="person")
    assert account.in_words().endswith("add-remove one person")
    with pytest.raises(ParameterError, match="does not say how many records a person may have"):
        account.check(Cost.pure(0.1), **RECORD)
    with pytest.raises(ParameterError, match="bounds the number of parts"):
        account.partition("place", ["shop", "park"], person_stays=False)
    home = account.partition("home", ["Iowa", "Ohio"], person_stays=True)["Iowa"]
    home.spend(Cost.pure(0.5), **PERSON, what={})
    assert account.spent.epsilon == Fraction(1, 2)


def test_an_account_of_records_refuses_persons(account):
    with pytest.raises(ParameterError, match="not adding a person"):
        account.check(Cost.pure(0.1), **PERSON)


def test_a_partition_of_persons_says_whether_they_stay(ledger):
    account = ledger.open("visits", epsilon=10, unit="person", records=3)
    with pytest.raises(ParameterError, match="by itself, such as a month, parts add up"):
        account.partition("month", ["May", "June"])
    homes = account.partition("home", ["Iowa", "Ohio"], person_stays=True)
    places = account.partition("place", ["shop", "park"], person_stays=False)
    terms = {**PERSON, "what": {}}
    for part in homes.values():
        part.spend(Cost.pure(0.5), **terms)
    assert account.spent.epsilon == Fraction(1, 2)
    for part in places.values():
        part.spend(Cost.pure(0.5), **terms)
    assert account.spent.epsilon == Fraction(1, 2) + 3 * Fraction(1, 2)
    places["shop"].partition("home", ["Iowa"], person_stays=True)
    assert places["shop"].part("home", "Iowa").charge(Cost.pure(1), **PERSON).epsilon == 3


def test_records_neither_stay_nor_move(account):
    with pytest.raises(ParameterError, match="leave it out"):
        account.partition("state", ["Iowa"], person_stays=True)


# --- parts -----------------------------------------------------------------------------------------


def test_parts_share_what_is_left(account):
    states = account.partition("state", ["Iowa", "Ohio", "Utah"])
    for state in states.values():
        pay(state, 1.5)
    assert account.left.epsilon == Fraction(1, 2)
    pay(account, 0.5)
    assert states["Ohio"].left.epsilon == 0
    assert states["Ohio"].spent.epsilon == Fraction(3, 2)


def test_two_partitions_add_up(account):
    account.partition("state", ["Iowa", "Ohio"])
    account.partition("month", ["May", "June"])
    pay(account.part("state", "Ohio"), 1.5)
    assert account.part("month", "May").left.epsilon == Fraction(1, 2)
    pay(account.part("month", "May"), 0.5)
    with pytest.raises(BudgetError, match="'crashes', month 'May' only 0 is left"):
        pay(account.part("month", "May"), 0.1)
    assert account.part("month", "June").left.epsilon == Fraction(1, 2)


def test_where_records_are_replaced_two_parts_add_up(ledger):
    account = ledger.open("crashes", epsilon=1, neighbours="replace")
    states = account.partition("state", ["Iowa", "Ohio", "Utah"])
    pay(states["Iowa"], 0.7)
    pay(states["Ohio"], 0.2)
    assert account.spent.epsilon == Fraction(9, 10)
    assert states["Utah"].left.epsilon == Fraction(3, 10)
    assert account.parts("state", ["Ohio", "Utah"]).left.epsilon == Fraction(1, 10)


def test_parts_are_nested(account):
    ohio = account.partition("state", ["Iowa", "Ohio"])["Ohio"]
    counties = ohio.partition("county", ["Adams", "Butler"])
    pay(counties["Adams"], 1)
    pay(ohio, 0.5)
    assert repr(counties["Adams"]) == "Account('crashes', state 'Ohio', county 'Adams')"
    assert counties["Butler"].left.epsilon == Fraction(3, 2)
    assert account.part("state", "Iowa").left.epsilon == 2
    assert account.spent.epsilon == Fraction(3, 2)


def test_a_step_over_several_parts_is_one_entry_with_a_charge_for_each(account):
    account.partition("month", ["May", "June", "July"])
    both = account.parts("month", ["May", "June"])
    pay(both, 0.5)
    assert account.entries[-1].facts["at"] == [["month", "May"], ["month", "June"]]
    assert account.spent.epsilon == both.spent.epsilon == Fraction(1, 2)
    assert account.part("month", "June").spent.epsilon == Fraction(1, 2)
    assert account.part("month", "July").spent.epsilon == 0
    assert repr(both) == "Account('crashes', month 'May' and 1 more)"
    with pytest.raises(ParameterError, match="several parts"):
        both.partition("day", ["1"])
    with pytest.raises(ParameterError, match="several parts"):
        both.part("day", "1")


def test_a_partition_is_made_once_and_grows(account, ledger):
    account.partition("month", ["May"])
    account.partition("month", ["May"])
    pay(account.part("month", "May"), 1)
    account.partition("month", ["June", "May"])
    assert [entry.facts["labels"] for entry in ledger.entries if entry.kind == "partition"] == [["May"], ["June"]]
    assert account.part("month", "June").left.epsilon == 2


def test_a_partition_cannot_change_what_it_says_of_persons(ledger):
    account = ledger.open("visits", epsilon=10, unit="person", records=3)
    account.partition("home", ["Iowa"], person_stays=True)
    with pytest.raises(ParameterError, match="cannot be changed"):
        account.partition("home", ["Iowa"], person_stays=False)


def test_a_partition_has_one_rule_and_may_get_it_later(account, ledger):
    by_state, by_kind = "the column 'state'", "the column 'kind'"
    account.partition("part", ["a"])
    account.partition("part", ["a"], rule=by_state)
    account.partition("part", ["b"], rule=by_state)
    account.partition("part", ["a", "b"])
    with pytest.raises(ParameterError, match=f"by {by_state}, and now by {by_kind}"):
        account.partition("part", ["c"], rule=by_kind)
    assert [entry.facts.get("rule") for entry in ledger.entries if entry.kind == "partition"] == [None, by_state, None]
    ledger.check()
    with pytest.raises(ParameterError, match="rule"):
        account.partition("other", ["a"], rule=" ")


@pytest.mark.parametrize("labels", ["Iowa", [], ["a", "a"], ["Cafe\u0301", "Café"], [1], [" a"], ["a\x1b"]])
def test_labels_are_different_public_names(account, labels):
    with pytest.raises(ParameterError):
        account.partition("state", labels)


def test_parts_that_are_unknown_are_named(account):
    with pytest.raises(ParameterError, match="has no partition 'state'"):
        account.part("state", "Iowa")
    account.partition("state", ["Iowa"])
    with pytest.raises(ParameterError, match="has no part 'Ohio' of a partition 'state'"):
        account.parts("state", ["Iowa", "Ohio"])


# --- what was released -----------------------------------------------------------------------------


def test_what_was_saved_is_noted_and_changes_nothing(account):
    receipt = pay(account, 0.5)
    account.released(receipt, {"crashes.parquet": "0" * 64})
    entry = account.entries[-1]
    assert (entry.kind, entry.facts["entry"], entry.facts["files"]) == ("released", 2, {"crashes.parquet": "0" * 64})
    assert account.spent.epsilon == Fraction(1, 2)


@pytest.mark.parametrize("files", [{}, {"a": "0"}, {"a": None}, {"": "0" * 64}])
def test_digests_are_asked_for(account, files):
    receipt = pay(account, 0.5)
    with pytest.raises(ParameterError, match="files"):
        account.released(receipt, files)


def test_receipts_of_others_are_refused(account, mixed, folder):
    files = {"a": "0" * 64}
    other = pay(sdp.Ledger(folder / "other.ledger").open("crashes", epsilon=2), 1)
    for receipt in (other, pay(mixed, 0.5)):
        with pytest.raises(ParameterError, match="did not pay for anything from the account 'crashes'"):
            account.released(receipt, files)


# --- words -----------------------------------------------------------------------------------------


def test_an_account_shows_what_is_left(ledger, account, mixed):
    pay(account, 0.5)
    assert account.in_words() == "ε: 0.5 spent, 1.5 left, limit 2; add-remove one record"
    assert mixed.in_words().startswith("ε: 0 spent, 1 left, limit 1; ρ: 0 spent, 0.0149")
    assert "ρ (zCDP)" in mixed._repr_html_()
    assert "<td" in account._repr_html_()
    visits = ledger.open("visits", epsilon=1, unit="person", records=5, about="visits <2024>")
    assert "with at most 5 records (declared, not enforced)" in visits.in_words()
    assert "visits &lt;2024&gt;" in visits._repr_html_()


def test_words_of_an_account_read_nothing(account):
    assert repr(account) == "Account('crashes')"


def test_terms_are_read_from_the_books(account):
    with pytest.raises(LedgerError):
        Books(MemoryTable()).terms_of(account.name)
