"""Joint positions against the velocities of the same joint states: jumps, frozen readings, other motion."""

import numpy as np

from inertial_estimation.compilation import compiling, warm_up
from inertial_estimation.models.clock_branches import ClockBranches
from inertial_estimation.models.continuity_steps import (
    NOT_USUAL,
    STILL_TRAVEL,
    USUAL_SHARE,
    continue_joints,
    largest_change,
)
from inertial_estimation.models.drop_reasons import REPORTED_NS
from inertial_estimation.models.input_ranges import FREE_POSITION
from inertial_estimation.models.joint_tracks import (
    FIGURES,
    LONGEST_NS,
    READY,
    RUN,
    STAMP_NS,
    TAKEN,
    TRACK,
    TURNS,
    USUAL,
    JointMemory,
    Q,
    V,
    track_of,
)
from inertial_estimation.models.joint_travel import JointTravel
from inertial_estimation.models.joint_turns import remove_turns
from inertial_estimation.models.position_jump import JUMP, START_S, PositionJump
from inertial_estimation.models.robot_config import InputConfig
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import NANOSECONDS, Array, seconds

START_NS = round(2.0 * START_S * NANOSECONDS)
USUAL_RUNS = 3.0  # times the usual time for which joint states repeat, from which they are frozen


class JointContinuity:
    """Follows joint states: q(t) - q(s) is the integral of v from s to t.

    - A jump (`PositionJump`): joint states are to be dropped until the position is back, but for a second at
      most; later ones are believed, and the jump is remarked on.
    - Frozen: positions and velocities repeat exactly, and these velocities are not zero. To be dropped.
    - A difference: over a quarter of a second a position does not follow its velocity (some joints are late).
      It is only remarked on: filtered velocities of real robots lag, too.

    Joint states on two clocks are followed apart (`ClockBranches`). After a gap the comparison begins anew.

    Compiled functions take usual joint states as `continues` does while `n[READY]` says so; nothing is to be
    said then, nor was about the one before.

    Attributes:
        usual: Whether the last joint state was a usual one, as the one before, and nothing is to be said.
    """

    def __init__(self, robot: RobotModel, config: InputConfig, memory: JointMemory | None = None) -> None:
        """Begin without a joint state.

        Args:
            robot: The model.
            config: The widest gap between two joint states that are compared.
            memory: Where what is known of the joint states is kept; None: in memory of its own.
        """
        own = JointMemory.of(robot) if memory is None else memory
        self._n, self._cells, self._x = own.n, own.cells, own.x
        numbers = iter(range(2))
        self._tracks = ClockBranches(lambda: _Track(robot, self._x, next(numbers)), _Track.reset)
        self._longest_ns = round(NANOSECONDS * min(config.max_gap, config.jump))
        self._cells[LONGEST_NS] = self._longest_ns
        self._found_ns: int | None = None
        self._difference = ""
        self._followed = self.usual = False
        self._begin_ns: int | None = None
        warm_up()

    def reset(self) -> None:
        """Forget all joint states and what was found."""
        self._tracks.clear()
        self._found_ns = self._begin_ns = None
        self.usual = False
        self._cells[READY] = self._cells[TAKEN] = 0

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
        cells, track = self._cells, self._tracks.current
        if not compiling() or not track.sound:
            return False
        cells[TRACK] = track.number
        worst = continue_joints(stamp_ns, q, v, self._n, self._x)
        if worst == NOT_USUAL:
            return False
        track.passed()
        self._followed, self.usual = True, bool(cells[READY])
        self.find(worst)
        if not self.usual:  # the next joint states that this one takes change none of this
            cells[READY] = self._found_ns is None and not (self.begins_anew or self.remark)
        return True

    def find(self, worst: int) -> None:
        """Note which position does not follow its velocity, as `continuity_steps.continued` has found."""
        self._note(self._tracks.current.difference(worst))

    def _note(self, difference: str) -> None:
        """Note that a position does not follow its velocity; empty: all do."""
        if difference:
            self._difference, self._found_ns = difference, self._cells[STAMP_NS]
            self.usual, self._cells[READY] = False, 0

    def fault(self, stamp_ns: int, q: Array, sent: Array | None) -> str:
        """Take a joint state; return why it must not be used, empty where it may.

        Args:
            stamp_ns: Its stamp [ns].
            q: Positions in the model's order [rad or m], shape (n_joints,).
            sent: The velocities it has [rad/s or m/s], shape (n_joints,); None if it has none.
        """
        cells = self._cells
        self.usual, cells[READY] = False, 0
        if cells[TAKEN]:
            self._tracks.passed(cells[STAMP_NS], cells[TAKEN])
            cells[TAKEN] = 0
        step_ns = self._tracks.step_to(stamp_ns, self._longest_ns)
        self._followed = step_ns is not None
        if step_ns is None:
            return ""
        cells[STAMP_NS] = stamp_ns
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
            self._note(self._tracks.current.follow(v, measured=measured))

    @property
    def begins_anew(self) -> bool:
        """Whether the joint states before the last one were the first ones of all, and wrong."""
        if not self._tracks.current.first_wrong or self._begin_ns is None:
            return False
        return bool(0 <= self._cells[STAMP_NS] - self._begin_ns < START_NS)

    @property
    def remark(self) -> str:
        """What is doubtful about the positions although they are used, for people; empty where nothing is."""
        if self._tracks.current.displaced:
            return self._tracks.current.displaced
        recent = self._found_ns is not None and 0 <= self._cells[STAMP_NS] - self._found_ns < REPORTED_NS
        return self._difference if recent else ""


