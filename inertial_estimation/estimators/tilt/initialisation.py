"""Initial vertical and velocity: at rest from the accelerometer, in motion with the contact velocity."""

import math
from enum import Enum

from inertial_estimation.estimators.tilt.startup import StartupAverage
from inertial_estimation.estimators.tilt.vertical_fit import VerticalFit
from inertial_estimation.spatial.vectors import ZERO, Vector, angle_between, norm, normalised

LEAST_WINDOW = 0.3  # of a fit that replaces the observer's state [s]
WHOLE_WINDOW = 1.5  # from which on the observer continues [s]
LONGEST_WINDOW = 2.0  # after which a fit that is not accepted begins again, and a startup ends anyway [s]
ACCEPTED_SIGMA = 0.01  # of the direction [rad]
ACCEPTED_LENGTH = 0.06  # error of the length of the vertical
WITH_GRAVITY = 0.5  # error of the length at rest, beyond which the force is not gravity, or not in m/s^2
AT_REST = math.radians(0.5)  # angle between mean accelerometer and fit up to which the former is used
REPLACED = math.radians(1.0)  # angle between fit and output from which the output is replaced, plus
REPLACED_SIGMA = 3.0  # this many standard deviations of the fit
LEAST_MISFIT, MOST_MISFIT = 0.2, 0.5  # distance of a velocity from the line that restarts the fit [m/s]
LONGEST_MISFIT = 0.1  # time after which velocities far from the line restart the fit: a slip is shorter [s]
CONFIRMED = 1.0  # time of agreement after which the observer needs no new fit [s]
MISFIT_FACTOR = 6.0  # in between: this many times the scatter

State = tuple[Vector, Vector]


class Phase(Enum):
    """What determines the vertical.

    Attributes:
        STARTING: Nothing yet.
        FITTING: A fit that will replace the output if the two differ.
        FITTED: The fit; the observer is set to it at every step.
        TRACKING: The observer.
    """

    STARTING = "starting"
    FITTING = "fitting"
    FITTED = "fitted"
    TRACKING = "tracking"


