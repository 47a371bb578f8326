"""A quadruped at rest on its feet, its torques and wrenches by recursive Newton-Euler; a trunk on springs."""

from dataclasses import dataclass
from functools import cache

import numpy as np

import inertial_estimation as ie
from inertial_estimation.models.contacts import ContactFrames
from inertial_estimation.payload.statics import StaticMeasurement, TrunkStatics
from inertial_estimation.spatial.rotations import (
    exp_so3,
    log_so3,
    quaternion_from_rotation,
    rotation_from_roll_pitch_yaw,
)
from inertial_estimation.synthetic.ideal_robots import IdealReadings, IdealSensors, MotionState

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


class SpringTrunk:
    """A rigid trunk in free rotation under a posture controller, by Euler's equation.

    The controller carries the weight through the centre of mass it believes in and turns the trunk with
    springs and dampers; it may integrate, and a second controller may hold the trunk level.
    """

    H = 0.01

    def __init__(self, com, *, springs=(450.0, 600.0), integral=0.0, other=0.0, noise=0.0, other_way=False):
        self.com = np.array(com, dtype=float)
        self.springs = np.array([*springs, 0.0])
        self.integral, self.other, self.noise = integral, other, noise
        self.sign = -1.0 if other_way else 1.0
        self.mass, self.inertia, self.gravity = 71.0, 8.0, 9.81
        self.R, self.w, self.summed = np.eye(3), np.zeros(3), np.zeros(3)
        self.reference = np.zeros(2)
        self.time, self.rng = 0.0, np.random.default_rng(0)
        self.tilts = []

    def step(self, com, tilt):
        h = self.H
        self.reference = self.reference + np.clip(np.array(tilt) - self.reference, -0.3 * h, 0.3 * h)
        error = log_so3(rotation_from_roll_pitch_yaw(*self.reference, 0.0) @ self.R.T)
        self.summed += self.integral * self.springs * error * h
        weight = np.array([0.0, 0.0, self.mass * self.gravity])
        lever = self.R @ (self.sign * (com - self.com))
        damping = 1.4 * np.sqrt(self.inertia * self.springs.max())
        moment = np.cross(lever, weight) + self.springs * error + self.summed
        moment = moment - self.other * log_so3(self.R) - damping * self.w
        stiff = 1.0 + h * (damping + h * (self.springs.max() + self.other)) / self.inertia  # implicit
        self.w = (self.w + h * moment / self.inertia) / stiff * [1.0, 1.0, 0.0]
        self.R = exp_so3(h * self.w) @ self.R
        self.time += h

    def measurement(self) -> StaticMeasurement:
        R = exp_so3(self.noise * self.rng.standard_normal(3)) @ self.R
        R = rotation_from_roll_pitch_yaw(0.0, 0.0, 0.9) @ R
        nothing = np.zeros((4, 3))
        return StaticMeasurement(R, nothing, nothing, 10.0, np.zeros(3), gravity=self.gravity)

    def identify(self, method, duration=150.0):
        """Run a method from a trunk that has come to rest; it sees the trunk at rest alone."""
        com, tilt, last = method.com_B, (0.0, 0.0), 0.0
        for _ in range(round(2.0 / self.H)):
            self.step(com, tilt)
        self.time = 0.0
        step = None
        while self.time < duration:
            self.step(com, tilt)
            if np.abs(self.w).max() < 0.03:
                step = method.update(self.measurement(), self.time - last)
                last = self.time
                assert step.to_controller
                com, tilt = step.com_B, step.tilt or (0.0, 0.0)
                self.tilts.append(tilt)
                if step.done or step.refusal:
                    break
        return step
