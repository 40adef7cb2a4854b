"""Which value holds everything public about a release, before it has records? `PreparedRelease`.

`Mechanism.prepare` makes it, so that the command line, the evaluator and the planner decide everything public once, and
before they read a record. If the bound on persons is chosen privately, there is one such value for every bound that may
be chosen (`PreparedChoice`), because nothing public may fail once a record has been looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from spatialdp._support.override import override
from spatialdp.errors import ParameterError
from spatialdp.estimates.expected_error import expected_error
from spatialdp.mechanisms.plan import Plan
from spatialdp.privacy.ledger.account import Spender
from spatialdp.privacy.noise.source import Noise, SystemNoise, is_system_noise
from spatialdp.privacy.payment import PaidNoise
from spatialdp.privacy.statement import Privacy
from spatialdp.records.formats.base import forgetful
from spatialdp.records.points import in_memory
from spatialdp.release import Release
from spatialdp.space.questions import require_inside
from spatialdp.wording import either

if TYPE_CHECKING:
    from spatialdp.mechanisms.base import Mechanism, Terms

__all__ = ["PreparedChoice", "PreparedRelease", "checked_noise"]


@dataclass(frozen=True, eq=False)
class PreparedRelease:
    """A release about which everything public is decided; `Mechanism.prepare` makes it, and only records are missing.

    Attributes
    ----------
    mechanism : Mechanism
    domain : Domain
        The public frame of the release; not a `Domain` if the mechanism has another `frame`.
    terms : Terms
    design : object
        All that is public about the release, as the mechanism's own type.
    plan : Plan
        Cost, size and noise, without the errors to expect.
    statement : Privacy
        The privacy statement of a release with the system's own noise.

    Privacy
    -------
    A prepared release holds public values only. Each call of `release` spends the whole budget; an account pays for
    each call.
    """

    mechanism: Mechanism
    domain: Any
    terms: Terms
    design: Any
    plan: Plan
    statement: Privacy

    @property
    def is_foreseeable(self) -> bool:
        """Whether the noise of every answer is known beforehand: neither records nor noise shape the structure."""
        return self.mechanism._blank(self.design) is not None

    def plan_with_errors(self) -> Plan:
        """The plan, with the errors to expect if these are foreseeable."""
        plan = replace(self.plan, missed=self.mechanism._missed(self.domain))
        foreseen = self.mechanism._errors(self.design, self.domain)
        if foreseen is None:
            return plan
        deviation, errors = foreseen
        return replace(plan, standard_deviation=deviation, errors=errors)

    def expected_error(self, boxes: npt.ArrayLike) -> float:
        """Root-mean-square error that noise will cause in the answers to boxes; see `Mechanism.expected_error`."""
        blank = self.mechanism._blank(self.design)
        if blank is None:
            name = self.mechanism.name
            raise ParameterError(
                f"the error of this {name} depends on the records, so it is not known before they are read; choose a "
                "mechanism with a public structure, or run "
                f"{either('spatialdp.evaluate', '`spatialdp evaluate`')} on public data."
            )
        require_inside(boxes, self.domain, "boxes")
        return expected_error(blank, self.domain.boxes(boxes))

    def check(self, account: Spender) -> None:
        """Raise the errors that `release` would raise because of its account, before records are read."""
        PaidNoise(SystemNoise(), account, self.statement)

    def release(self, points: Any, *, noise: Noise | None = None, account: Spender | None = None) -> Release:
        """Publish points; see `Mechanism.release`."""
        source = checked_noise(noise)
        if account is not None:
            return self._paid_release(points, source, account)
        release = forgetful(self._carry_out)(points, source)
        return release if is_system_noise(source) else _with(release, private=False)

    def _paid_release(self, points: Any, source: Noise, account: Spender) -> Release:
        """Publish points; the account is asked before a record is read, and has paid before noise is drawn."""
        noise = PaidNoise(source, account, self.statement)
        release = forgetful(self._carry_out)(points, noise)
        return replace(_with(release, ledger=noise.pay()), account=account.account)

    def _carry_out(self, points: Any, source: Noise) -> Release:
        """Read the records, and carry out the design; no error may bring records or exact counts along."""
        records = self.mechanism._records(points, self.domain, self.terms.person)
        estimate = self.mechanism._estimate(records, self.design, source)
        return self.mechanism._published(self.domain, self.statement, estimate)


@dataclass(frozen=True, eq=False)
class PreparedChoice(PreparedRelease):
    """A release whose bound on persons is chosen privately; everything public is decided for every candidate.

    Attributes
    ----------
    design : BoundChoice
        All that is public about the choice.
    candidates : tuple of PreparedRelease
        The release for each bound that may be chosen, paid for with what the choice leaves.

    Privacy
    -------
    The choice costs its share of the budget, and the release of the chosen candidate the rest: together, the whole
    budget, by sequential composition. Only the chosen candidate is carried out.
    """

    candidates: tuple[PreparedRelease, ...]

    @property
    @override
    def is_foreseeable(self) -> bool:
        return False

    @override
    def plan_with_errors(self) -> Plan:
        plans = [each.plan_with_errors() for each in self.candidates]
        by_bound = dict(zip(self.plan.candidates, plans, strict=True))
        return replace(plans[-1], errors={}, candidates=by_bound, person=self.plan.person)

    @override
    def expected_error(self, boxes: npt.ArrayLike) -> float:  # noqa: ARG002 - refused for all boxes
        raise ParameterError(
            "the error depends on the bound, which is chosen when records are released, so it is not known before; "
            f"give a bound such as {either('Person(cells=50)', '--person cells=50')}, or look at the plan, which has "
            "the errors of all candidates."
        )

    @override
    def _carry_out(self, points: Any, source: Noise) -> Release:
        # Files are read before the choice is drawn, and a table is seen in one state: what fails, fails before noise.
        records = in_memory(self.mechanism._records(points, self.domain, self.terms.person), self.domain)
        with records._snapshot():
            place: int = self.design.draw(records, source)
            return self.candidates[place]._carry_out(records, source)


def _with(release: Release, **changes: Any) -> Release:
    """Return a release with changes to its privacy statement."""
    return replace(release, privacy=replace(release.privacy, **changes))


def checked_noise(noise: Noise | None) -> Noise:
    """Return the source of noise that a caller gave, or the system's own."""
    if noise is None:
        return SystemNoise()
    if not isinstance(noise, Noise):
        raise ParameterError(
            f"noise is a {type(noise).__name__}; give spatialdp.SystemNoise() or, for experiments, SeededNoise(seed)."
        )
    return noise
