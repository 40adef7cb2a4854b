"""How accurate are k-anonymous maps and private ones, and what do many of them give away? `compare` measures both.

The experiment: some people, the *members*, are in every release; the other records change from one release to the next.
Releases 1 and 2 share nobody but the members; later ones have a random half of the others each. *Non-members* are held
out of all releases and guessed in the same way. What is guessed as well about them is no leak about anybody.

The same adversary attacks private releases of the same records: a map for each sensitive value. A record has one value,
so that the maps of all values together cost ε once. All noise is seeded, and everything here is computed from the true
records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spatialdp._support.checks import whole_number
from spatialdp._support.tables import markdown, percent
from spatialdp.contrast.attacks.intersection import Intersection
from spatialdp.contrast.groups import Groups
from spatialdp.contrast.identifiers import QuasiIdentifiers
from spatialdp.contrast.mark import HEADING, NotPrivate
from spatialdp.contrast.mondrian import Mondrian
from spatialdp.contrast.study import CELLS, AttackRow, BoxRow, LeakRow, Study
from spatialdp.mechanisms import Flat, Hierarchy, Mechanism
from spatialdp.privacy.budget import Budget, Number
from spatialdp.space.domain import Domain

if TYPE_CHECKING:
    import pandas

    from spatialdp.release import Release

__all__ = ["Comparison", "compare"]

_FINE = (256, 256)


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(NotPrivate):
    """Tables of `compare`, and what its pictures show.

    Attributes
    ----------
    attacks : tuple of AttackRow
        One for each kind of release and number of releases.
    boxes : tuple of BoxRow
    leaks : tuple of LeakRow
    records, outside, members : int
        Records in the domain, records that are not and were left out, and people in every release.
    example : tuple of Groups
        The k-anonymous releases with the smallest k.
    attack : Intersection
        The attack on them.
    people : QuasiIdentifiers
        The members.
    private_map : Release
        A map of all records at ε, with seeded noise.
    domain : Domain
    """

    attacks: tuple[AttackRow, ...]
    boxes: tuple[BoxRow, ...]
    leaks: tuple[LeakRow, ...]
    records: int
    outside: int
    members: int
    example: tuple[Groups, ...]
    attack: Intersection
    people: QuasiIdentifiers
    private_map: Release
    domain: Domain

    def table(self) -> str:
        """Return all results as text with tables, headed as private-only."""
        parts = [f"# {HEADING}", self._facts(), "## What several releases give away", self._attack_table()]
        parts += [_ATTACK_NOTE, "## Error of counts in boxes", self._box_table(), _BOX_NOTE]
        parts += ["## What k-anonymous boxes print", self._leak_table(), _LEAK_NOTE]
        return "\n\n".join(parts)

    def to_frame(self) -> pandas.DataFrame:
        """Return the rows of the attack as a frame; each carries the note that nothing here is private."""
        import pandas

        columns = ("release", "number", "alone", "sure", "members", "others", "advantage", "bound")
        rows = [{name: getattr(row, name) for name in columns} for row in self.attacks]
        return pandas.DataFrame(rows).assign(note=HEADING)

    def _facts(self) -> str:
        return (
            f"{self.records:,} records, of which {self.members:,} are in every release and as many in none; "
            f"{self.outside:,} more are outside the domain and left out. The sensitive column has "
            f"{len(self.attack.values)} values."
        )

    def _attack_table(self) -> str:
        last = max(row.number for row in self.attacks)
        shown = [row for row in self.attacks if row.number in {1, 2, last}]
        head = ["release", "number", "one alone", "known for sure", "guessed right: members", "non-members"]
        body = [
            [
                row.release,
                str(row.number),
                percent(row.alone) if row.budget is None else "impossible",
                percent(row.sure) if row.budget is None else "impossible",
                percent(row.members),
                percent(row.others),
                f"{100 * row.advantage:.1f}",
                "none" if row.budget is None else f"{100 * row.bound:.1f}",
            ]
            for row in shown
        ]
        return markdown([[*head, "advantage (points)", "its bound (points)"], *body])

    def _box_table(self) -> str:
        names, widths = list(self.boxes[0].errors), list(self.boxes[0].widths)
        head = ["boxes", "mean count", *names, *(f"width of bounds, {name}" for name in widths)]
        body = [
            [
                f"{100 * row.share:g} %",
                f"{row.count:,.0f}",
                *(f"{row.errors[name]:,.1f}" for name in names),
                *(f"{row.widths[name]:,.0f}" for name in widths),
            ]
            for row in self.boxes
        ]
        return markdown([head, *body])

    def _leak_table(self) -> str:
        head = ["release", "a coordinate printed", "both", "boxes without area"]
        head += ["people in two boxes (median)", "in one (mean)", "fewer than k", "only one"]
        body = [
            [
                row.release,
                *(percent(share) for share in (row.printed.any_column, row.printed.all_columns, row.printed.flat)),
                f"{row.in_both:,.0f}",
                f"{row.in_group:,.0f}",
                percent(row.fewer_than_k),
                percent(row.only_one),
            ]
            for row in self.leaks
        ]
        return markdown([head, *body])


_ATTACK_NOTE = (
    "Non-members are in no release: what is guessed as well about them is knowledge of how the world is. The advantage "
    "is the difference, and has a sampling error of its own. Private releases bound it whatever the adversary does or "
    "knows; k-anonymous ones bound nothing."
)
_BOX_NOTE = (
    "Boxes are placed at records; errors are mean absolute errors of estimates of the number of records. The certain "
    "bounds of a k-anonymous map are what its ranges imply, without assuming that records are evenly spread."
)
_LEAK_NOTE = (
    "The edges of a group's box are coordinates of its records. People in two boxes are those of release 1 in both "
    "boxes of a member, from releases 1 and 2."
)


def compare(
    points: Any,
    sensitive: Any,
    domain: Domain,
    *,
    k: int | Sequence[int] = 5,
    mechanism: Mechanism | None = None,
    box_mechanism: Mechanism | None = None,
    epsilon: Number = 1,
    releases: int = 12,
    overlap: int | None = None,
    boxes: int = 300,
    seed: int = 1,
) -> Comparison:
    """Release the same people as k-anonymous maps and as private ones, attack both alike, and compare their errors.

    Parameters
    ----------
    points : (n, 2) array-like, or GeoSeries of points
    sensitive : array-like
        What nobody should learn of a person: one value for each record.
    domain : Domain
    k : int or sequence of int
        Least number of records in a group.
    mechanism : Mechanism, optional
        Makes the private map of each sensitive value; by default `Flat` with 64 × 64 cells.
    box_mechanism : Mechanism, optional
        Makes the private map of all records whose boxes are counted; by default `Hierarchy` with 256 × 256 cells.
    epsilon : number
        Of each private release. The attack is also made on releases that cost as much together.
    releases : int
        At least 2.
    overlap : int, optional
        Number of members, and of non-members; by default 5,000, but at most a tenth of the records.
    boxes : int
        Number of boxes of each size.
    seed : int
        Of the splits and of the noise.

    Returns
    -------
    Comparison

    Notes
    -----
    The list of sensitive values is taken from the records. A private release needs a public list: a rare value
    would show.

    Privacy
    -------
    None. Everything is computed from the true records, with seeded noise.

    Examples
    --------
    >>> import numpy as np
    >>> import spatialdp as sdp
    >>> from spatialdp import contrast
    >>> domain = sdp.Domain((0, 0, 1, 1))
    >>> points = sdp.workload.random_boxes(domain, 2000).boxes[:, :2]
    >>> kinds = np.arange(2000) % 7
    >>> comparison = contrast.compare(points, kinds, domain, k=5, releases=3)
    >>> [(row.release, row.number) for row in comparison.attacks][2:4]
    [('5-anonymous', 3), ('ε = 1 in all', 1)]
    >>> comparison.attacks[2].sure > comparison.attacks[0].sure
    True
    """
    ks = [whole_number(each, "k", 1, 2**31) for each in (k if isinstance(k, Sequence) else [k])]
    count = whole_number(releases, "releases", 2, 1000)
    study = Study.of(points, sensitive, domain, overlap, whole_number(seed, "seed", 0, 2**63))
    each = Budget(epsilon).epsilon
    anonymous = {size: [Mondrian(size).group(*study.part(number)) for number in range(count)] for size in sorted(ks)}
    attacked = {size: study.attacked(groups) for size, groups in anonymous.items()}
    rows = [row for size, pair in attacked.items() for row in study.anonymous_rows(size, *pair)]
    by_value = Flat(CELLS) if mechanism is None else mechanism
    for budget, label in ((each / count, f"ε = {each} in all"), (each, f"ε = {each} each")):
        rows += study.private_rows(by_value, budget, count, label)
    whole = {f"k = {size}": Mondrian(size).group(study.places, study.secrets) for size in anonymous}
    of_boxes = Hierarchy(_FINE) if box_mechanism is None else box_mechanism
    private_maps = [study.map_of_all(of_boxes, part, number) for part in (each, each / 10) for number in range(3)]
    first = min(anonymous)
    return Comparison(
        attacks=tuple(rows),
        boxes=tuple(study.box_rows(whole, private_maps, whole_number(boxes, "boxes", 1, 10**5))),
        leaks=tuple(study.leak_row(size, groups) for size, groups in anonymous.items()),
        records=len(study.places),
        outside=study.outside,
        members=study.members.size,
        example=tuple(anonymous[first]),
        attack=attacked[first][0],
        people=study.places.some(study.members),
        private_map=private_maps[0],
        domain=domain,
    )
