"""Joint positions against the velocities of the same joint states: jumps, frozen readings, other motion."""

import numpy as np

from inertial_estimation.compilation import compiling
from inertial_estimation.models.clock_branches import ClockBranches
from inertial_estimation.models.drop_reasons import REPORTED_NS
from inertial_estimation.models.input_ranges import FREE_POSITION
from inertial_estimation.models.joint_travel import STILL_TRAVEL, JointTravel, largest_change
from inertial_estimation.models.joint_turns import remove_turns
from inertial_estimation.models.position_jump import JUMP, START_S, PositionJump
from inertial_estimation.models.robot_config import InputConfig
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import NANOSECONDS, Array, seconds

__all__ = ["JointContinuity"]

START_NS = round(2.0 * START_S * NANOSECONDS)
USUAL_RUNS = 3.0  # times the usual time for which joint states repeat, from which they are frozen
USUAL_SHARE = 0.1  # of a new repetition in the usual one


class JointContinuity:
    """Follows joint states: q(t) - q(s) is the integral of v from s to t.

    - A jump (`PositionJump`): joint states are to be dropped until the position is back, but for a second at
      most; later ones are believed, and the jump is remarked on.
    - Frozen: positions and velocities repeat exactly, and these velocities are not zero. To be dropped.
    - A difference: over a quarter of a second a position does not follow its velocity (some joints are late).
      It is only remarked on: filtered velocities of real robots lag, too.

    Joint states on two clocks are followed apart (`ClockBranches`). After a gap the comparison begins anew.

    Attributes:
        usual: Whether the last joint state was a usual one, as the one before, and nothing is to be said.
    """

    def __init__(self, robot: RobotModel, config: InputConfig) -> None:
        """Begin without a joint state.

        Args:
            robot: The model.
            config: The widest gap between two joint states that are compared.
        """
        self._tracks = ClockBranches(lambda: _Track(robot), _Track.reset)
        self._longest_ns = round(NANOSECONDS * min(config.max_gap, config.jump))
        self._stamp_ns = 0
        self._found_ns: int | None = None
        self._difference = ""
        self._followed = False
        self.usual = self._settled = False
        self._begin_ns: int | None = None
        self._quick = compiling()

    def reset(self) -> None:
        """Forget all joint states and what was found."""
        self._tracks.clear()
        self._found_ns = self._begin_ns = None
        self.usual = self._settled = False

    def continues(self, stamp_ns: int, q: Array, v: Array) -> bool:
        """Take a usual joint state in a third of the time; `fault` and `follow` take all others.

        Args:
            stamp_ns: Its stamp [ns].
            q: Positions in the model's order [rad or m], shape (n_joints,).
            v: The velocities it has, which are used [rad/s or m/s], shape (n_joints,).

        Returns:
            Whether it has been taken: nothing is wrong with it, and nothing had been before. If not, nothing
            has changed.
        """
        step_ns = self._tracks.usual_step(stamp_ns, self._longest_ns)
        if not step_ns or not self._quick or not self._tracks.current.continues(seconds(step_ns), q, v):
            return False
        self._tracks.step_to(stamp_ns, self._longest_ns)
        self._followed, self._stamp_ns = True, stamp_ns
        self.usual = self._settled
        if not self._settled:  # the next joint states that this one takes change none of this
            self._settled = self._found_ns is None and not (self.begins_anew or self.remark)
        return True

    def fault(self, stamp_ns: int, q: Array, sent: Array | None) -> str:
        """Take a joint state; return why it must not be used, empty where it may.

        Args:
            stamp_ns: Its stamp [ns].
            q: Positions in the model's order [rad or m], shape (n_joints,).
            sent: The velocities it has [rad/s or m/s], shape (n_joints,); None if it has none.
        """
        self.usual = self._settled = False
        step_ns = self._tracks.step_to(stamp_ns, self._longest_ns)
        self._followed = step_ns is not None
        if step_ns is None:
            return ""
        self._stamp_ns = stamp_ns
        if self._begin_ns is None:
            self._begin_ns = stamp_ns
        with np.errstate(over="ignore", invalid="ignore"):  # the ranges have not been checked yet
            return self._tracks.current.fault(seconds(step_ns), q, sent)

    def follow(self, v: Array, *, measured: bool) -> None:
        """Take the velocities used with the last joint state.

        Args:
            v: Velocities [rad/s or m/s], shape (n_joints,).
            measured: Whether all of them were sent; those derived from positions cannot contradict them.
        """
        if not self._followed:
            return
        with np.errstate(over="ignore", invalid="ignore"):
            found = self._tracks.current.follow(v, measured=measured)
        if found:
            self._difference, self._found_ns = found, self._stamp_ns

    @property
    def begins_anew(self) -> bool:
        """Whether the joint states before the last one were the first ones of all, and wrong."""
        if not self._tracks.current.first_wrong or self._begin_ns is None:
            return False
        return 0 <= self._stamp_ns - self._begin_ns < START_NS

    @property
    def remark(self) -> str:
        """What is doubtful about the positions although they are used, for people; empty where nothing is."""
        if self._tracks.current.displaced:
            return self._tracks.current.displaced
        recent = self._found_ns is not None and 0 <= self._stamp_ns - self._found_ns < REPORTED_NS
        return self._difference if recent else ""


