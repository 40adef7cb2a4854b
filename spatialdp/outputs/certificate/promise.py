"""Parts 1 and 2 of a certificate: what was published, of which records, and what is promised to whom.

Sentences of the promise are those of the privacy statement. How much an adversary can gain is said in odds, which must
never be rounded down.
"""

from __future__ import annotations

from fractions import Fraction

from spatialdp.outputs.certificate.account import AccountState
from spatialdp.outputs.certificate.numbers import contents, disjoint
from spatialdp.outputs.certificate.pages.blocks import Blanks, Block, Facts, Paragraph, Section, Table, plain
from spatialdp.outputs.certificate.subject import Subject
from spatialdp.privacy.neighbours import Neighbours
from spatialdp.privacy.odds import factor, percent
from spatialdp.privacy.statement import Privacy, format_exact, listed
from spatialdp.privacy.unit import Bound

__all__ = ["promise_section", "short_section"]

_GROUP = {"record": (10, "a person with 10 records"), "person": (4, "a household of 4 persons")}


def short_section(subject: Subject) -> Section:
    """Return what was published, of which records, what is promised, and to whom, in one paragraph."""
    privacy, account = subject.privacy, subject.account
    about = "" if account is None or not account.terms.about else f": {account.terms.about}"
    paid = "" if account is None else f" They were counted from the records of the account {account.name!r}{about}."
    made = f"Published are estimated numbers of {privacy.counted} {contents(subject.numbers)}."
    promised = (privacy.in_words(), privacy.counted_in_words(), disjoint(subject.numbers))
    words = " ".join(filter(None, (made + paid, *promised)))
    unknown: tuple[Block, ...] = () if about else (Blanks(("The records are",)),)
    return Section("1. In one paragraph", (Paragraph(words), *unknown))


def promise_section(subject: Subject) -> Section:
    """Return the promise in numbers, and how much anybody can gain."""
    privacy = subject.privacy
    promises = _promises(privacy, subject.account)
    pure = not any(delta for _, _, delta in promises)
    words = Paragraph(_odds_in_words(privacy, pure))
    note = () if pure else (Paragraph(_DELTA),)
    return Section("2. The promise", (Facts(tuple(_facts(privacy))), words, _odds(promises), *note))


def _facts(privacy: Privacy) -> list[tuple[str, str]]:
    short = format_exact(privacy.epsilon)
    exact = "" if Fraction(short) == privacy.epsilon else f", exactly {plain(str(privacy.epsilon))}"
    return [
        ("ε", f"{short}{exact}; e^ε is {factor(privacy.epsilon)} (rounded up)"),
        ("δ", format_exact(privacy.delta) if privacy.delta else "0: the promise holds for every outcome"),
        ("Compared are", _compared(privacy)),
        ("Unit", _unit(privacy)),
        *_bound(privacy),
        *_outside(privacy),
    ]


def _compared(privacy: Privacy) -> str:
    if privacy.invariants:
        zone = plain(privacy.invariants[-1])
        totals = plain(listed(privacy.invariants))
        return f"data sets with the same {totals} totals, in which one record is replaced by another of the same {zone}"
    whom = "one record" if privacy.person is None else "one person, with all of that person's records"
    if privacy.neighbours == Neighbours.ADD_REMOVE:
        return f"data sets with and without {whom} (add-remove)"
    return f"data sets of the same size in which {whom} has another value (replace)"


def _unit(privacy: Privacy) -> str:
    if privacy.person is not None:
        return "one person, however many records the person has"
    if privacy.invariants:
        return "one record; to a person with several records nothing is promised"
    return "one record; a person with k records is promised kε"


def _bound(privacy: Privacy) -> list[tuple[str, str]]:
    """Return how much of a person is counted, and how that is held."""
    person = privacy.person
    if person is None:
        return []
    held = "enforced by spatialdp when it counted, on the identifiers in the records"
    rows = [("Bound on a person", person.in_words()), ("How the bound is held", held)]
    if person.chosen is not None:
        candidates, share = plain(tuple(person.chosen.candidates)), format_exact(Fraction(person.chosen.share))
        where = f"privately from {candidates}, for {share} of the budget"
        return [*rows, ("How the bound was chosen", where)]
    return rows if person.bound is Bound.SHARES else [*rows, ("How the bound was chosen", "publicly; see part 6")]


def _outside(privacy: Privacy) -> list[tuple[str, str]]:
    """Return which totals are outside of the promise, or were taken from elsewhere."""
    rows = []
    if privacy.invariants:
        what = f"the exact totals of {plain(listed(privacy.invariants))}, and what follows from them"
        rows.append(("Not protected", what))
    known = privacy.parameters.get("known")
    if isinstance(known, dict):
        sizes = ", ".join(
            f"{len(table) if isinstance(table, dict) else 0:,} of level {name}" for name, table in known.items()
        )
        rows.append(("Taken as known", f"totals from elsewhere ({plain(sizes)}), which nothing is promised about"))
    return rows


# --- odds ------------------------------------------------------------------------------------------


def _odds_in_words(privacy: Privacy, single_outcomes: bool) -> str:
    """Return what the table of odds shows."""
    if privacy.neighbours == Neighbours.REPLACE:
        values = f"two values of the same {plain(privacy.invariants[-1])}" if privacy.invariants else "two values"
        claim = f"this {privacy.unit} has the first of {values}, and not the second"
    else:
        claim = f"this {privacy.unit} is in the data"
    totals = ", and the exact totals" if privacy.invariants else ""
    believes = "Whatever was published, the observer can hold it to be true afterwards"
    guesses = "After seeing what was published, the observer can guess right"
    return (
        f"Take an observer who knows everything but one {privacy.unit}{totals}, and who holds it to be as likely as "
        f"not (50 %) that {claim}. {believes if single_outcomes else guesses} with a probability of at most:"
    )


def _promises(privacy: Privacy, account: AccountState | None) -> list[tuple[str, Fraction, Fraction]]:
    """Return whose odds are shown: of the release and of the account, about one unit and about a group."""
    rows = [(f"this release, about one {privacy.unit}", privacy.epsilon, privacy.delta)]
    if not privacy.invariants:
        size, group = _GROUP[privacy.unit]
        promise = privacy.for_persons(size) if privacy.person is not None else privacy.for_records(size)
        rows.append((f"this release, about {group}", promise.epsilon, promise.delta))
    return rows if account is None else rows + account.totals()


def _odds(promises: list[tuple[str, Fraction, Fraction]]) -> Table:
    head = ("from", "ε", "δ", "at most, rounded up")
    table = tuple(
        (name, format_exact(epsilon), format_exact(delta), percent(epsilon, delta)) for name, epsilon, delta in promises
    )
    return Table(head, table, numbers=(1, 2, 3))


_DELTA = (
    "Where δ is 0, this holds whatever was published. Where it is not, it holds on average over what may be published: "
    "the chance is at most (e^ε + δ) / (1 + e^ε). Single outcomes may tell more; how probable they are, δ bounds."
)
