"""A quadruped at rest on its feet, its torques and wrenches by recursive Newton-Euler."""

from dataclasses import dataclass
from functools import cache

import numpy as np

import inertial_estimation as ie
from inertial_estimation.models.contacts import ContactFrames
from inertial_estimation.models.inverse_dynamics import IdealReadings, IdealSensors, MotionState
from inertial_estimation.payload.statics import StaticMeasurement, TrunkStatics
from inertial_estimation.spatial.rotations import quaternion_from_rotation, rotation_from_roll_pitch_yaw

HYQ = ("hyq_no_sensors", ("lf_foot", "rf_foot", "lh_foot", "rh_foot"), "trunk")
SOLO = ("solo12", ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT"), "base_link")
GO2 = ("go2", ("FL_foot", "FR_foot", "RL_foot", "RR_foot"), "base")
QUADRUPEDS = (HYQ, SOLO, GO2)
LOAD_POINT = np.array([-0.75, 0.4, 0.0])


@cache
def model_of(name: str) -> ie.RobotModel:
    return ie.RobotModel.from_urdf(ie.read_urdf(f"example-robot-data:{name}"))


def moment_about_base(measurement: StaticMeasurement) -> np.ndarray:
    """Moment of the ground about the base origin, axes parallel to the world's [Nm], shape (3,)."""
    return measurement.moment_W + np.cross(measurement.points_W, measurement.forces_W).sum(axis=0)


@dataclass
class Standing:
    """A robot with a point load on its trunk; readings by an oracle that knows the load."""

    kind: tuple = HYQ
    load: float = 10.0
    point: np.ndarray = None
    feet: tuple = ()
    spread: float = 0.0
    """Random difference of the joints from the posture [rad]."""

    def __post_init__(self):
        name, feet, self.trunk = self.kind
        self.robot = model_of(name)
        self.feet = self.feet or feet
        point = LOAD_POINT if self.point is None else np.array(self.point)
        payload = ie.LinkInertia(self.trunk, self.load, point, np.zeros((3, 3)))
        self.nominal = ie.InertialParameters.from_pinocchio(self.robot.model.inertias[1])
        self.mass = self.nominal.mass + self.load
        self.com = (self.nominal.mass * self.nominal.com_F + self.load * point) / self.mass
        self.sensors = IdealSensors(
            self.robot, contact_frames=self.feet, point_contacts=self.feet, payloads=(payload,)
        )
        legs = [[-0.2, 0.75, -1.5], [-0.2, -0.75, 1.5]] if self.kind is HYQ else [[0.1, 0.8, -1.6]]
        self.q = np.resize(np.concatenate(legs), self.robot.n_joints)
        self.q = self.q + self.spread * np.random.default_rng(0).standard_normal(self.robot.n_joints)

    @property
    def contacts(self):
        return [ContactFrames(foot, foot, foot) for foot in self.feet]

    def statics(self, **options) -> TrunkStatics:
        return TrunkStatics(self.robot, self.contacts, self.trunk, **options)

    def readings(self, tilt=(0.0, 0.0), yaw=0.0) -> tuple[np.ndarray, IdealReadings]:
        R_WB = rotation_from_roll_pitch_yaw(*tilt, yaw)
        configuration = self.robot.configuration(self.q)
        configuration[3:7] = quaternion_from_rotation(R_WB)
        still = np.zeros(self.robot.model.nv)
        return R_WB, self.sensors.read(MotionState(configuration, still, still))

    def measure(self, statics: TrunkStatics, tilt=(0.0, 0.0), yaw=0.0, tau_error=0.0) -> StaticMeasurement:
        R_WB, read = self.readings(tilt, yaw)
        readings = read.tau + tau_error if statics.estimates_forces else read.wrenches_C
        return statics.measure(R_WB, self.q, readings)
