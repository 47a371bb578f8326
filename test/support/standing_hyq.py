"""HyQ at rest on its feet, told through ideal sensors and noise to a payload pipeline."""

from dataclasses import dataclass

import numpy as np

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.parameters import build_config
from inertial_estimation.payload.config import TrunkPayloadConfig
from inertial_estimation.payload.pipeline import TrunkPayloadPipeline
from inertial_estimation.signals import BaseState, JointReading, LinkInertia, WrenchSample
from inertial_estimation.spatial.rotations import quaternion_from_rotation, rotation_from_roll_pitch_yaw
from inertial_estimation.synthetic.ideal_robots import IdealSensors, MotionState

URDF = read_urdf("example-robot-data:hyq_no_sensors")
ROBOT = RobotModel.from_urdf(URDF)
FEET = ("lf_foot", "rf_foot", "lh_foot", "rh_foot")
PERIOD_NS = 4_000_000
START_NS = 1_700_000_000_000_000_000
STANCE = np.tile([-0.2, 0.75, -1.5, -0.2, -0.75, 1.5], 2)  # a front leg and a hind leg on either side
VALUES = {"contacts": FEET, "trunk": "trunk"}


def config(**changes):
    return build_config(TrunkPayloadConfig, {**VALUES, **changes})


def pipeline(**changes):
    return TrunkPayloadPipeline(config(**changes), URDF)


def weight(mass=10.0, com=(-0.2, 0.1, 0.15)):
    """Return a load on the trunk."""
    return LinkInertia("trunk", mass, np.array(com), 0.01 * mass * np.eye(3))


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
            sensors = IdealSensors(
                ROBOT,
                contact_frames=FEET,
                point_contacts=FEET,
                payloads=() if self.load is None else (self.load,),
            )
            q = ROBOT.configuration(self.q)
            R_WB = rotation_from_roll_pitch_yaw(*self.tilt, 0.7)
            q[3:7] = self.quaternion = quaternion_from_rotation(R_WB)
            v, a = np.zeros((2, ROBOT.model.nv))
            a[2] = acceleration
            self._ideal = sensors.read(MotionState(q, v, a))
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
        joints = JointReading(
            self.stamp_ns,
            ROBOT.joint_names,
            self.q + self.spread(noise.position, n),
            self.joint_speed + self.spread(noise.velocity, n),
            ideal.tau + self.spread(noise.effort, n),
        )
        v_B = self.base_velocity + self.spread(noise.base_velocity, 3)
        w_B = self.base_rate + self.spread(noise.base_rate, 3)
        base = BaseState(self.stamp_ns, self.quaternion, np.zeros(3), v_B, w_B)
        wrenches = ideal.wrenches_C.copy()
        wrenches[:, :3] += self.spread(noise.force, (len(FEET), 3))
        if "base" not in self.silent:
            self.pipe.push_base_state(base)
        for contact, wrench in zip(FEET, wrenches, strict=True):
            if contact not in self.silent:
                sample = WrenchSample(self.stamp_ns, self.alter_wrench(contact, wrench))
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
