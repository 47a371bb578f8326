"""Velocity of the IMU from the contacts in use, and the ground reaction at each contact."""

from collections.abc import Sequence

from inertial_estimation.compilation import (
    Column,
    MutableColumn,
    MutableTable,
    Table,
    compiled,
    compiling,
    inlined,
    warm_up,
    zeros,
)
from inertial_estimation.models.contact_motions import KinematicState
from inertial_estimation.models.contacts import (
    ContactConfig,
    ContactLoad,
    anchor_velocity,
    centre_of_pressure,
    contact_probability,
    trigger,
    weighing_force,
)
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import (
    ZERO,
    Vector,
    add,
    combine,
    cross,
    dot,
    matrix_of,
    norm,
    store,
    times,
    vector,
    vector_of,
)

__all__ = ["ContactVelocity", "in_contact_frame"]

# A foot whose velocity is at a distance d from the expected one, with a usual variance s^2 of each axis, has
# the information (NU + 3) / (NU + d^2 / s^2) of a usual foot: maximum likelihood for Student's t-distribution
# of NU degrees of freedom, of which more than two have a finite variance.
NU = 3.0
USUAL_MEMORY = 4.0  # time constant of s^2 [s]
INITIAL_VARIANCE, LEAST_VARIANCE = 0.05**2, 0.01**2  # of s^2 [m^2/s^2]
VARIANCE, INFORMATION = range(2)  # numbers of the state: s^2, information of the last velocity over the usual
CLOSED, THRESHOLD, FORCE, PROBABILITY = range(4)  # columns of `triggers`, the second and third in N
PRESSED = 2.0  # times `force_on`: a force that a foot in the air does not bear