class Initialisation:
    """Starts the observer, and starts it again in motion where its readings have contradicted one another.

    Attributes:
        phase: What determines the vertical.
    """

    def __init__(self, startup: float) -> None:
        """Begin with the startup.

        Args:
            startup: Shortest duration of the startup [s].
        """
        self._startup = startup
        self._average = StartupAverage(startup)
        self._fit = VerticalFit()
        self.reset()

    def reset(self) -> None:
        """Begin again with the startup."""
        self._average.reset()
        self._fit.reset()
        self.phase = Phase.STARTING
        self._starting_for = 0.0  # time since the first reading of the startup [s]
        self._refitted = False  # whether the startup has discarded data of the fit
        self._misfit_for = 0.0  # time for which velocities have been far from the line [s]
        self._agreed = 0.0  # time for which the readings have agreed [s]

    @property
    def ready(self) -> bool:
        """Whether the startup is over."""
        return self.phase is not Phase.STARTING

    @property
    def vertical(self) -> Vector | None:
        """Direction of the mean accelerometer during the startup, which then weights the contacts.

        None before the first reading, and after the startup.
        """
        force = self._average.force
        return normalised(force) if not self.ready and norm(force) > 0.0 else None

    def average(self, h: float, force: Vector, rate: Vector) -> None:
        """Add one accelerometer reading of the startup, before `start`.

        Args:
            h: Duration of the step that it ends [s].
            force: Specific force [m/s^2].
            rate: Angular rate, mean over the step [rad/s].
        """
        self._average.add(h, force, rate)

    def start(
        self, h: float, mean_force: Vector, rate: Vector, y_v: Vector | None, *, complete: bool
    ) -> State | None:
        """Process one step of the startup.

        Args:
            h: Duration of the step [s].
            mean_force: Specific force, mean over the step [m/s^2].
            rate: Angular rate, mean over the step [rad/s].
            y_v: Velocity from contacts [m/s]; None without contact.
            complete: Whether all inputs are there, so that the startup may end.

        Returns:
            Velocity and vertical of the IMU at the end of the startup; None during it.
        """
        self._fit.add(h, mean_force, rate)
        if y_v is not None:
            self._fits(h, y_v)
        self._starting_for += h
        if not self._average.done or not complete:
            return None
        mean = normalised(self._average.force)
        late = self._starting_for >= self._startup + LONGEST_WINDOW
        if y_v is None or not self._fit.determined:
            if not late and (self._fit.determined or self._refitted):
                return None
            self.phase = Phase.TRACKING
            return y_v or ZERO, mean
        v, z = self._fit.solve()
        at_rest = angle_between(z, mean) <= AT_REST and abs(norm(z) - 1.0) <= WITH_GRAVITY
        if at_rest and self._fit.sigma() <= ACCEPTED_SIGMA:
            self.phase = Phase.TRACKING
            return y_v, mean
        if self._accepted(z):
            self.phase = Phase.FITTED
            return v, normalised(z)
        if not late:
            return None
        self.phase = Phase.TRACKING
        return y_v, mean

    def begin(self) -> None:
        """Begin a fit while the observer runs."""
        self._fit.reset()
        self.phase = Phase.FITTING
        self._misfit_for = self._agreed = 0.0

    def refit(self, h: float, force: Vector, rate: Vector, y_v: Vector | None, x2: Vector) -> State | None:
        """Process one step of a fit while the observer runs.

        Args:
            h: Duration of the step [s].
            force: Specific force, mean over the step [m/s^2].
            rate: Angular rate, bias removed, mean over the step [rad/s].
            y_v: Velocity from contacts [m/s]; None without contact.
            x2: The observer's vertical.

        Returns:
            Velocity and vertical to which the observer is to be set; None to leave it as it is.
        """
        fit = self._fit
        fit.add(h, force, rate)
        if y_v is None or not self._fits(h, y_v):
            return None
        if fit.duration > LONGEST_WINDOW and self.phase is Phase.FITTING:
            self._begin_again()
            return None
        if fit.duration < LEAST_WINDOW or not fit.determined:
            return None
        v, z = fit.solve()
        if not self._accepted(z):
            return None
        if self.phase is Phase.FITTING:
            if angle_between(z, x2) < REPLACED + REPLACED_SIGMA * fit.sigma():
                self.phase = Phase.TRACKING
                return None
            self.phase = Phase.FITTED
        if fit.duration >= WHOLE_WINDOW:
            self.phase = Phase.TRACKING
        return v, normalised(z)

    def agree(self, h: float, *, doubtful: bool) -> None:
        """Leave the vertical to the observer where the readings agree without a new fit.

        Args:
            h: Duration of the step [s].
            doubtful: Whether the readings contradict one another.
        """
        self._agreed = 0.0 if doubtful else self._agreed + h
        if self.phase is Phase.FITTING and self._agreed > CONFIRMED:
            self.phase = Phase.TRACKING

    @property
    def sigma(self) -> float:
        """Standard deviation of the vertical of the fit [rad]; only where there is one."""
        return self._fit.sigma()

    def _fits(self, h: float, y_v: Vector) -> bool:
        """Add a velocity to the fit, unless it is far from the line; begin again where it stays there."""
        fit = self._fit
        if fit.determined:
            limit = min(MOST_MISFIT, max(LEAST_MISFIT, MISFIT_FACTOR * fit.scatter()))
            if fit.misfit(y_v) > limit:
                self._misfit_for += h
                if self._misfit_for > LONGEST_MISFIT:
                    self._begin_again()
                return False
        self._misfit_for = 0.0
        fit.measure(h, y_v)
        return True

    def _begin_again(self) -> None:
        """Discard the data of a fit: those before or those now are faulty."""
        if self.phase is Phase.STARTING:
            self._fit.reset()
            self._misfit_for, self._refitted = 0.0, True
        else:
            self.begin()

    def _accepted(self, z: Vector) -> bool:
        return abs(norm(z) - 1.0) <= ACCEPTED_LENGTH and self._fit.sigma() <= ACCEPTED_SIGMA
