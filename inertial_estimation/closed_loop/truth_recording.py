"""True inertias of a closed loop over time."""

import numpy as np

from inertial_estimation.closed_loop.closed_loop import ClosedLoop
from inertial_estimation.recordings.truth_file import InertiaStep
from inertial_estimation.signals import LinkInertia, seconds

SMALLEST_CHANGE = 1e-9  # of a mass, relative, and of a centre of mass [m]; below it, both are the same


class TruthRecording:
    """Records the true inertias of all links of a loop when they change.

    Attributes:
        loop: The loop.
    """

    def __init__(self, loop: ClosedLoop) -> None:
        """Start with the present inertias."""
        self.loop = loop
        self._links = [link for link in loop.simulation.robot.link_names if self._moves(link)]
        self._changes: list[tuple[int, LinkInertia]] = []
        self._last: dict[str, LinkInertia] = {}
        self.take()

    def take(self) -> None:
        """Record the inertias that have changed since the last call."""
        truth = self.loop.simulation.truth(self._links)
        for link, inertia in truth.inertias.items():
            if link not in self._last or not _same(self._last[link], inertia):
                self._changes.append((truth.stamp_ns, inertia))
                self._last[link] = inertia

    def steps(self, start_ns: int) -> list[InertiaStep]:
        """Return the changes so far.

        Args:
            start_ns: Stamp of the start of the recording [ns]; earlier changes are there from the start.
        """
        return [
            InertiaStep(max(seconds(stamp_ns - start_ns), 0.0), inertia)
            for stamp_ns, inertia in self._changes
        ]

    def _moves(self, link: str) -> bool:
        return self.loop.simulation.robot.link_body(link).joint_id > 0


def _same(a: LinkInertia, b: LinkInertia) -> bool:
    close = abs(a.mass - b.mass) <= SMALLEST_CHANGE * abs(a.mass)
    return close and bool(np.allclose(a.com_L, b.com_L, rtol=0.0, atol=SMALLEST_CHANGE))