class _Track:
    """Joint states on one clock."""

    def __init__(self, robot: RobotModel) -> None:
        self._turning = robot.continuous_joints
        self._jump = PositionJump(robot.joint_names)
        self._still = _Still(robot.joint_names)
        self._travel = JointTravel(robot)
        self.reset()

    def reset(self) -> None:
        """Begin without a joint state."""
        self._q: Array | None = None
        self._v: Array | None = None
        self._h = 0.0
        self._taken = False
        self._jump.reset()
        self._still.reset()
        self._travel.restart()

    @property
    def first_wrong(self) -> bool:
        """Whether the last joint state is the first one believed after a jump close to the start."""
        return self._jump.first_wrong

    @property
    def displaced(self) -> str:
        """Jumps that are believed, for people."""
        return self._jump.believed

    def continues(self, h: float, q: Array, v: Array) -> bool:
        """Take a joint state after a step [s] unless it needs `fault` and `follow`; return whether taken."""
        last, jump, still = self._q, self._jump, self._still
        if last is None or self._v is None or self._h or jump.new or jump.lasts or still.frozen:
            return False
        change = self._travel.continued(h, last, q, self._v, v, still.run + h)
        if change < 0.0:
            return False
        if change == 0.0:
            still.run += h
        else:
            still.ended()
            jump.passed(h)
        self._q, self._v, self._taken = q, v, True
        return True

    def fault(self, h: float, q: Array, sent: Array | None) -> str:
        """Take a joint state after a step [s]; return why it must not be used."""
        self._h += h
        last, v = self._q, self._v
        self._taken = True
        if last is None or v is None:
            self._taken = bool((np.abs(q) < FREE_POSITION).all())
            self._q = q if self._taken else None
            return ""
        largest = largest_change(last, q)
        if not largest < FREE_POSITION:
            self._taken = False  # out of every range; the next one is compared with the last
            return ""
        if largest == 0.0:
            found = self._still.repeated(self._h, v, sent)
        else:
            frozen, found = self._still.ended(), ""
            if not frozen and (largest > JUMP or self._jump.lasts):
                change = q - last
                remove_turns(change, self._turning)
                found = self._jump.update(self._h, change, v, sent, self._travel.difference(last))
            else:
                self._jump.passed(self._h)
            if frozen or self._jump.new:
                self._travel.restart()
        self._q = q
        if found:
            self._v, self._h = (v if sent is None else sent), 0.0
            self._travel.restart()
        return found

    def follow(self, v: Array, *, measured: bool) -> str:
        """Take the velocities used with the joint state; return a difference to the travel."""
        if not self._taken:
            return ""
        q, h = self._q, self._h
        self._v, self._h = v, 0.0
        if q is None or not measured:
            self._travel.restart()
            return ""
        return self._travel.add(h, q, v)


class _Still:
    """Joint states that repeat exactly although they say that joints move.

    Attributes:
        run: Time for which they repeat [s].
        frozen: Whether they must not be used for it.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self.reset()

    def reset(self) -> None:
        """Begin without a repetition."""
        self.run = self._usual = 0.0
        self.frozen = False

    def repeated(self, h: float, v: Array, sent: Array | None) -> str:
        """Take positions equal to those before; return why they must not be used.

        Args:
            h: The step [s].
            v: Velocities before it [rad/s or m/s], shape (n_joints,).
            sent: Those of the joint state; None if it has none.
        """
        if sent is None or not np.array_equal(sent, v):
            self.ended()
            return ""
        self.run += h
        speed = np.abs(v)
        fastest = int(speed.argmax())
        if self.run * speed[fastest] < STILL_TRAVEL or self.run < USUAL_RUNS * self._usual:
            return ""
        self.frozen = True
        return f"position of {self._names[fastest]} is frozen at a velocity of {v[fastest]:.3g} rad/s"

    def ended(self) -> bool:
        """Note that positions change; return whether they were frozen."""
        frozen = self.frozen
        self._usual += USUAL_SHARE * (self.run - self._usual)
        self.run, self.frozen = 0.0, False
        return frozen
