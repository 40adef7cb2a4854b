"""What does a table reveal if it was generalised only where needed? The minimality attack, in the smallest case.

Records have one of two identifiers, q1 and q2, and one of two values, say HIV and none. A publisher generalises both
identifiers to one group only if the table would otherwise break folk l-diversity: if HIV had more than 1/l of a group.
An adversary who knows the identifiers and this rule sees a generalised table, and so learns that a group broke it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from spatialdp._support.checks import whole_number
from spatialdp.contrast.mark import NotPrivate
from spatialdp.errors import ParameterError
from spatialdp.wording import parameter, quoted

__all__ = ["Minimality", "minimality"]


@dataclass(frozen=True)
class Minimality(NotPrivate):
    """What an adversary believes of a person with the first identifier, with and without knowing the rule.

    Attributes
    ----------
    worlds : int
        Ways in which the value may be given to the records.
    generalised : int
        Those in which the publisher generalises.
    naive : Fraction
        The probability that the person has the value, as the generalised table suggests.
    true : Fraction
        The same for whoever knows that the publisher generalises only if needed.
    """

    worlds: int
    generalised: int
    naive: Fraction
    true: Fraction


def minimality(first: int = 2, second: int = 5, sick: int = 2, l: int = 2) -> Minimality:  # noqa: E741
    """Compute the minimality attack exactly, over all worlds.

    Parameters
    ----------
    first, second : int
        Records with each of the two identifiers.
    sick : int
        Records with the sensitive value, among all of them.
    l : int
        Of folk l-diversity: at most 1/l of a group may have the value.

    Examples
    --------
    >>> attack = minimality()
    >>> attack.worlds, attack.generalised, str(attack.naive), str(attack.true)
    (21, 1, '2/7', '1')
    """
    sizes = [whole_number(size, name, 1, 20) for size, name in ((first, "first"), (second, "second"))]
    records = sum(sizes)
    whole_number(sick, "sick", 1, records)
    worlds = list(combinations(range(records), sick))
    broken = [world for world in worlds if _breaks(world, sizes, whole_number(l, "l", 1, records))]
    if not broken or sick * l > records:
        raise ParameterError(
            f"{parameter('l')} is {quoted(l)}, for which the table is never generalised, or not even the group of all "
            "records is diverse; give another one."
        )
    known = Fraction(sum(0 in world for world in broken), len(broken))
    return Minimality(len(worlds), len(broken), Fraction(sick, records), known)


def _breaks(world: tuple[int, ...], sizes: list[int], l: int) -> bool:  # noqa: E741
    """Whether a group breaks folk l-diversity if the table is published as it is."""
    in_first = sum(record < sizes[0] for record in world)
    return any(count * l > size for count, size in zip((in_first, len(world) - in_first), sizes, strict=True))
