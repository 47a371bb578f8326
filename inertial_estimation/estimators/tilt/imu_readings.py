"""Mean IMU reading over a step, with a gyroscope reading that no neighbour confirms left out."""

from inertial_estimation.spatial.vectors import Vector, distance

__all__ = ["ImuReadings"]

RATE_STEP = 0.0105  # largest change of the rate between two readings, times the step [rad]: 0.6 deg
LEAST_RATE_CHANGE = 1.0  # a change below this is never doubted, however long the step [rad/s]
LONGEST_DOUBT = 0.03  # readings that disagree with one another are believed after this long [s]


class ImuReadings:
    """Means over the step by the trapezoidal rule; a single wrong rate is held back.

    A rate that differs from the one before by more than `RATE_STEP` over the step is held back for one
    reading, and the rate before is used in its place. If the next reading is nearer to the doubted one than
    to the one before it, the motion was real (a push, an impact), and the angle that was held back is added
    to that step. Otherwise the doubted reading was an outlier and is never used. No reading is delayed.

    Attributes:
        doubts: Number of rates held back.
    """

    def __init__(self, *, doubting: bool = True) -> None:
        """Begin without a reading.

        Args:
            doubting: Whether wrong rates are held back; otherwise every reading is used.
        """
        self.doubts = 0
        self._doubting = doubting
        self.reset()

    def reset(self) -> None:
        """Begin before the first reading; the counter stays."""
        self.force: Vector | None = None
        self.rate: Vector | None = None
        self._doubted: Vector | None = None
        self._doubted_step = 0.0
        self._doubted_for = 0.0

    def advance(self, h: float, force: Vector, rate: Vector) -> tuple[Vector, Vector]:
        """Process one reading.

        Args:
            h: Duration of the step that it ends [s].
            force: Specific force [m/s^2].
            rate: Angular rate [rad/s].

        Returns:
            Specific force and rate, mean over the step. `rate` holds the rate at the end of the step.
        """
        f0, w0 = self.force, self.rate
        self.force, self.rate = force, rate
        if f0 is None or w0 is None:
            return force, rate
        mean_force = (0.5 * (f0[0] + force[0]), 0.5 * (f0[1] + force[1]), 0.5 * (f0[2] + force[2]))
        mean_rate = (0.5 * (w0[0] + rate[0]), 0.5 * (w0[1] + rate[1]), 0.5 * (w0[2] + rate[2]))
        if self._doubting and (self._doubted is not None or self._doubtful(h, w0, rate)):
            mean_rate = self._judge(h, w0, rate, mean_rate)
        return mean_force, mean_rate

    @staticmethod
    def _doubtful(h: float, before: Vector, rate: Vector) -> bool:
        x, y, z = rate[0] - before[0], rate[1] - before[1], rate[2] - before[2]
        change = x * x + y * y + z * z
        return change > LEAST_RATE_CHANGE * LEAST_RATE_CHANGE and change * h * h > RATE_STEP * RATE_STEP

    def _judge(self, h: float, held: Vector, rate: Vector, mean: Vector) -> Vector:
        """Confirm or discard the doubted rate by the present one; return the mean rate over the step.

        Args:
            h: Duration of the step [s].
            held: The last rate that was used.
            rate: The present rate.
            mean: Mean of the two.
        """
        doubted, self._doubted = self._doubted, None
        if doubted is None:
            return self._doubt(h, held, rate)
        if distance(rate, doubted) < distance(rate, held) or self._doubted_for >= LONGEST_DOUBT:
            # Real: trapezoids from `held` to `doubted` to `rate`, less what was used of the first.
            share = 0.5 * self._doubted_step / h
            self._doubted_for = 0.0
            return (
                0.5 * (doubted[0] + rate[0]) + share * (doubted[0] - held[0]),
                0.5 * (doubted[1] + rate[1]) + share * (doubted[1] - held[1]),
                0.5 * (doubted[2] + rate[2]) + share * (doubted[2] - held[2]),
            )
        if self._doubtful(h, held, rate):
            return self._doubt(h, held, rate)
        self._doubted_for = 0.0
        return mean

    def _doubt(self, h: float, held: Vector, rate: Vector) -> Vector:
        self.doubts += 1
        self._doubted, self._doubted_step = rate, h
        self._doubted_for += h
        self.rate = held
        return held
