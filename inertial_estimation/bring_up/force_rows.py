"""What the forces of a recording leave unexplained, with the columns of everything that may explain it.

At each window the equation of motion gives, for base and joints,

    r = S' tau + J' w - (M a + c) = Y dtheta + friction + wrong scales + noise

with Y dtheta of changed masses and centres of mass. Contact wrenches that are not measured are projected out:
the rows are multiplied by a basis of the null space of their Jacobian (Mistry et al., ICRA 2010).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.bring_up.uniform_signals import UniformSignals
from inertial_estimation.models.base_acceleration import ImuToBase
from inertial_estimation.models.candidate_columns import CandidateColumns, candidate_links
from inertial_estimation.models.geometry_slopes import GeometrySlopes, GravityTorques
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra


class GeometryColumns:
    """Slopes of the base wrench and the torques that are predicted for a window.

    Contact wrenches that are not measured are those of least squares, sum of J' w = M a + c - S' tau.
    """

    def __init__(self, signals: UniformSignals, setup: RobotSetup, *, measured_wrenches: bool) -> None:
        """Prepare the derivatives.

        Args:
            signals: The signals.
            setup: The robot.
            measured_wrenches: Whether the contact wrenches are measured.
        """
        self._signals, self._n_base, self._measured = signals, setup.robot.n_base, measured_wrenches
        self._slopes = GeometrySlopes(setup)

    @property
    def turning(self) -> tuple[str, ...]:
        """Names of the joints that turn, t of them."""
        return self._slopes.turning

    def at(self, i: int) -> Array:
        """Return the columns of an IMU's rotation (floating base, 3), then those of turning joints' offsets.

        Args:
            i: Number of the window.

        Returns:
            Columns of base and joints, shape (nv, 3 + t) or (nv, t).
        """
        table, signals = self._signals.windows, self._signals
        motion = table.q[i], table.dq[i], signals.ddq[i]
        readings = table.f_I[i], table.w_I[i], signals.wd_I[i]
        return self._slopes.at(motion, readings, self._wrenches(i))

    def _wrenches(self, i: int) -> Array:
        """Return the contact wrenches of a window, measured or of least squares, shape (k, 6)."""
        table = self._signals.windows
        wrenches: Array = np.nan_to_num(table.wrenches[i])
        if self._measured or not wrenches.size:
            return wrenches
        J = table.jacobians[i]
        used = slice(0, 3) if table.point_contacts else slice(0, 6)
        acting = np.concatenate((np.zeros(self._n_base), table.tau[i]))
        known = np.isfinite(acting)
        columns = J[:, used].reshape(-1, J.shape[2]).T[known]
        found = linear_algebra.pinv(columns, 1e-6) @ (table.force[i] - acting)[known]
        wrenches[:, used] = found.reshape(len(J), -1)
        return wrenches


MOST_WINDOWS = 250
AVERAGED = 5  # windows; the noise of an IMU is in the columns, too, and would draw all masses to zero
SLOW = 0.05  # speed over which Coulomb friction changes its sign [rad/s]
FRICTION = 4  # columns of a joint: offset, Coulomb, viscous, rotor inertia


@dataclass(frozen=True, eq=False)
class ForceRows:
    """Rows of N windows, m each, before weighting.

    Attributes:
        left: Measured minus predicted, shape (N, m).
        measured: Measured part alone, for the size of the noise, shape (N, m).
        loads: Columns of mass and first moment of each body, shape (N, m, b, 4).
        friction: Columns of each measured joint's friction, shape (N, m, j, 4).
        gains: Columns of each measured joint's predicted torque, for its effort's scale, shape (N, m, j).
        wrenches: Columns of each contact's measured wrench, shape (N, m, k).
        zeros: Columns of a constant wrench in each contact's sensor, shape (N, m, 6 k).
        whole: Column of all masses times a factor, shape (N, m).
        links: A link of each body.
        masses: Their nominal masses [kg], shape (b,).
        joints: Names of the measured joints.
        contacts: Names of the contacts with measured wrenches.
        gravity: Columns of the gravity of a fixed base, in its axes, shape (N, m, 3); (N, m, 0) of others.
        geometry: Columns of a rotation of the IMU (floating base, 3) and of each turning joint's offset,
            shape (N, m, 3 + t) or (N, m, t).
        turning: Names of the joints that turn, t of them.
    """

    left: Array
    measured: Array
    loads: Array
    friction: Array
    gains: Array
    wrenches: Array
    zeros: Array
    whole: Array
    links: tuple[str, ...]
    masses: Array
    joints: tuple[str, ...]
    contacts: tuple[str, ...]
    gravity: Array
    geometry: Array
    turning: tuple[str, ...]


def force_rows(signals: UniformSignals, setup: RobotSetup) -> ForceRows | None:
    """Build the rows.

    Args:
        signals: The signals, with correct signs and units.
        setup: The robot.

    Returns:
        The rows, or None where neither efforts nor contact wrenches are known together with the motion.
    """
    table, robot = signals.windows, setup.robot
    with_tau = np.isfinite(table.tau).mean(axis=0) > 0.5
    n_base = robot.n_base
    with_wrenches = bool(setup.contacts) and np.isfinite(table.wrenches).all(axis=(1, 2)).mean() > 0.5
    if n_base and not with_wrenches and not (setup.contacts and with_tau.any()):
        return None
    rows = np.concatenate((np.ones(n_base, dtype=bool), with_tau))
    if not rows.any():
        return None
    known = np.isfinite(table.force).all(axis=1) & np.isfinite(table.tau[:, with_tau]).all(axis=1)
    if with_wrenches:
        known &= np.isfinite(table.wrenches).all(axis=(1, 2))
    kept = np.flatnonzero(known)
    if len(kept) < 20:
        return None
    averaged = AVERAGED if n_base and with_wrenches else 1
    builder = _Builder(signals, setup, rows, with_tau, measured_wrenches=bool(with_wrenches))
    return builder.build(_groups(kept, averaged))


def _groups(kept: NDArray[np.int64], averaged: int) -> NDArray[np.int64]:
    """Return groups of windows to be averaged, spread over the recording, shape (g, averaged)."""
    count = len(kept) // averaged
    groups = kept[: count * averaged].reshape(count, averaged)
    return groups[:: max(1, -(-count * averaged // MOST_WINDOWS))]


class _Builder:
    def __init__(
        self,
        signals: UniformSignals,
        setup: RobotSetup,
        rows: Array,
        with_tau: Array,
        *,
        measured_wrenches: bool,
    ) -> None:
        self._setup, self._rows, self._with_tau = setup, rows, with_tau
        self._table = signals.windows
        self._measured = measured_wrenches
        robot = setup.robot
        self._n_base, self._joints = robot.n_base, np.flatnonzero(with_tau)
        self._candidates = CandidateColumns(robot, candidate_links(robot, ["*"], []))
        floats = robot.floating_base and setup.imu is not None
        self._to_base = ImuToBase(robot, setup.imu) if floats and setup.imu is not None else None
        self._ddq, self._wd_I = signals.ddq, signals.wd_I
        self._gravity = None if robot.floating_base else GravityTorques(robot)
        self._geometry = GeometryColumns(signals, setup, measured_wrenches=measured_wrenches)

    def build(self, groups: NDArray[np.int64]) -> ForceRows:
        """Build the rows, means over groups of windows."""
        parts = []
        for group in groups.tolist():
            each = zip(*(self._window(i) for i in group), strict=True)
            parts.append([np.mean(arrays, axis=0) for arrays in each])
        left, measured, loads, friction, gains, wrenches, zeros, whole, gravity, geometry = map(
            np.array, zip(*parts, strict=True)
        )
        names = self._setup.robot.joint_names
        contacts = self._setup.contact_names if self._measured else ()
        return ForceRows(
            left=left,
            measured=measured,
            loads=loads,
            friction=friction,
            gains=gains,
            wrenches=wrenches,
            zeros=zeros,
            whole=whole,
            links=self._candidates.links,
            masses=self._candidates.masses,
            joints=tuple(names[j] for j in self._joints.tolist()),
            contacts=contacts,
            gravity=gravity,
            geometry=geometry,
            turning=self._geometry.turning,
        )

    def _window(self, i: int) -> tuple[Array, ...]:
        table, rows, n = self._table, self._rows, self._n_base
        nv = len(rows)
        loads, friction, gains = (
            self._loads(i),
            np.zeros((nv, len(self._joints), FRICTION)),
            np.zeros((nv, len(self._joints))),
        )
        acting = np.zeros(nv)
        dq, ddq = table.dq[i], self._ddq[i]
        for k, j in enumerate(self._joints.tolist()):
            friction[n + j, k] = 1.0, np.tanh(dq[j] / SLOW), dq[j], ddq[j]
            acting[n + j] = table.tau[i, j]
        J = table.jacobians[i]
        pushed = np.einsum("kiv,ki->vk", J, np.nan_to_num(table.wrenches[i]))
        predicted = table.force[i] - pushed.sum(axis=1)  # without the noise of the efforts
        for k, j in enumerate(self._joints.tolist()):
            gains[n + j, k] = predicted[n + j]
        zeros = J.reshape(-1, nv).T
        if self._measured:
            acting = acting + pushed.sum(axis=1)
        left = acting - table.force[i]
        none = np.zeros((nv, 0))
        gravity = none if self._gravity is None else self._gravity.at(table.q[i])
        geometry = self._geometry.at(i)
        columns = (left, acting, loads, friction, gains, pushed, zeros, table.force[i], gravity, geometry)
        chosen = [array[rows] for array in columns]
        if self._n_base and not self._measured:
            basis = self._free_of_contacts(J[:, :, rows])
            chosen = [np.tensordot(basis, array, axes=1) for array in chosen]
        if not self._measured:
            chosen[5], chosen[6] = chosen[5][:, :0], chosen[6][:, :0]
        return tuple(chosen)

    def _loads(self, i: int) -> Array:
        """Columns of the loads on all bodies at a window, shape (nv, b, 4)."""
        table, robot = self._table, self._setup.robot
        v, a = table.dq[i], self._ddq[i]
        if self._to_base is not None:
            joints = (table.q[i], v, a)
            f_B, w_B, wd_B = self._to_base.base_motion(joints, table.f_I[i], table.w_I[i], self._wd_I[i])
            v, a = np.concatenate((np.zeros(3), w_B, v)), np.concatenate((f_B, wd_B, a))
        loads: Array = self._candidates.at(robot.configuration(table.q[i]), v, a).loads.transpose(1, 0, 2)
        return loads

    def _free_of_contacts(self, J: Array) -> Array:
        """Rows that no contact force changes, shape (m, rows); as many in every window."""
        wrenches = J[:, :3] if self._table.point_contacts else J
        columns = wrenches.reshape(-1, J.shape[2]).T
        U, _values, _Vt = linear_algebra.svd(columns)
        free: Array = U[:, min(columns.shape) :].T
        return free
