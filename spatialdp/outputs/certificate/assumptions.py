"""Part 6 of a certificate: what was assumed, for people to confirm, and what is not promised.

No program can know these things. The page leaves boxes empty and lines blank; it signs nothing itself.
"""

from __future__ import annotations

from spatialdp.outputs.certificate.account import AccountState
from spatialdp.outputs.certificate.pages.blocks import Blanks, Boxes, Bullets, Paragraph, Section, plain
from spatialdp.outputs.certificate.subject import Subject
from spatialdp.privacy.statement import Privacy, listed

__all__ = ["assumptions_section"]


def assumptions_section(subject: Subject) -> Section:
    """Return boxes to tick, lines to sign, and what is not promised."""
    privacy = subject.privacy
    confirmed = (
        _PARAMETERS,
        _DOMAIN,
        *_totals(privacy),
        *_unit(privacy),
        _account(subject.account),
        _MACHINE,
    )
    return Section(
        "6. What was assumed",
        (
            Paragraph("The promise holds if the following is true. No program can know it: people confirm it."),
            Boxes(confirmed),
            Paragraph("What is not promised, whoever signs:"),
            Bullets((*_not_promised(privacy), *_NOT_PROMISED)),
            Blanks(("Source of the bounds and areas", "Name and role", "Place and date", "Signature")),
        ),
    )


_PARAMETERS = (
    "The method, its parameters, ε and the decision to publish were chosen without looking at these records; no "
    "earlier trial on them was left out of the account."
)
_DOMAIN = "Bounds, coordinate system, areas, times and categories are public, and were not taken from the records."
_MACHINE = (
    "The machine, its random generator and its software are trusted; the records, temporary copies, and whatever tells "
    "about the run (times, sizes, logs) stay out of the reach of strangers."
)


def _totals(privacy: Privacy) -> list[str]:
    if privacy.invariants:
        return [f"The exact totals of {plain(listed(privacy.invariants))} may be published: nothing protects them."]
    if isinstance(privacy.parameters.get("known"), dict):
        return ["The totals that were taken as known come from elsewhere, and not from these records."]
    return []


def _unit(privacy: Privacy) -> list[str]:
    person = privacy.person
    if person is None:
        chosen = "ε and δ were" if privacy.delta else "ε was"
        return [f"A person has one record in these data, or {chosen} chosen for the largest number of records of one."]
    identifiers = "The identifiers in the records say who is who: nobody has two, and no two share one."
    if person.shares or person.chosen is not None:
        return [identifiers]
    return [identifiers, "The bound on what one person contributes was not taken from these records."]


def _account(account: AccountState | None) -> str:
    if account is None:
        return "All other releases of these records are listed in part 3."
    every = "Everything that was ever published of these records was paid from this account, the only one for them"
    if account.terms.unit == "person" and account.terms.records is not None:
        return f"{every}. No person has more than {account.terms.records:,} records in all of these data."
    return f"{every}."


def _not_promised(privacy: Privacy) -> list[str]:
    if privacy.invariants:
        return ["Anything to a person, a family or a firm with several records, and anything about the exact totals."]
    if privacy.person is None:
        return ["More than kε to a person with k records, or to a family or a firm with k records together."]
    return ["More than kε to k persons together, such as a family or a firm."]


_NOT_PROMISED = (
    "Secrecy of facts about everyone, such as that a town is dense, which show with or without any one record.",
    "Anything about releases that no account paid for, or whose ledger was removed or replaced by its owner.",
    "Anything about what the machine shows while it runs, such as time and memory.",
    "That the numbers are right about records that were wrong or missing.",
    "That a release can be taken back: ε does not become smaller with time.",
)
