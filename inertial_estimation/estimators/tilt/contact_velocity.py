"""Velocity of the IMU from the contacts in use, and the ground reaction at each contact."""

from collections.abc import Sequence

from inertial_estimation.models.contacts import (
    ContactConfig,
    ContactLoad,
    ContactTrigger,
    KinematicState,
    RelativeContact,
    anchor_velocity,
    centre_of_pressure,
    normalised_weights,
)
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import ZERO, Vector, add, combine, cross, dot, norm, times, vector

__all__ = ["ContactVelocity"]

PRESSED = 2.0  # times `force_on`: a force that a foot in the air does not bear


class ContactVelocity:
    """Weights the contacts by their vertical force and computes the velocity of the IMU from those in use.

    Attributes:
        config: Force thresholds and resting point of the contacts; it may be replaced at run time.
        in_use: Names of the contacts in use at the last step with joints and wrenches.
        weights: Their shares in the velocity, one for each contact, of sum 1 or all zero.
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
        self._max_gap = max_gap
        self._triggers = [ContactTrigger() for _ in names]
        self.reset()

    def reset(self) -> None:
        """Take all contacts out of use and discard their motion."""
        for trigger in self._triggers:
            trigger.reset()
        self._centres: list[Vector] = [ZERO] * len(self._names)  # of pressure, in the contact frames
        self._wrenches: Sequence[Array] | None = None  # the last ones, each in its wrench frame
        self._previous: KinematicState | None = None
        self.in_use: tuple[str, ...] = ()
        self.weights: tuple[float, ...] = self.no_weights

    @property
    def no_weights(self) -> tuple[float, ...]:
        """Weights with no contact in use."""
        return (0.0,) * len(self._names)

    @property
    def contradictory(self) -> bool:
        """Whether a contact bears a force although by the tilt none is pushed up."""
        if self.in_use or self._wrenches is None:
            return False
        return any(norm(vector(wrench[:3])) > PRESSED * self.config.force_on for wrench in self._wrenches)

    def remember(self, state: KinematicState | None) -> None:
        """Store the kinematics at the end of a step, None where its joints are missing."""
        self._previous = state

    def velocity(
        self, state: KinematicState, wrenches: Sequence[Array], x2: Vector, w: Vector, h: float
    ) -> Vector | None:
        """Compute the contact weights and return the velocity of the IMU.

        Args:
            state: Kinematics at the end of the step.
            wrenches: One for each contact, in its wrench frame [N, Nm], shape (6,).
            x2: The vertical in the IMU frame.
            w: Angular velocity of the IMU, mean over the step [rad/s].
            h: Duration of the step [s].

        Returns:
            Velocity of the IMU in its own frame [m/s]; None where no contact is in use.
        """
        self._wrenches = wrenches
        config, forces = self.config, []
        pressed = config.point == "centre_of_pressure"
        for i, (contact, trigger, wrench_F) in enumerate(
            zip(state.contacts, self._triggers, wrenches, strict=True)
        ):
            fx, fy, fz = wrench_F[:3].tolist()
            vertical = dot(x2, times(contact.R_IC, times(contact.R_CF, (fx, fy, fz))))
            forces.append(trigger.weight(vertical, config.force_on, config.force_off))
            if pressed:
                wrench_C = _in_contact_frame(contact, wrench_F)
                self._centres[i] = centre_of_pressure(wrench_C, config.extent, self._centres[i])
            else:
                self._centres[i] = ZERO
        self.weights = normalised_weights(forces)
        self.in_use = tuple(name for name, s in zip(self._names, self.weights, strict=True) if s > 0.0)
        if not self.in_use:
            return None
        points, velocities = self._points(state, h)
        return anchor_velocity(points, velocities, self.weights, w)

    def loads(self, state: KinematicState) -> tuple[ContactLoad, ...]:
        """Return point, force and weight of every contact; empty before the first wrenches.

        Args:
            state: Kinematics at the time of the last wrenches.
        """
        if self._wrenches is None:
            return ()
        loads = []
        rows = zip(self._names, state.contacts, self._centres, self._wrenches, self.weights, strict=True)
        for name, contact, centre, wrench_F, weight in rows:
            point_B = add(state.p_BI, times(state.R_BI, _point(contact, centre)))
            fx, fy, fz, *_moment = _in_contact_frame(contact, wrench_F)
            force_B = times(state.R_BI, times(contact.R_IC, (fx, fy, fz)))
            loads.append(ContactLoad(name, point_B, force_B, weight))
        return tuple(loads)

    def _points(self, state: KinematicState, h: float) -> tuple[list[Vector], list[Vector]]:
        """Positions and velocities of the contact points, mean over the step where its begin is known."""
        previous, points, velocities = self._previous, [], []
        if previous is None or h > self._max_gap:
            for contact, c in zip(state.contacts, self._centres, strict=True):
                points.append(_point(contact, c))
                velocities.append(_point_velocity(contact, c))
            return points, velocities
        differences = self.config.velocity == "position_difference"
        for contact, last, c in zip(state.contacts, previous.contacts, self._centres, strict=True):
            now, before = _point(contact, c), _point(last, c)
            points.append(_mean(before, now))
            if differences:
                velocities.append(_difference(before, now, h))
            else:
                velocities.append(_mean(_point_velocity(last, c), _point_velocity(contact, c)))
        return points, velocities


def _in_contact_frame(contact: RelativeContact, wrench_F: Array) -> tuple[float, ...]:
    """Move a wrench from its own frame to the contact frame: f_C = R f, n_C = R n + p x f_C."""
    fx, fy, fz, nx, ny, nz = wrench_F.tolist()
    force = times(contact.R_CF, (fx, fy, fz))
    torque = add(times(contact.R_CF, (nx, ny, nz)), cross(contact.p_CF, force))
    return force + torque


def _point(contact: RelativeContact, c: Vector) -> Vector:
    return contact.r_I if c is ZERO else add(contact.r_I, times(contact.R_IC, c))


def _point_velocity(contact: RelativeContact, c: Vector) -> Vector:
    return contact.v_I if c is ZERO else add(contact.v_I, cross(contact.w_I, times(contact.R_IC, c)))


def _mean(a: Vector, b: Vector) -> Vector:
    return 0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1]), 0.5 * (a[2] + b[2])


def _difference(a: Vector, b: Vector, h: float) -> Vector:
    x, y, z = combine(b, -1.0, a)
    return x / h, y / h, z / h