class _Track:
    """Joint states on one clock."""

    def __init__(self, robot: RobotModel, x: Array, number: int) -> None:
        """Begin without a joint state.

        Args:
            robot: The model.
            x: Numbers of all tracks (`joint_tracks`).
            number: Number of this track.
        """
        self.number = number
        self._turning, track = robot.continuous_joints, track_of(number, x)
        self._q, self._v = (track[row, : len(robot.joint_names)] for row in (Q, V))
        self._jump = PositionJump(robot.joint_names, track[FIGURES])
        self._still = _Still(robot.joint_names, track[FIGURES])
        self._travel = JointTravel(robot, x[TURNS], track)
        self.reset()

    def reset(self) -> None:
        """Begin without a joint state."""
        self._with_q = self._with_v = False  # whether there is a last joint state, and one with velocities
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

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong with the last joint state, so that usual ones may follow."""
        return self._with_v and not (self._h or self._jump.new or self._jump.lasts or self._still.frozen)

    def passed(self) -> None:
        """Note that a usual joint state has been taken."""
        self._jump.first_wrong = False
        self._taken = True

    def difference(self, worst: int) -> str:
        """Say which position does not follow its velocity, as `continued` has found; empty where all do."""
        return self._travel.text(worst)

    def fault(self, h: float, q: Array, sent: Array | None) -> str:
        """Take a joint state after a step [s]; return why it must not be used."""
        self._h += h
        self._taken = True
        if not self._with_v:
            self._taken = self._with_q = bool((np.abs(q) < FREE_POSITION).all())
            if self._taken:
                self._q[:] = q
            return ""
        last, v = self._q, self._v.copy()
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
        self._q[:] = q
        if found:
            self._v[:], self._h = (v if sent is None else sent), 0.0
            self._travel.restart()
        return found

    def follow(self, v: Array, *, measured: bool) -> str:
        """Take the velocities used with the joint state; return a difference to the travel."""
        if not self._taken:
            return ""
        h, self._h = self._h, 0.0
        self._v[:], self._with_v = v, self._with_q
        if not measured:
            self._travel.restart()
            return ""
        return self._travel.add(h, self._q, v)


class _Still:
    """Joint states that repeat exactly although they say that joints move.

    Attributes:
        frozen: Whether they must not be used for it.
    """

    def __init__(self, names: tuple[str, ...], figures: Array) -> None:
        self._names, self._figures = names, figures
        self.reset()

    def reset(self) -> None:
        """Begin without a repetition."""
        self._figures[RUN] = self._figures[USUAL] = 0.0
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
        self._figures[RUN] += h
        run = self._figures[RUN]
        speed = np.abs(v)
        fastest = int(speed.argmax())
        if run * speed[fastest] < STILL_TRAVEL or run < USUAL_RUNS * self._figures[USUAL]:
            return ""
        self.frozen = True
        return f"position of {self._names[fastest]} is frozen at a velocity of {v[fastest]:.3g} rad/s"

    def ended(self) -> bool:
        """Note that positions change; return whether they were frozen."""
        frozen, figures = self.frozen, self._figures
        figures[USUAL] += USUAL_SHARE * (figures[RUN] - figures[USUAL])
        figures[RUN], self.frozen = 0.0, False
        return frozen
