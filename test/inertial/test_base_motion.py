"""Both sources of the base's acceleration see the same motion: a ride on a roundabout."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.leg_robot import NAMES, URDF, G

from inertial_estimation.inertial.config import InertialPipelineConfig
from inertial_estimation.inertial.pipeline import InertialPipeline
from inertial_estimation.parameters import build_config
from inertial_estimation.signals import BaseState, ImuSample, JointReading

PERIOD_NS = 5_000_000
VALUES = {
    "imu_frame": "base",
    "links": ("torso",),
    "contact_wrenches": "none",
    "torque_rows": (),
    "window": 0.05,
    "rate": 100.0,
}


class Ride:
    """A base that is carried round a centre at a constant rate about a fixed axis, tilted against it."""

    def __init__(self, axis, radius):
        self.w_W, self.radius = np.array(axis), np.array(radius)
        self.tilt = Rotation.from_rotvec([0.2, -0.3, 0.1])

    def at(self, t):
        """Return orientation, velocity, rate and specific force in base axes."""
        turn = Rotation.from_rotvec(self.w_W * t)
        R_BW = (turn * self.tilt).inv()
        arm = turn.apply(self.radius)
        v_W = np.cross(self.w_W, arm)
        a_W = np.cross(self.w_W, v_W)
        return R_BW.inv().as_quat(), R_BW.apply(v_W), R_BW.apply(self.w_W), R_BW.apply(a_W + G)


def innovations(imu_frame, ride):
    config = build_config(InertialPipelineConfig, {**VALUES, "imu_frame": imu_frame})
    pipeline = InertialPipeline(config, URDF)
    pipeline.set_enabled(False)
    q, still = np.linspace(-0.3, 0.3, len(NAMES)), np.zeros(len(NAMES))
    estimates = []
    for k in range(60):
        stamp = (k + 1) * PERIOD_NS
        quaternion, v_B, w_B, f_B = ride.at(1e-9 * stamp)
        pipeline.push_imu(ImuSample(stamp, f_B, w_B))
        pipeline.push_base_state(BaseState(stamp, quaternion, np.zeros(3), v_B, w_B))
        pipeline.push_joints(JointReading(stamp, NAMES, q, still, still))
        estimates += pipeline.tick(stamp)
    return np.array([e.innovation for e in estimates])


@pytest.mark.parametrize("axis", [(0.0, 0.0, 2.0), (0.5, -0.4, 1.0)])
def test_differences_of_the_base_state_give_what_an_imu_senses(axis):
    """A constant velocity in turning axes is no rest: without w x v the forces of the bend are missing."""
    ride = Ride(axis, (1.5, 0.0, 0.5))
    sensed = innovations("base", ride)
    differentiated = innovations("", ride)
    assert len(sensed) > 20
    np.testing.assert_allclose(differentiated, sensed, atol=2e-3 * np.abs(sensed).max())
    assert np.linalg.norm(np.cross(axis, np.cross(axis, ride.radius))) > 1.0  # of the bend [m/s^2]
