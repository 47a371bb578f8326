"""Quadrupeds at rest on their feet by recursive Newton-Euler; HyQ told with noise to a payload pipeline."""

from dataclasses import dataclass
from functools import cache

import numpy as np

import inertial_estimation as ie
from inertial_estimation.models.contacts import ContactFrames
from inertial_estimation.payload.statics import StaticMeasurement, TrunkStatics
from inertial_estimation.spatial.rotations import quaternion_from_rotation, rotation_from_roll_pitch_yaw
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


def readings_of(robot, feet, payloads, q, R_WB, lift=0.0) -> IdealReadings:
    """What ideal sensors read of a robot on point feet at rest, or lifted with an acceleration [m/s^2]."""
    sensors = IdealSensors(robot, contact_frames=feet, point_contacts=feet, payloads=payloads)
    configuration = robot.configuration(q)
    configuration[3:7] = quaternion_from_rotation(R_WB)
    v, a = np.zeros((2, robot.model.nv))
    a[2] = lift
    return sensors.read(MotionState(configuration, v, a))


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
        self.payloads = (ie.LinkInertia(self.trunk, self.load, point, np.zeros((3, 3))),)
        self.nominal = ie.InertialParameters.from_pinocchio(self.robot.model.inertias[1])
        self.mass = self.nominal.mass + self.load
        self.com = (self.nominal.mass * self.nominal.com_F + self.load * point) / self.mass
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
        return R_WB, readings_of(self.robot, self.feet, self.payloads, self.q, R_WB)

    def measure(self, statics: TrunkStatics, tilt=(0.0, 0.0), yaw=0.0) -> StaticMeasurement:
        R_WB, read = self.readings(tilt, yaw)
        readings = read.tau if statics.estimates_forces else read.wrenches_C
        return statics.measure(R_WB, self.q, readings)


ROBOT, FEET = model_of(HYQ[0]), HYQ[1]
PERIOD_NS = 4_000_000
START_NS = 1_700_000_000_000_000_000
STANCE = np.tile([-0.2, 0.75, -1.5, -0.2, -0.75, 1.5], 2)  # a front leg and a hind leg on either side
VALUES = {"contacts": FEET, "trunk": "trunk"}


def config(**changes):
    return ie.build_config(ie.TrunkPayloadConfig, {**VALUES, **changes})


def pipeline(**changes):
    return ie.TrunkPayloadPipeline(config(**changes), ie.read_urdf(f"example-robot-data:{HYQ[0]}"))


def weight(mass=10.0, com=(-0.2, 0.1, 0.15)):
    """Return a load on the trunk."""
    return ie.LinkInertia("trunk", mass, np.array(com), 0.01 * mass * np.eye(3))


def loaded_trunk(*loads):
    """Return mass and centre of mass of the trunk with its loads, from their moments."""
    nominal = ROBOT.link_body("trunk").nominal_J
    mass = nominal.mass + sum(load.mass for load in loads)
    moment = nominal.mass * nominal.lever + sum(load.mass * load.com_L for load in loads)
    return mass, moment / mass


@dataclass
class Noise:
    """Deviations of the sensors."""

    position: float = 5e-5
    velocity: float = 2e-3
    effort: float = 0.3
    force: float = 2.0
    base_velocity: float = 1e-3
    base_rate: float = 1e-3


SILENT = Noise(*[0.0] * 6)


class StandingHyq:
    """One robot; its load, tilt and joint speeds can be changed while it goes on.

    Attributes:
        estimates: Everything the pipeline said.
    """

    def __init__(self, pipe, *, noise=None, seed=0):
        self.pipe = pipe
        self.noise = Noise() if noise is None else noise
        self.rng = np.random.default_rng(seed)
        self.stamp_ns = START_NS
        self.estimates = []
        self.tilt = (0.0, 0.0)
        self.q = STANCE.copy()
        self.load = None
        self.joint_speed = 0.0
        self.base_velocity, self.base_rate = np.zeros(3), np.zeros(3)
        self.alter_joints = lambda reading: reading
        self.alter_wrench = lambda contact, wrench: wrench
        self.silent = set()
        self._ideal = None
        self._lift = lambda: (0.0, 0.0)

    def put_on(self, load):
        self.load = load
        self._ideal = None

    def ideal(self):
        """Return what ideal sensors read; constant while nothing changes."""
        velocity, acceleration = self._lift()
        self.base_velocity[2] = velocity
        if self._ideal is None or acceleration:
            R_WB = rotation_from_roll_pitch_yaw(*self.tilt, 0.7)
            self.quaternion = quaternion_from_rotation(R_WB)
            loads = () if self.load is None else (self.load,)
            self._ideal = readings_of(ROBOT, FEET, loads, self.q, R_WB, acceleration)
        return self._ideal

    def bounce(self, amplitude, frequency):
        """Move the whole robot up and down from now on, as in a lift."""
        begin_ns = self.stamp_ns

        def lift():
            phase = 2.0 * np.pi * frequency * 1e-9 * (self.stamp_ns - begin_ns)
            w = 2.0 * np.pi * frequency
            return amplitude * w * np.cos(phase), -amplitude * w * w * np.sin(phase)

        self._lift = lift

    def spread(self, sigma, size):
        return self.rng.normal(0.0, 1.0, size) * sigma

    def push(self):
        """Push one reading of each sensor."""
        ideal, noise, n = self.ideal(), self.noise, ROBOT.n_joints
        self.stamp_ns += PERIOD_NS
        joints = ie.JointReading(
            self.stamp_ns,
            ROBOT.joint_names,
            self.q + self.spread(noise.position, n),
            self.joint_speed + self.spread(noise.velocity, n),
            ideal.tau + self.spread(noise.effort, n),
        )
        v_B = self.base_velocity + self.spread(noise.base_velocity, 3)
        w_B = self.base_rate + self.spread(noise.base_rate, 3)
        base = ie.BaseState(self.stamp_ns, self.quaternion, np.zeros(3), v_B, w_B)
        wrenches = ideal.wrenches_C.copy()
        wrenches[:, :3] += self.spread(noise.force, (len(FEET), 3))
        if "base" not in self.silent:
            self.pipe.push_base_state(base)
        for contact, wrench in zip(FEET, wrenches, strict=True):
            if contact not in self.silent:
                sample = ie.WrenchSample(self.stamp_ns, self.alter_wrench(contact, wrench))
                self.pipe.push_wrench(contact, sample)
        if "joints" not in self.silent:
            self.pipe.push_joints(self.alter_joints(joints))

    def run(self, duration_s, *, until=None):
        """Go on for a time; stop once `until` is true of an estimate. Returns the last estimate."""
        for _ in range(round(duration_s * 1e9 / PERIOD_NS)):
            self.push()
            new = self.pipe.tick(self.stamp_ns)
            self.estimates += new
            if until is not None and any(until(estimate) for estimate in new):
                break
        return self.estimates[-1] if self.estimates else None

    def health(self):
        return {entry.name: entry for entry in self.pipe.health(self.stamp_ns)}

    @property
    def changes(self):
        return [estimate.change for estimate in self.estimates if estimate.change is not None]
