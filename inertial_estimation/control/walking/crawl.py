"""The crawl: a statically stable walk on four or more points (Tournois et al. V-C, Focchi et al. 2016).

All feet stand while the centre of mass moves over the polygon of the feet that will carry; there it rests,
the foot that leaves gives up its load, swings, and lands. The robot could stop at any moment.
"""

import math
from collections.abc import Sequence

import numpy as np

from inertial_estimation.control.contact_forces import Contact
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.control.support_polygon import Point
from inertial_estimation.control.support_target import SupportTarget
from inertial_estimation.control.walking.body_path import BodyPath, path_duration
from inertial_estimation.control.walking.footholds import Footholds, foot_sequence
from inertial_estimation.control.walking.ground_map import GroundFrame, GroundMap, GroundPlane
from inertial_estimation.control.walking.support_region import edge_distance, rest_point
from inertial_estimation.control.walking.swing import SwingPath
from inertial_estimation.control.walking.walking_config import CrawlConfig, WalkingConfig
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.whole_body_dynamics import DynamicsState
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import yaw_of

__all__ = ["CrawlGait"]

STANDING, TRANSFER, DWELL, SWING = "standing", "transfer", "dwell", "swing"
LEAP = 0.002  # of the centre of mass between two ticks: its inertias have changed [m]
LEAST_LOAD = 1e-3  # of a foot still on the ground: it may push, but hardly does
TOUCH = 0.008  # how long the ground must be felt, longer than a peak of the noise [s]
LIFTED = 0.2  # of a swing: from here on a force at the foot is new ground, or the robot tips over
LAG = 0.01  # of a foot behind its way down: the ground is there [m]
CATCH_TIME = 0.1  # in which a foot is put down that was caught in the air [s]
STAY = 0.9  # of the margin: where it has that much, the body does not move again
PLANE_TIME = 0.3  # in which the height follows a plane of the ground that a landing has changed [s]
SETTLING = (
    0.5  # the feet of a standing robot are taken from where they are, the base leans with the ground [s]
)


