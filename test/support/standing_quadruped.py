"""HyQ at rest with a load on its trunk: what its sensors read, by Pinocchio alone."""

from pathlib import Path

import numpy as np
import pinocchio as pin
import yaml

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.signals import BaseState, ImuSample, JointReading

CONFIG = Path(__file__).parents[2] / "config" / "hyq.yaml"


class StandingQuadruped:
    """The robot of `config/hyq.yaml` in its stance, level, loaded by a point mass.

    Attributes:
        trunk_mass: Of the trunk with its load [kg].
        trunk_com: Of the two together, in the base frame [m].
    """

    def __init__(self, load=0.0, at=(0.0, 0.0, 0.0)):
        shared = yaml.safe_load(CONFIG.read_text())["/**"]["ros__parameters"]
        model = pin.buildModelFromXML(read_urdf(shared["urdf"]), pin.JointModelFreeFlyer())
        trunk = model.inertias[1]
        self.trunk_mass = trunk.mass + load
        self.trunk_com = (trunk.mass * trunk.lever + load * np.array(at)) / self.trunk_mass
        model.inertias[1] = pin.Inertia(self.trunk_mass, self.trunk_com, trunk.inertia)
        self._model, data = model, model.createData()
        q = pin.neutral(model)
        for name, angle in zip(shared["stance"]["joints"], shared["stance"]["positions"], strict=True):
            q[model.joints[model.getJointId(name)].idx_q] = angle
        self._q = q
        self._R_BI = model.frames[model.getFrameId(shared["imu_frame"])].placement.rotation
        self._tau = self._static_torques(data, shared["contacts"])

    def _static_torques(self, data, feet):
        """Joint torques at rest: gravity less the least ground forces that carry the robot."""
        model, q = self._model, self._q
        gravity = pin.computeGeneralizedGravity(model, data, q)
        pin.computeJointJacobians(model, data, q)
        pin.updateFramePlacements(model, data)
        jacobians = [
            pin.getFrameJacobian(model, data, model.getFrameId(foot), pin.LOCAL_WORLD_ALIGNED)[:3]
            for foot in feet
        ]
        J = np.vstack(jacobians)
        forces = np.linalg.lstsq(J[:, :6].T, gravity[:6], rcond=None)[0]
        assert (forces.reshape(-1, 3)[:, 2] > 50.0).all(), "every foot stands"
        return (gravity - J.T @ forces)[6:]

    def joints(self, stamp_ns, *, torques=True):
        """The joint state."""
        names = tuple(self._model.names)[2:]
        return JointReading(
            stamp_ns, names, self._q[7:], np.zeros(len(names)), self._tau if torques else None
        )

    def imu(self, stamp_ns):
        """The reading of the IMU."""
        return ImuSample(stamp_ns, -self._R_BI.T @ self._model.gravity.linear, np.zeros(3))

    @staticmethod
    def base(stamp_ns):
        """The base state."""
        return BaseState(stamp_ns, [0, 0, 0, 1], [0, 0, 0.6], [0, 0, 0], [0, 0, 0])
