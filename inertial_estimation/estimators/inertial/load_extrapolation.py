"""The parameters of a load that varies as they are by now: an estimate lags by half of the window."""

from collections import deque

from inertial_estimation.signals import Array

SLOPE = 0.5  # of the lead, over which the rate of change is taken


class LoadExtrapolation:
    """Extrapolates the mass of one body linearly over the lag of its estimate.

    All parameters are scaled by the same factor, so the centre of mass stays where it is and the body
    physically consistent, whatever the change.
    """

    def __init__(self) -> None:
        """Begin without estimates."""
        self._past: deque[tuple[float, float]] = deque()
        self._time = 0.0

    def ahead(self, pi_C: Array, dt: float, lead: float, least: float, most: float) -> Array:
        """Return the newest parameters, their mass moved on at the rate of its latest change.

        Args:
            pi_C: Newest parameters, consistent, shape (10,).
            dt: Time since the last ones [s].
            lead: Time to look ahead [s].
            least: Least mass that the body has had [kg].
            most: Largest one [kg].

        Returns:
            Parameters, shape (10,), the mass within its range.
        """
        mass = float(pi_C[0])
        self._time += dt
        self._past.append((self._time, mass))
        while len(self._past) > 2 and self._time - self._past[1][0] >= SLOPE * lead:
            self._past.popleft()
        time, earlier = self._past[0]
        if self._time - time < 0.5 * SLOPE * lead:
            return pi_C
        ahead = mass + lead / (self._time - time) * (mass - earlier)
        scaled: Array = min(max(ahead, least), most) / mass * pi_C
        return scaled
