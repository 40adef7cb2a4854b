"""What can be done with a release by zones? Everything that a release can do, and questions by the codes of zones.

A code names a zone, and a list of codes names a zone each; a *set* of zones is one question about all of them together.
Zones that were given as codes alone have no place: then questions by code have answers, and questions by box or polygon
are refused in words. Like every release, this one holds nothing private, and whatever is done with it costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from spatialdp._support.arrays import Array, Floats, Integers
from spatialdp.errors import ParameterError, ReleaseError
from spatialdp.estimates.answers import About, Answers
from spatialdp.estimates.unevenness.allowance import Allowance, Sums
from spatialdp.estimates.zones.counts import ZoneCounts
from spatialdp.privacy.statement import Privacy
from spatialdp.release import Release
from spatialdp.space.domain import Domain
from spatialdp.wording import either, parameter

if TYPE_CHECKING:
    import geopandas
    import pandas as pd

    from spatialdp.space.zones.frame import Zones

__all__ = ["ZoneRelease"]


@dataclass(frozen=True, eq=False, repr=False)
class ZoneRelease(Release):
    """Published counts of public zones, by the codes of the zones.

    `ZoneTree.release` or `spatialdp.load` makes such a release. Everything that `Release` offers is there too: boxes,
    polygons, files, maps and pages.

    Attributes
    ----------
    domain : Domain
        The bounds of all zones; None if the zones were given as codes alone.
    privacy : Privacy
    estimate : ZoneCounts

    Privacy
    -------
    A release holds released numbers and public parameters, no record and no true count. Every method here
    is post-processing: it costs nothing, however often it is called.

    Examples
    --------
    >>> import spatialdp as sdp
    >>> zones = sdp.Zones.from_codes(["37063", "37135", "45001"], None, {"state": 2, "county": 5})
    >>> codes = sdp.Codes(["37063"] * 40 + ["37135"] * 7 + ["45001"] * 3)
    >>> release = sdp.ZoneTree().release(codes, zones, epsilon=100)
    >>> round(release.answer("37063")), [round(count) for count in release.answer(["37", "45"])]
    (40, [47, 3])
    """

    estimate: ZoneCounts

    @classmethod
    def of(cls, estimate: ZoneCounts, privacy: Privacy) -> ZoneRelease:
        """Make the release of an estimate."""
        return cls(cast(Domain, estimate.zones.domain), privacy, estimate)

    @property
    def zones(self) -> Zones:
        """The public frame: codes, levels, parents and, if they were given, polygons."""
        return self.estimate.zones

    # --- zones by code ---

    def answer(self, boxes: Any, *, extrapolate: bool = True, at: str | None = None) -> Any:
        """Estimate how many records lie in each zone, named by its code, or in each box.

        Parameters
        ----------
        boxes : code, list of codes, or boxes as for `Release.answer`
            Codes are texts.
        extrapolate : bool
            Has no effect on zones, whose answers are never corrected.
        at : str, optional
            The level of the zones, such as ``"county"``; needed if a code occurs on several levels.

        Returns
        -------
        float, or (m,) array
            A list of codes has an answer for each; `answer_set` answers a list of zones as one area.

        Raises
        ------
        ParameterError
            If there is no zone of that code.
        """
        if not _are_codes(boxes):
            return super().answer(boxes, extrapolate=extrapolate)
        values = self.estimate.of_nodes(self._nodes(boxes, at)).values
        return _as_asked(values, boxes)

    def interval(
        self, boxes: Any, level: float = 0.95, *, about: str = About.TRUTH, at: str | None = None
    ) -> Floats:
        """Intervals that cover the true count of each zone or box, or the noise in each answer, with probability `level`.

        Parameters
        ----------
        boxes : as for `answer`
        level : float
            Between 0 and 1.
        about : {"truth", "noise"}
            As for `Release.interval`. Intervals of zones are guaranteed. So are those of boxes and polygons that cut
            zones, if they are about the truth: they go from the lower end for the zones inside to the upper end for
            the zones that the area touches, and are as wide as what may lie in the cut zones.
        at : as for `answer`

        Returns
        -------
        (2,) or (m, 2) array of lower and upper ends
        """
        if not _are_codes(boxes):
            return super().interval(boxes, level, about=about)
        return np.asarray(_as_asked(self._ends(self.estimate.of_nodes(self._nodes(boxes, at)), level, about), boxes))

    def _nodes(self, codes: Any, at: str | None) -> Integers:
        return self.zones.nodes_of(np.atleast_1d(np.asarray(codes, dtype=object)), at)

    def _ends(self, sums: Sums, level: float, about: str) -> Floats:
        """Ends of the intervals of whole zones."""
        self._require_unbiased()
        zero = np.zeros(sums.values.size)
        allowance = Allowance(zero) if About.parse(about) is About.TRUTH else None
        answers = Answers(
            sums.values, sums.variance, sums.kurtosis, self.estimate.step, zero.astype(bool), allowance
        )
        return answers.ends(level)


def _are_codes(queries: Any) -> bool:
    """Whether queries are codes of zones rather than boxes: a text, or a list of texts."""
    if isinstance(queries, str):
        return True
    values = np.asarray(queries, dtype=object)
    return values.ndim == 1 and values.size > 0 and isinstance(values[0], str)


def _as_asked(values: Array, codes: Any) -> Any:
    """Return the values of codes as the caller gave the codes: those of one zone, or of many."""
    if not isinstance(codes, str):
        return values
    return float(values[0]) if values.ndim == 1 else values[0]
