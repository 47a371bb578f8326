"""Windows of data with the predictions of the robot's description, stacked for the checks."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inertial_estimation.data_checks.data_window import DataWindow
from inertial_estimation.models.base_acceleration import ImuToBase
from inertial_estimation.models.joint_limits import urdf_limits, with_another_turn
from inertial_estimation.models.nominal_load import NominalLoad, NominalState
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array

FEWEST_POINT_CONTACTS = 3  # with as many, contacts are points, which transmit no moment


@dataclass(frozen=True, eq=False)
class CheckedRobot:
    """What the checks need to know of a robot.

    Attributes:
        model: The robot.
        contacts: Names of its contacts.
        imu: Link of the IMU; empty without one.
        lower: Lowest plausible joint positions, -inf without limit [rad], shape (n,).
        upper: Highest plausible joint positions, inf without limit [rad], shape (n,).
        effort: Largest joint torques, inf without limit [Nm], shape (n,).
    """

    model: RobotModel
    contacts: tuple[str, ...]
    imu: str
    lower: Array
    upper: Array
    effort: Array

    @classmethod
    def of(cls, setup: RobotSetup) -> "CheckedRobot":
        """Read the limits of the description."""
        robot = setup.robot
        limits = urdf_limits(robot)
        lower, upper = with_another_turn(limits.lower, limits.upper)
        effort = np.array(robot.model.effortLimit[robot.n_base :], dtype=np.float64)
        return cls(
            robot,
            setup.contact_names,
            setup.imu.frame if setup.imu is not None else "",
            lower,
            upper,
            np.where(effort > 0.0, effort, np.inf),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the joints."""
        return self.model.joint_names


@dataclass(frozen=True, eq=False)
class PredictedWindow:
    """A window, the motion of the base in it, and what the description predicts.

    Attributes:
        data: The signals.
        state: Forces and kinematics.
        R_BI: Orientation of the IMU in the base, shape (3, 3).
        w_BI_I: Angular velocity of the IMU relative to the base, IMU axes [rad/s], shape (3,).
    """

    data: DataWindow
    state: NominalState
    R_BI: Array
    w_BI_I: Array


class WindowPredictor:
    """Predicts what a window should hold."""

    def __init__(self, setup: RobotSetup) -> None:
        self._robot = setup.robot
        self._imu = setup.imu
        self._load = NominalLoad(setup.robot, setup.contacts)
        floats = setup.robot.floating_base
        self._to_base = ImuToBase(setup.robot, setup.imu) if floats and setup.imu is not None else None

    def predicted(self, window: DataWindow) -> PredictedWindow:
        """Predict; forces are NaN for a floating base whose acceleration is not measured."""
        joints = (window.q, window.dq, window.ddq)
        if not self._robot.floating_base:
            return PredictedWindow(window, self._load.at(*joints, None), np.eye(3), np.zeros(3))
        base = (np.full(3, np.nan),) * 3
        if self._to_base is not None and np.isfinite(window.f_I).all():
            base = self._to_base.base_motion(joints, window.f_I, window.w_I, window.wd_I)
        state = self._load.at(*joints, base)
        if self._imu is None:
            return PredictedWindow(window, state, np.eye(3), np.zeros(3))
        return PredictedWindow(window, state, *self._load.frame_motion(self._imu.frame_id, base[1]))


@dataclass(frozen=True, eq=False)
class DataTable:
    """Windows stacked along the first axis, N of them; names as in `DataWindow` and `NominalState`.

    In addition `n_base`, the number of velocities of the base, and `mass`, that of the robot [kg].
    """

    q: Array
    dq: Array
    v: Array
    tau: Array
    f_I: Array
    w_I: Array
    wrenches: Array
    force: Array
    jacobians: Array
    points_B: Array
    rotations_BF: Array
    com_B: Array
    R_BI: Array
    w_BI_I: Array
    n_base: int
    mass: float

    @classmethod
    def of(cls, windows: Sequence[PredictedWindow], robot: RobotModel) -> "DataTable":
        """Stack windows of a robot."""
        data = {
            name: np.array([getattr(w.data, name) for w in windows])
            for name in ("q", "dq", "v", "tau", "f_I", "w_I", "wrenches")
        }
        state = {
            name: np.array([getattr(w.state, name) for w in windows])
            for name in ("force", "jacobians", "points_B", "rotations_BF", "com_B")
        }
        return cls(
            **data,
            **state,
            R_BI=np.array([w.R_BI for w in windows]),
            w_BI_I=np.array([w.w_BI_I for w in windows]),
            n_base=robot.n_base,
            mass=robot.total_mass,
        )

    @property
    def size(self) -> int:
        """Number of windows."""
        return len(self.q)

    @property
    def n_joints(self) -> int:
        """Number of joints."""
        return int(self.q.shape[1])

    @property
    def point_contacts(self) -> bool:
        """Whether the contacts are points; up to two are soles."""
        return bool(self.jacobians.shape[1] >= FEWEST_POINT_CONTACTS)

    @property
    def f_B(self) -> Array:
        """Specific force in base axes, shape (N, 3)."""
        turned: Array = np.einsum("nij,nj->ni", self.R_BI, self.f_I)
        return turned

    @property
    def forces_B(self) -> Array:
        """Forces at the contacts in base axes, shape (N, k, 3)."""
        turned: Array = np.einsum("nkij,nkj->nki", self.rotations_BF, self.wrenches[:, :, :3])
        return turned

    @property
    def contact_force(self) -> Array:
        """Generalised force of all contacts, J' w, shape (N, nv); NaN where one was not measured."""
        summed: Array = np.einsum("nkiv,nki->nv", self.jacobians, self.wrenches)
        return summed

    @property
    def speed(self) -> Array:
        """Largest joint speed, shape (N,)."""
        fastest: Array = np.abs(self.dq).max(axis=1, initial=0.0)
        return fastest
