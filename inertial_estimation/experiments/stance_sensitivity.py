"""What wrong torques and misplaced feet do to a trunk found from contact forces, computed for one pose.

The moment balance of a robot at rest, c x F = sum p_i x f_i, f_i = J_i^-T (g_i - tau_i), is evaluated with
what is believed instead of what is true. No recursion, no noise: where any of them must end.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from inertial_estimation.experiments.perturbed_models import urdf_with_moved_links
from inertial_estimation.models.robot_config import RobotConfig, robot_from_config
from inertial_estimation.models.trunk_statics import TrunkStatics, trunk_com_across_gravity, trunk_mass
from inertial_estimation.signals import Array
from inertial_estimation.simulation.ground_truth import GroundTruth
from inertial_estimation.spatial.rotations import rotation_from_quaternion


@dataclass(frozen=True, eq=False)
class RestingPose:
    """A robot at rest.

    Attributes:
        config: The robot.
        urdf: Its true description.
        trunk: Link of the trunk.
        truth: Its state; torques on the links balance it.
    """

    config: RobotConfig
    urdf: str
    trunk: str
    truth: GroundTruth

    def error_of_torques(self, offsets: Array) -> Array:
        """Return the error of the trunk's centre of mass caused by offsets of the torques.

        Args:
            offsets: Assumed minus true torque of each joint [Nm], shape (n_joints,).

        Returns:
            Across gravity, base frame [m], shape (3,).
        """
        return self._com(self.urdf, offsets) - self._com(self.urdf, np.zeros_like(offsets))

    def error_of_feet(self, moves_P: Mapping[str, Array]) -> Array:
        """Return the error of the trunk's centre of mass caused by wrong positions of the feet.

        Args:
            moves_P: Assumed minus true position by link, in the axes of the link that carries it [m].

        Returns:
            Across gravity, base frame [m], shape (3,).
        """
        none = np.zeros(len(self.truth.q))
        return self._com(urdf_with_moved_links(self.urdf, moves_P), none) - self._com(self.urdf, none)

    def _com(self, urdf: str, offsets: Array) -> Array:
        setup = robot_from_config(self.config, urdf)
        robot, contacts = setup.robot, setup.contacts
        statics = TrunkStatics(robot, contacts, self.trunk)
        R_WB = rotation_from_quaternion(self.truth.base.quaternion_xyzw)
        measurement = statics.measure(R_WB, self.truth.q, self.truth.tau_link + offsets)
        return trunk_com_across_gravity(measurement, trunk_mass(measurement))