class CrawlGait:
    """Decides which foot swings, and where the centre of mass goes meanwhile.

    Attributes:
        phase: "standing", "transfer" (all feet stand, the body moves), "dwell" (all rest) or "swing".
        steps_made: Swings landed since the start.
        held: Whether it is asked to stand, whatever is left of the walk.
        sequence: The feet in the order they step.
    """

    def __init__(self, contacts: Sequence[Contact], walking: WalkingConfig, crawl: CrawlConfig) -> None:
        """Stand.

        Args:
            contacts: The contacts, points.
            walking: Heights, touchdown.
            crawl: Durations, sequence, margin.
        """
        self._names = tuple(contact.name for contact in contacts)
        foot_sequence(self._names, crawl.sequence, np.zeros((len(contacts), 2)))
        self._walking, self._crawl = walking, crawl
        self.held = False
        self.sequence: tuple[int, ...] = ()
        self.reset()

    def set_config(self, walking: WalkingConfig, crawl: CrawlConfig) -> None:
        """Take new durations and heights, from the next phase on."""
        self._walking, self._crawl = walking, crawl

    def reset(self) -> None:
        """Stand, forget the steps asked for, those made and where the feet were at the start."""
        self._home: Array | None = None
        self._asked: WalkCommand | None = None
        self._steps = Footholds(np.zeros((len(self._names), 2)))
        self._next = 0
        self._load = np.ones(len(self._names))
        self._begin(STANDING)
        self.held = False
        self.steps_made = 0

    def start(self, state: DynamicsState) -> None:
        """Stand on the feet as they are.

        Args:
            state: Dynamics now.
        """
        yaw = yaw_of(state.base.R_WF)
        frame = GroundFrame.at(yaw, np.zeros(3))
        self._map = GroundMap([frame.to_ground(motion.p_BF_W) for motion in state.frames])
        if self._home is None:
            self._home = self._map.places[:, :2].copy()
            self._steps = Footholds(self._home)
            self.sequence = foot_sequence(self._names, self._crawl.sequence, self._home)
        self._steps.stand(self._map.places)
        self._steps.left = 0
        self._load[:] = 1.0
        self._plane = self._old_plane = self._map.plane()
        self._since_landing, self._touch = PLANE_TIME, 0.0
        self._tipping = self._caught = False
        self._lean = np.zeros(2)
        self._place: Array | None = None  # of the centre of mass at the last tick
        self._begin(STANDING)

    def command(self, command: WalkCommand) -> None:
        """Take steps to walk from now on, swings of single feet; while walking they replace what is left.

        Raises:
            ConfigurationError: If the steps are too long.
        """
        if abs(command.length) > self._walking.longest_step:
            raise ConfigurationError(
                f"steps of {command.length:g} m, expected at most walking.longest_step, "
                f"{self._walking.longest_step:g} m"
            )
        self._asked = command

    def hold(self, held: bool) -> None:
        """Stand on all feet, or go on with what is left of the walk.

        Args:
            held: True: the swing under way ends, then it stands; False: it goes on.
        """
        self.held = held

    def target(
        self,
        state: DynamicsState,
        centres: Sequence[Array],
        omega: float,
        dcm: Array,
        h: float,
        forces: Sequence[float | None] = (),
    ) -> SupportTarget:
        """Return what is wanted of the feet now.

        Args:
            state: Dynamics now.
            centres: Feet relative to the base origin, world axes [m], shape (3,) each.
            omega: Frequency of the pendulum [1/s].
            dcm: Divergent component of motion, measured [m], shape (2,).
            h: Time since the last call [s].
            forces: Measured force of each contact [N]; None where there is none.
        """
        self._elapsed += h
        self._since_landing += h
        frame = self._map.locate(centres, self._standing())
        fresh = self._follow(state, frame, h)
        self._judge(frame, dcm, omega)
        self._feel(frame, state, forces, h)
        self._move_on(frame, centres)
        self._share_load(h)
        self._lean += min(1.0, h / SETTLING) * (self._walking.follow_slope * self._slope() - self._lean)
        if self.phase == STANDING:
            self._map.update(frame, centres, self._standing(), min(1.0, h / SETTLING))
            self._plane = self._map.plane()
        return self._target(frame, omega, fresh)

    def _begin(self, phase: str) -> None:
        self.phase, self._elapsed = phase, 0.0

    def _standing(self) -> list[int]:
        swing = self._foot if self.phase == SWING else None
        return [i for i in range(len(self._names)) if i != swing]

    @property
    def _foot(self) -> int:
        """The foot that swings, or does next."""
        return self.sequence[self._next]

    def _follow(self, state: DynamicsState, frame: GroundFrame, h: float) -> bool:
        """Take note of the centre of mass; say whether it has leapt, and start from there if it has."""
        place = frame.to_ground(state.com)[:2]
        velocity = (frame.R_WF.T @ state.com_velocity)[:2]
        before, self._place = self._place, place
        if before is None:
            self._lay(place, velocity, np.zeros(2), self._middle())
            return True
        if float(np.abs(place - before - h * velocity).max()) < LEAP:
            return False
        if self.phase == DWELL:
            self._begin(TRANSFER)  # no rest any more
        self._lay(place, velocity, np.zeros(2), self._path.goal)
        return True

    def _lay(self, place: Array, velocity: Array, acceleration: Array, goal: Array | Point) -> None:
        """Lay a new path of the centre of mass, from now on."""
        distance = math.hypot(goal[0] - place[0], goal[1] - place[1])
        duration = path_duration(distance, self._crawl.acceleration, self._crawl.least_transfer)
        self._path = BodyPath(place, velocity, acceleration, np.array(goal), duration)
        self._path_time = self._elapsed

    def _reference(self) -> tuple[Array, Array, Array]:
        return self._path.at(self._elapsed - self._path_time)

    def _middle(self) -> Array:
        middle: Array = self._map.places[:, :2].sum(axis=0) / len(self._names)
        return middle

    def _judge(self, frame: GroundFrame, dcm: Array, omega: float) -> None:
        """Take note of whether the robot is about to tip over, as far as the model knows."""
        place, velocity, _ = self._reference()
        error = dcm - self._point(frame, place + velocity / omega)
        self._tipping = 0.0 < self._crawl.catch < math.hypot(*error.tolist())

    def _move_on(self, frame: GroundFrame, centres: Sequence[Array]) -> None:
        if self.phase == SWING:
            if self._landed():
                self._touch_down(frame, centres)
            elif self._tipping and not self._caught:
                self._come_down(frame, centres)
            return
        self._take_command()
        if self.phase == STANDING:
            if self._steps.left > 0 and not self.held:
                self._set_off()
        elif self.held or self._steps.left == 0:
            self._stand()
        elif self._tipping:
            self._begin_with_path(TRANSFER)
        elif self.phase == TRANSFER and self._elapsed - self._path_time >= self._path.duration:
            self._begin_with_path(DWELL)
        elif self.phase == DWELL and self._elapsed >= self._dwell():
            self._lift_off(frame, centres)

    def _dwell(self) -> float:
        """Duration of the rest: a landed foot takes its load in it, and one gives it up at its end [s]."""
        return max(self._crawl.dwell, 2.0 * self._crawl.load_duration)

    def _take_command(self) -> None:
        if self._asked is None:
            return
        command, self._asked = self._asked, None
        order = [*self.sequence[self._next :], *self.sequence[: self._next]]
        self._steps.walk(self._map.places, order, command.steps, command.length)

    def _begin_with_path(self, phase: str) -> None:
        """Enter a phase; the centre of mass goes on along its path."""
        since = self._elapsed - self._path_time
        self._begin(phase)
        self._path_time = -since

    def _stand(self) -> None:
        """Stand on all feet, the centre of mass in their middle."""
        reference = self._reference()
        self._begin(STANDING)
        self._lay(*reference, self._middle())

    def _set_off(self) -> None:
        """Bring the centre of mass over the coming polygon, if it can be over the next one too."""
        reference = self._reference()
        arrived = self._elapsed - self._path_time >= self._path.duration
        places = self._map.places[:, :2].copy()
        polygons = []
        for ahead in range(min(2, self._steps.left)):
            foot = self.sequence[(self._next + ahead) % len(self.sequence)]
            polygons.append([(x, y) for i, (x, y) in enumerate(places.tolist()) if i != foot])
            places[foot] = self._steps.landing(places, foot)
            if ahead == 0:
                middle = places.mean(axis=0)
        goal = (float(self._path.goal[0]), float(self._path.goal[1]))
        if edge_distance(polygons[0], goal) >= STAY * self._crawl.margin and arrived:
            self._begin_with_path(DWELL)
            return
        preferred = (float(middle[0]), float(middle[1]))
        self._begin(TRANSFER)
        self._lay(*reference, rest_point(polygons, preferred, self._crawl.margin))

    def _lift_off(self, frame: GroundFrame, centres: Sequence[Array]) -> None:
        foot = self._foot
        self._map.update(frame, centres, range(len(self._names)), 1.0)
        x, y = self._steps.landing(self._map.places, foot).tolist()
        self._landing = np.array([x, y, self._plane.height(x, y)])
        start = self._map.places[foot].copy()
        walking, duration = self._walking, self._crawl.swing_duration
        apex = max(float(start[2]), float(self._landing[2])) + walking.swing_height
        self._swing = SwingPath(start, np.zeros(3), duration, apex, walking.touchdown_speed)
        self._load[foot], self._caught = 0.0, False
        self._begin_with_path(SWING)

    def _come_down(self, frame: GroundFrame, centres: Sequence[Array]) -> None:
        """Put the foot down where it is."""
        start = frame.to_ground(centres[self._foot])
        x, y, z = start.tolist()
        self._landing = np.array([x, y, self._ground().height(x, y)])
        self._swing = SwingPath(start, np.zeros(3), CATCH_TIME, z, self._walking.touchdown_speed)
        self._begin_with_path(SWING)
        self._caught = True

    def _feel(
        self, frame: GroundFrame, state: DynamicsState, forces: Sequence[float | None], h: float
    ) -> None:
        """Take note of how long the foot in the air has been stopped by the ground [s].

        A force tells it, where there is a sensor; and that the foot does not follow its way down: a light leg
        hardly presses.
        """
        touched = False
        if self.phase == SWING:
            progress = self._elapsed / self._swing.duration
            force, foot = forces[self._foot] if forces else None, state.frames[self._foot]
            wanted = self._swing.reference(self._elapsed, self._landing, frame)
            slow = foot.velocity[2] - wanted.velocity[2] > 0.5 * self._walking.touchdown_speed
            behind = foot.p_BF_W[2] - wanted.p_BF_W[2] > LAG
            touched = bool(
                (progress >= LIFTED and force is not None and force > self._walking.touchdown_force)
                or (progress >= self._walking.early_touchdown and behind)
                or (progress >= 1.0 and slow)
            )
        self._touch = self._touch + h if touched else 0.0

    def _landed(self) -> bool:
        """Say whether the swing is over: by what the foot feels, in the end by time."""
        late = self._elapsed >= self._swing.duration + self._walking.late_touchdown
        return late or self._touch >= TOUCH

    def _touch_down(self, frame: GroundFrame, centres: Sequence[Array]) -> None:
        self._map.update(frame, centres, [self._foot], 1.0)
        self._old_plane, self._plane = self._ground(), self._map.plane()
        self._since_landing = 0.0
        if self._caught:
            self._begin_with_path(TRANSFER)  # the same foot again, once the robot stands
            return
        self._steps.left -= 1
        self.steps_made += 1
        self._next = (self._next + 1) % len(self.sequence)
        if self._steps.left > 0 and not self.held:
            self._set_off()
        else:
            self._stand()

    def _share_load(self, h: float) -> None:
        """A foot that has landed takes its load; the one about to leave gives it up."""
        rate = h / self._crawl.load_duration
        self._load += rate
        if self.phase == DWELL and self._elapsed >= self._dwell() - self._crawl.load_duration:
            self._load[self._foot] -= 2.0 * rate
        elif self.phase == SWING:
            self._load[self._foot] = 0.0
        np.clip(self._load, LEAST_LOAD, 1.0, out=self._load)

    def _ground(self) -> GroundPlane:
        """Return the plane of the ground, on its way from the one before the last landing."""
        u = min(1.0, self._since_landing / PLANE_TIME)
        return self._old_plane.blended(self._plane, u**3 * (10.0 - 15.0 * u + 6.0 * u * u))

    def _slope(self) -> Array:
        """Return roll and pitch of the ground as seen along the heading [rad], shape (2,)."""
        c, s = math.cos(self._steps.heading), math.sin(self._steps.heading)
        sx, sy = self._ground().slope.tolist()
        pitch = -math.atan(c * sx + s * sy)
        return np.array([math.atan((c * sy - s * sx) * math.cos(pitch)), pitch])

    def _target(self, frame: GroundFrame, omega: float, fresh: bool) -> SupportTarget:
        place, velocity, acceleration = self._reference()
        swing = self._foot if self.phase == SWING else None
        reference = None
        if swing is not None:
            reference = self._swing.reference(self._elapsed, self._landing, frame)
        capacity = [0.0 if i == swing else float(load) ** 2 for i, load in enumerate(self._load)]
        plane = self._ground()
        roll, pitch = self._lean.tolist()
        x, y, _ = frame.to_ground(np.zeros(3)).tolist()
        name = "" if self.phase == STANDING else f" of {self._names[self._foot]}"
        return SupportTarget(
            STANDING if self.phase == STANDING else f"{self.phase}{name}",
            tuple(capacity),
            self._point(frame, place - acceleration / omega**2),
            self._point(frame, place + velocity / omega),
            float(frame.p_BF_W[2]) + plane.height(x, y),
            frame.yaw + self._steps.heading,
            swing,
            reference,
            support_motion=(float(plane.slope @ velocity), float(plane.slope @ acceleration)),
            tilt=(roll, pitch),
            R_WG=frame.R_WF @ plane.axes(),
            fresh=fresh,
        )

    def _point(self, frame: GroundFrame, place: Array) -> Array:
        """Return a place of the ground relative to the base origin, horizontal [m], shape (2,)."""
        return np.array(frame.from_ground(np.array([place[0], place[1], 0.0]))[:2])