class ContactVelocity:
    """Weights the contacts by their vertical force and computes the velocity of the IMU from those in use.

    Attributes:
        config: Force thresholds and resting point of the contacts; it may be replaced at run time.
        weights: Shares of the contacts in the velocity at the last step with joints and wrenches, of sum 1 or
            all zero.
        no_weights: Weights with no contact in use.
    """

    def __init__(self, config: ContactConfig, names: Sequence[str], max_gap: float) -> None:
        """Begin with no contact in use.

        Args:
            config: Force thresholds and resting point of the contacts.
            names: Names of the contacts.
            max_gap: Longest step over which the motion of a contact point is averaged [s].
        """
        self.config = config
        self._names = tuple(names)
        self._names_in_use: dict[int, tuple[str, ...]] = {}
        self._max_gap = max_gap
        self.no_weights = zeros(len(names))
        warm_up()
        self.reset()

    def reset(self) -> None:
        """Take all contacts out of use and discard their motion."""
        n = len(self._names)
        self._triggers = zeros(n, 4)  # whether in use, threshold [N], vertical force [N], probability
        self._centres = zeros(n, 3)  # of pressure, in the contact frames [m]
        self._wrenches: Array | None = None  # the last ones, each in its wrench frame
        self._previous: KinematicState | None = None
        self.weights = zeros(n)
        self._used = 0  # bits of the contacts in use
        self._scatter = zeros(2)
        self._scatter[VARIANCE], self._scatter[INFORMATION] = INITIAL_VARIANCE, 1.0

    @property
    def in_use(self) -> tuple[str, ...]:
        """Names of the contacts in use at the last step with joints and wrenches."""
        names = self._names_in_use.get(self._used)
        if names is None:
            names = tuple(name for i, name in enumerate(self._names) if self._used >> i & 1)
            self._names_in_use[self._used] = names
        return names

    @property
    def loading(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Vertical force [N] and probability of each contact at the last step with joints and forces.

        The probability is a logistic function of force and, where not sensed, of speed.
        """
        rows = self._triggers.tolist() if compiling() else self._triggers
        return tuple([row[FORCE] for row in rows]), tuple([row[PROBABILITY] for row in rows])

    @property
    def contradictory(self) -> bool:
        """Whether a contact bears a force although by the tilt none is pushed up."""
        if self._wrenches is None or self._used:
            return False
        return any(norm(vector_of(wrench, 0)) > PRESSED * self.config.force_on for wrench in self._wrenches)

    @property
    def information(self) -> float:
        """Information of the last velocity over the usual one, low where the feet contradict the IMU."""
        return float(self._scatter[INFORMATION])

    def remember(self, state: KinematicState | None) -> None:
        """Store the kinematics at the end of a step, None where its joints are missing."""
        self._previous = state

    def velocity(
        self,
        state: KinematicState,
        wrenches: Array,
        x2: Vector,
        w: Vector,
        h: float,
        expected: Vector | None = None,
    ) -> Vector | None:
        """Compute the contact weights and return the velocity of the IMU.

        Args:
            state: Kinematics at the end of the step.
            wrenches: A row for each contact, in its wrench frame [N, Nm], as `compilation.numbers` of shape
                (n, 6).
            x2: The vertical in the IMU frame.
            w: Angular velocity of the IMU, mean over the step [rad/s].
            h: Duration of the step [s].
            expected: The velocity by the IMU, mean over the step [m/s]; contacts that contradict it lose
                weight. None: the forces alone weigh the contacts.

        Returns:
            Velocity of the IMU in its own frame [m/s]; None where no contact is in use.
        """
        self._wrenches = wrenches
        config, previous = self.config, self._previous if h <= self._max_gap else None
        differentiated = previous is not None and config.velocity == "position_difference"
        self._used, y_v = _velocity(
            (state.motions, state.motions if previous is None else previous.motions),
            state.wrench_frames,
            wrenches,
            x2,
            w,
            (h, h if differentiated else 0.0),
            ZERO if expected is None else expected,
            expected is not None,
            (config.force_on, config.force_off),
            expected is not None and not config.sensed,
            config.extent if config.point == "centre_of_pressure" else 0.0,
            self._triggers,
            self._centres,
            self.weights,
            self._scatter,
        )
        return y_v if self._used else None

    def feet(self, state: KinematicState) -> list[Vector | None]:
        """Return the position of each contact point in the IMU frame [m], None for contacts not in use.

        Args:
            state: Kinematics at the end of the step.
        """
        rows = zip(state.motions, self._centres, self.weights, strict=True)
        return [_point(motion, centre) if weight > 0.0 else None for motion, centre, weight in rows]

    def loads(self, state: KinematicState) -> tuple[ContactLoad, ...]:
        """Return point, force and weight of every contact; empty before the first wrenches.

        Args:
            state: Kinematics at the time of the last wrenches.
        """
        if self._wrenches is None:
            return ()
        loads = []
        rows = zip(
            *(self._names, state.motions, state.wrench_frames, self._centres, self._wrenches, self.weights),
            strict=True,
        )
        for name, motion, frame, centre, wrench_F, weight in rows:
            point_B = add(state.p_BI, times(state.R_BI, _point(motion, centre)))
            force_C, _torque_C = in_contact_frame(frame, wrench_F)
            force_B = times(state.R_BI, times(matrix_of(motion, 0), force_C))
            loads.append(ContactLoad(name, vector(point_B), vector(force_B), float(weight)))
        return tuple(loads)


@inlined
def _combined(
    motions: tuple[Table, Table],
    w: Vector,
    difference: float,
    judge: tuple[float, float],
    expected: Vector,
    centres: Table,
    weights: MutableColumn,
    scatter: MutableColumn,
) -> tuple[int, Vector]:
    """Return the contacts in use, a bit for each, and their mean velocity; weights become shares.

    The first number of `judge` is the duration of the step [s], or 0 where contacts that contradict the
    expected velocity keep their weight; the second is the sum of all weights. The others are those of
    `_velocity`.
    """
    step, total = judge
    y_v, used, share, squares = ZERO, 0, 0.0, 0.0
    for i in range(len(weights)):
        if weights[i] > 0.0:
            used |= 1 << i
            point, velocity = _motion_of_point(motions[0][i], motions[1][i], centres[i], difference)
            y = anchor_velocity(point, velocity, w)
            if step > 0.0:
                d = combine(y, -1.0, expected)
                square = dot(d, d)
                information = (NU + 3.0) / (NU + square / scatter[VARIANCE])
                squares += weights[i] * information * square / 3.0
                weights[i] *= information
            share += weights[i]
            y_v = combine(y_v, weights[i], y)
    for i in range(len(weights)):
        weights[i] /= share
    scatter[INFORMATION] = share / total
    seen = squares / total - scatter[VARIANCE]
    if step > 0.0:
        scatter[VARIANCE] = max(scatter[VARIANCE] + step / (step + USUAL_MEMORY) * seen, LEAST_VARIANCE)
    return used, (y_v[0] / share, y_v[1] / share, y_v[2] / share)


@compiled
def _velocity(
    motions: tuple[Table, Table],
    wrench_frames: Table,
    wrenches: Table,
    x2: Vector,
    w: Vector,
    durations: tuple[float, float],
    expected: Vector,
    judged: bool,
    thresholds: tuple[float, float],
    unsensed: bool,
    extent: float,
    triggers: MutableTable,
    centres: MutableTable,
    weights: MutableColumn,
    scatter: MutableColumn,
) -> tuple[int, Vector]:
    """Weigh the contacts; return which are in use, a bit for each, and the velocity of the IMU.

    Args:
        motions: Rows of `KinematicState.motions` at the end of the step and at its begin; the former twice
            where the latter are unknown.
        wrench_frames: Those of the kinematic state.
        wrenches: One row for each contact.
        x2: The vertical in the IMU frame.
        w: Angular velocity of the IMU, mean over the step [rad/s].
        durations: Of the step, and that over which positions are differentiated [s]; the latter 0: joint
            velocities are used.
        expected: Velocity of the IMU by the IMU [m/s].
        judged: Whether contacts that contradict it lose weight.
        thresholds: `force_on` and `force_off` [N].
        unsensed: Whether the forces are not sensed at the contacts, so that points that move against the
            expected velocity need more of them.
        extent: Of the soles, for the centre of pressure [m]; 0: the origin of the contact is at rest.
        triggers: Whether each contact is in use, its threshold, force and probability; updated.
        centres: Centres of pressure in the contact frames [m]; updated.
        weights: Shares of the contacts; written.
        scatter: Usual variance of the contacts about the expected velocity, and information; updated.
    """
    total = 0.0
    for i in range(len(weights)):
        force_C, torque_C = in_contact_frame(wrench_frames[i], wrenches[i])
        vertical = dot(x2, times(matrix_of(motions[0][i], 0), force_C))
        centre = ZERO
        if extent > 0.0:
            centre = centre_of_pressure(force_C, torque_C, extent, vector_of(centres[i], 0))
        store(centres[i], 0, centre)
        on, off = thresholds
        triggers[i][FORCE] = vertical
        if unsensed:
            point, velocity = _motion_of_point(motions[0][i], motions[1][i], centres[i], durations[1])
            d = combine(anchor_velocity(point, velocity, w), -1.0, expected)
            vertical = weighing_force(vertical, on, dot(d, d))
        triggers[i][PROBABILITY] = contact_probability(vertical, on, off)
        weights[i], closed, threshold = trigger(
            vertical, on, off, triggers[i][CLOSED] > 0.0, triggers[i][THRESHOLD]
        )
        triggers[i][CLOSED], triggers[i][THRESHOLD] = 1.0 if closed else 0.0, threshold
        total += weights[i]
    if total <= 0.0:
        return 0, ZERO
    judge = durations[0] if judged else 0.0
    return _combined(motions, w, durations[1], (judge, total), expected, centres, weights, scatter)


@inlined
def _motion_of_point(now: Column, before: Column, centre: Column, difference: float) -> tuple[Vector, Vector]:
    """Position and velocity of a contact point relative to the IMU, mean over the step."""
    p1, p0 = _point(now, centre), _point(before, centre)
    point = (0.5 * (p0[0] + p1[0]), 0.5 * (p0[1] + p1[1]), 0.5 * (p0[2] + p1[2]))
    if difference > 0.0:
        d = combine(p1, -1.0, p0)
        return point, (d[0] / difference, d[1] / difference, d[2] / difference)
    v1, v0 = _point_velocity(now, centre), _point_velocity(before, centre)
    return point, (0.5 * (v0[0] + v1[0]), 0.5 * (v0[1] + v1[1]), 0.5 * (v0[2] + v1[2]))


@inlined
def in_contact_frame(frame: Column, wrench_F: Column) -> tuple[Vector, Vector]:
    """Move a wrench from its own frame to the contact frame: f_C = R f, n_C = R n + p x f_C.

    Args:
        frame: Pose of the wrench frame in the contact frame: R by rows, then p [m], shape (12,).
        wrench_F: Force then moment [N, Nm], shape (6,).
    """
    R_CF = matrix_of(frame, 0)
    force = times(R_CF, vector_of(wrench_F, 0))
    return force, add(times(R_CF, vector_of(wrench_F, 3)), cross(vector_of(frame, 9), force))


@inlined
def _point(motion: Column, centre: Column) -> Vector:
    return add(vector_of(motion, 9), times(matrix_of(motion, 0), vector_of(centre, 0)))


@inlined
def _point_velocity(motion: Column, centre: Column) -> Vector:
    lever = times(matrix_of(motion, 0), vector_of(centre, 0))
    return add(vector_of(motion, 12), cross(vector_of(motion, 15), lever))
