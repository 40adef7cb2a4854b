"""Parts 4 and 5 of a certificate: how the release was made, and how exact it is."""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from spatialdp.outputs.certificate.numbers import exactness
from spatialdp.outputs.certificate.pages.blocks import Block, Bullets, Facts, Paragraph, Section, Table, at_most, plain
from spatialdp.outputs.certificate.subject import Subject
from spatialdp.privacy.noise.stated import StatedNoise
from spatialdp.privacy.statement import Privacy, format_exact

__all__ = ["exactness_section", "method_section"]

_MOST_ROWS = 40  # steps, parameters, errors

_GAUSSIAN = (
    "discrete Gaussian: a whole number of steps that adds up to x has a probability proportional to e^(−x² / 2σ²), "
    "with σ² = Δ² / 2ρ, where ρ is what the measurement costs (a step below, or a part of one) and Δ is the L2 norm of "
    "the most that one unit moves the numbers measured"
)
_LAPLACE = (
    "{name}: a whole number of steps that adds up to x has a probability proportional to e^(−|x| / t), with t = Δ / ε, "
    "where ε is what the measurement costs (a step below, or a part of one) and Δ is the most that one unit moves the "
    "numbers measured, together"
)
# How the names of steps that choose something begin; those that draw noise are in the table of parameters.
_CHOOSING = ("choice", "lines ", "split")
_CHOICES = "Steps that choose lines, a block or a bound have laws of their own, at the cost below"
_LAWS = {
    "discrete-laplace": _LAPLACE.format(name="discrete Laplace"),
    "laplace": _LAPLACE.format(name="Laplace"),
    "gaussian": _GAUSSIAN,
}

_NO_PARAMETERS = (
    "The statement of this release is of an older version, which did not keep the parameters of the noise. They follow "
    "from the method and the costs above."
)
_VARYING = (
    "Where a step has two parameters, its numbers are drawn with several, which lie between the two. Which number has "
    "which depends on what was released before it, and follows from the file."
)


def method_section(subject: Subject) -> Section:
    """Return mechanism, parameters, place, budget by step, noise, version and source of randomness."""
    privacy = subject.privacy
    rows = [
        ("Method", privacy.mechanism),
        *_parameters(privacy),
        *_place(subject),
        ("Noise", _noise(privacy)),
        ("Random numbers", "from the operating system's generator, in exact integer arithmetic; nothing was seeded"),
        ("Private", "yes: the statement in the file says that the noise cannot be reproduced"),
        ("Software", f"spatialdp {privacy.version}"),
    ]
    return Section("4. How it was made", (Facts(tuple(rows)), *_budget(privacy), *_parameter(privacy)))


def _parameters(privacy: Privacy) -> list[tuple[str, str]]:
    given = [(name, value) for name, value in privacy.parameters.items() if value is not None]
    first, more = at_most(given, _MOST_ROWS)
    rows = [(f"Parameter {plain(name)}", plain(value)) for name, value in first]
    return [*rows, ("More parameters", f"{more:,}, which are in the file")] if more else rows


def _place(subject: Subject) -> list[tuple[str, str]]:
    """Return the public frame: bounds, coordinate system, and region."""
    domain = subject.domain
    if domain is None:
        return [("Place", "none: the zones are codes without places")]
    rows = [
        ("Bounds", ", ".join(f"{edge:.15g}" for edge in domain.bounds)),
        ("Coordinates", plain(" ".join(domain.crs.split())) if domain.crs else "no coordinate system is stated"),
    ]
    if domain.region is not None:
        rule = {"touching": "every cell that touches it", "centres": "every cell whose centre lies in it"}
        rows.append(("Region", f"a public area within the bounds; to it belongs {rule[str(domain.region_cells)]}"))
    return rows


def _noise(privacy: Privacy) -> str:
    law = privacy.parameters.get("law", "gaussian" if privacy.currency == "rho" else "discrete-laplace")
    words = _LAWS.get(str(law), plain(law))
    chosen = any(step.startswith(_CHOOSING) and step not in privacy.noise for step in privacy.budget)
    return f"{words}. {_CHOICES}" if chosen else words


