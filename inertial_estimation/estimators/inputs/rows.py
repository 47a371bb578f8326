"""Names of the aligned streams, and the layout of their rows."""

from dataclasses import dataclass

import numpy as np

from inertial_estimation.estimators.inputs.input_stream import StreamSpec
from inertial_estimation.estimators.inputs.stuck_sensors import Sensor
from inertial_estimation.inputs.config import InputConfig
from inertial_estimation.models.input_ranges import base_state_range, imu_range, joint_range, wrench_range
from inertial_estimation.models.robot_config import IMU_TOPIC, RobotConfig
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array, BaseState
from inertial_estimation.spatial.rotations import rotation_from_quaternion

LARGEST_QUATERNION = 1e6  # component; larger ones would overflow when they are normalised
JOINTS, IMU, BASE_STATE = "joint_states", IMU_TOPIC, "base_state"
WRENCH_WIDTH = 6


def wrench_stream(contact: str) -> str:
    """Return the name of a contact's wrench input."""
    return f"{contact}/wrench"


def desired_wrench_stream(contact: str) -> str:
    """Return the name of the input of the wrench that a planner wants at a contact."""
    return f"{contact}/desired_wrench"


@dataclass(frozen=True)
class JointRow:
    """Columns of a row of joint states; optional quantities that are not in the row have no columns.

    Attributes:
        n: Number of joints.
        effort: Whether the row holds efforts.
        sign: Whether the row holds the sign of Coulomb friction.
    """

    n: int
    effort: bool = False
    sign: bool = False

    @property
    def width(self) -> int:
        """Numbers in a row."""
        return (2 + self.effort + self.sign) * self.n

    @property
    def q(self) -> slice:
        """Positions [rad or m]."""
        return slice(0, self.n)

    @property
    def v(self) -> slice:
        """Velocities [rad/s or m/s]."""
        return slice(self.n, 2 * self.n)

    @property
    def tau(self) -> slice | None:
        """Efforts [Nm or N]; None where the row holds none."""
        return slice(2 * self.n, 3 * self.n) if self.effort else None

    @property
    def coulomb_sign(self) -> slice | None:
        """Sign of Coulomb friction, in (-1, 1); None where the row holds none."""
        return slice(self.width - self.n, self.width) if self.sign else None


@dataclass(frozen=True)
class ImuRow:
    """Columns of a row of the IMU.

    Attributes:
        f: Specific force [m/s^2].
        w: Angular rate [rad/s].
        width: Numbers in a row.
    """

    f: slice
    w: slice
    width: int


@dataclass(frozen=True)
class BaseStateRow:
    """Columns of a row of the base state, all in the base frame.

    Attributes:
        v: Velocity of the base origin [m/s].
        w: Angular velocity [rad/s].
        twist: Both of them.
        vertical: The vertical, unit norm.
        width: Numbers in a row.
    """

    v: slice
    w: slice
    twist: slice
    vertical: slice
    width: int


IMU_ROW = ImuRow(f=slice(0, 3), w=slice(3, 6), width=6)
BASE_STATE_ROW = BaseStateRow(v=slice(0, 3), w=slice(3, 6), twist=slice(0, 6), vertical=slice(6, 9), width=9)


def base_state_row(state: BaseState) -> Array:
    """Return the row of a base state, laid out as `BASE_STATE_ROW`; NaN without a valid orientation."""
    largest = float(np.abs(state.quaternion_xyzw).max())
    if not 0.0 < largest < LARGEST_QUATERNION:
        return np.full(BASE_STATE_ROW.width, np.nan)
    vertical_B = rotation_from_quaternion(state.quaternion_xyzw)[2]
    return np.concatenate((state.v_WB_B, state.w_WB_B, vertical_B))


def imu_spec(inputs: InputConfig) -> StreamSpec:
    """Return the properties of the input of the IMU."""
    sensors = (
        Sensor("accelerometer", IMU_ROW.f.start),
        Sensor("gyroscope", IMU_ROW.w.start),
    )
    return StreamSpec(IMU, IMU_ROW.width, inputs.imu_delay, range=imu_range(inputs.range), sensors=sensors)


def joint_spec(columns: JointRow, inputs: InputConfig, robot: RobotModel) -> StreamSpec:
    """Return the properties of the input of joint states, whose rows are laid out as given."""
    plausible = joint_range(inputs.range, robot, effort=columns.effort, sign=columns.sign)
    return StreamSpec(JOINTS, columns.width, inputs.joint_delay, range=plausible, steady=columns.q)


def wrench_spec(contact: str, config: RobotConfig, robot: RobotModel) -> StreamSpec:
    """Return the properties of the input of a contact's wrench."""
    inputs = config.inputs
    plausible = wrench_range(inputs.range, robot)
    force = Sensor("force sensor", 0, may_be_zero=True)
    name = wrench_stream(contact)
    return StreamSpec(name, WRENCH_WIDTH, inputs.wrench_delay, range=plausible, sensors=(force,))


def desired_wrench_spec(contact: str, config: RobotConfig, robot: RobotModel) -> StreamSpec:
    """Return the properties of the input of a wrench that a planner wants; no step waits for it."""
    plausible = wrench_range(config.inputs.range, robot)
    return StreamSpec(desired_wrench_stream(contact), WRENCH_WIDTH, required=False, range=plausible)


def base_state_spec(inputs: InputConfig) -> StreamSpec:
    """Return the properties of the input of the base state."""
    return StreamSpec(BASE_STATE, BASE_STATE_ROW.width, range=base_state_range(inputs.range))
