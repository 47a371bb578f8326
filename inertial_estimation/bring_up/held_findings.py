"""Findings that a cause may explain which is compared later: they are said if none of these is named."""

from collections.abc import Collection, Iterable

from inertial_estimation.bring_up.case import Case
from inertial_estimation.bring_up.cause import Cause
from inertial_estimation.bring_up.finding import Finding


class HeldFindings:
    """Keeps findings until the masses are judged."""

    def __init__(self) -> None:
        """Begin without any."""
        self._held: list[Finding] = []

    def sift(self, found: Iterable[Finding]) -> list[Finding]:
        """Keep the findings that may be explained later, and return the others."""
        others: list[Finding] = []
        for item in found:
            (self._held if item.result.failed and item.explained_by is not None else others).append(item)
        return others

    def mended(self, case: Case) -> Case:
        """Return a case for the checks until then, with what is held mended."""
        streams = case.streams
        for item in self._held:
            streams = streams if item.mend is None else item.mend(streams)
        return case if streams is case.streams else case.mended(streams)

    def unexplained(self, named: Collection[Cause] = ()) -> list[Finding]:
        """Return the findings that no named cause explains."""
        return [
            item for item in self._held if item.explained_by is None or not any(map(item.explained_by, named))
        ]