def _budget(privacy: Privacy) -> tuple[Block, ...]:
    """Return the cost of each step."""
    symbol = "ε" if privacy.currency == "epsilon" else "ρ (zCDP)"
    first, more = at_most(privacy.budget.items(), _MOST_ROWS)
    rows = [(plain(step), format_exact(cost), _exactly(cost)) for step, cost in first]
    if more:
        rest = sum(list(privacy.budget.values())[_MOST_ROWS:], Fraction(0))
        rows.append((f"{more:,} more steps together", format_exact(rest), _exactly(rest)))
    whole = sum(privacy.budget.values(), Fraction(0))
    rows.append(("together", format_exact(whole), _exactly(whole)))
    return (Table(("step", f"{symbol}, rounded up", "exactly"), tuple(rows), numbers=(1,)),)


def _parameter(privacy: Privacy) -> tuple[Block, ...]:
    """Return the exact parameter of the noise of each step; statements of older versions do not have it."""
    if not privacy.noise:
        return (Paragraph(_NO_PARAMETERS),)
    first, more = at_most(privacy.noise.items(), _MOST_ROWS)
    rows = tuple((plain(step), *_widths(noise)) for step, noise in first)
    left_out = [Paragraph(f"{more:,} more steps draw noise; their parameters are in the file.")] if more else []
    symbol = first[0][1].symbol
    table = Table(("noise of step", f"{symbol}, rounded up", "exactly", "in steps of"), rows, numbers=(1,))
    varying = any(noise.least != noise.most for noise in privacy.noise.values())
    return (table, *left_out, *([Paragraph(_VARYING)] if varying else []))


def _widths(noise: StatedNoise) -> tuple[str, str, str]:
    """Return the parameter for reading, the exact parameter, and the step of the noise."""
    ends = list(dict.fromkeys((noise.least, noise.most)))
    rounded, exact = (" to ".join(map(form, ends)) for form in (_rounded_up, _exactly))
    return rounded, exact, "1" if noise.steps == 1 else f"1/{noise.steps}"


def _rounded_up(value: Fraction) -> str:
    return str(Context(prec=6, rounding=ROUND_CEILING).divide(Decimal(value.numerator), Decimal(value.denominator)))


def _exactly(cost: Fraction) -> str:
    return plain(str(cost))


# --- part 5 ----------------------------------------------------------------------------------------


def exactness_section(subject: Subject) -> Section:
    """Return the errors to expect, what intervals cover, and what they do not."""
    privacy, found = subject.privacy, exactness(subject.numbers, subject.domain)
    title = "5. How exact it is"
    notes = [*_left_out(privacy), _OTHER_ERRORS]
    if not found.errors:
        return Section(title, (Paragraph(_BIASED), Bullets(tuple(notes))))
    first, more = at_most(found.errors, _MOST_ROWS)
    rows = [(plain(name), f"{error:,.4g}") for name, error in first]
    head = (found.of, f"expected error from noise, in {privacy.counted}")
    left_out = [Paragraph(f"{more:,} more rows are left out.")] if more else []
    table = Table(head, tuple(rows), numbers=(1,))
    return Section(title, (table, *left_out, Paragraph(_SOURCE), Bullets((_INTERVALS, *found.notes, *notes))))


_BIASED = (
    "These numbers were truncated, rounded, made non-negative, smoothed, modelled or stopped where counts were small. "
    "Their errors do not average out, so no error is stated here, and the release offers no intervals."
)
_SOURCE = (
    "Errors are root mean squares. They follow from the laws of the noise that the release itself states. Where the "
    "structure of the release is public, they were known before a record was read, from its plan."
)
_INTERVALS = (
    "An interval of 95 % covers the noise with at least this probability, each interval by itself: of a hundred, "
    "expect five to miss."
)
_PRUNED = "Noise helped to decide which branches of the tree were cut off. Intervals ignore that and are not exact."
_OTHER_ERRORS = "No interval covers errors in the records, or records that are missing."


def _left_out(privacy: Privacy) -> list[str]:
    """Return what intervals do not cover because of how the release was made."""
    words = privacy.counted_in_words()
    pruned = [_PRUNED] if privacy.parameters.get("prune") is not None else []
    return [*pruned, *([words] if words else [])]
