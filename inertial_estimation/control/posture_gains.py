"""Gains of the posture task, joint by joint."""

import fnmatch
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.control.controller_config import PostureConfig
from inertial_estimation.errors import ConfigurationError, did_you_mean
from inertial_estimation.signals import Array


class PostureGains:
    """Stiffness, damping and weight of every joint.

    Attributes:
        stiffness: [1/s^2], shape (n_joints,).
        damping: [1/s], shape (n_joints,).
        weight: Shape (n_joints,).
    """

    def __init__(self, config: PostureConfig, joint_names: Sequence[str], legs: NDArray[np.bool_]) -> None:
        """Resolve the patterns.

        Args:
            config: Gains, with exceptions by joint.
            joint_names: Names in the model's order.
            legs: Which joints carry a contact, shape (n_joints,).

        Raises:
            ConfigurationError: If a pattern matches no joint, or their number is not that of the values.
        """
        if len(config.joints) != len(config.stiffnesses):
            raise ConfigurationError(
                f"'posture.stiffnesses' has {len(config.stiffnesses)} values, expected one for each of the "
                f"{len(config.joints)} 'posture.joints'"
            )
        self.stiffness = np.full(len(joint_names), config.stiffness)
        for pattern, stiffness in zip(config.joints, config.stiffnesses, strict=True):
            found = [i for i, name in enumerate(joint_names) if fnmatch.fnmatchcase(name, pattern)]
            if not found:
                raise ConfigurationError(
                    f"no joint matches '{pattern}' of 'posture.joints'"
                    f"{did_you_mean(pattern, joint_names, 'the model has')}"
                )
            self.stiffness[found] = stiffness
        self.damping: Array = 2.0 * config.damping_ratio * np.sqrt(self.stiffness)
        self.weight: Array = np.where(legs, config.leg_weight, config.weight)
