"""A load fixed to a link, identified as a body of its own in addition to the bodies of the robot.

Its ten parameters act through the columns of the body that carries it: with A_b the regressor of that body,

    loaded recording:    dtau = A x + A_b X pi_load        unloaded recording:    dtau = A x

so the load has a prior, a condition of physical consistency and a standard deviation of its own, none of
which depends on the nominal inertia of the link. From recordings with the load alone, only their priors
separate load and link (two recordings: Khalil, Gautier and Lemoine 2007).
"""

from dataclasses import replace

import numpy as np

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.identification.identification_config import PayloadConfig
from inertial_estimation.identification.identification_result import PayloadResult
from inertial_estimation.identification.parameter_set import BODY_UNITS, ParameterSet, PayloadUnknowns
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array
from inertial_estimation.spatial.inertial_parameters import (
    PARAMETER_NAMES,
    InertialParameters,
    transfer_matrix,
)

SHARE_OF_ROBOT = 0.3  # prior standard deviation of the load's mass over the mass of the robot
STEP_SHARE = 1e-6  # of the prior deviations, for the derivatives of mass, centre of mass and moments


def with_payload(parameters: ParameterSet, robot: RobotModel, config: PayloadConfig) -> ParameterSet:
    """Add a load to the unknowns.

    Args:
        parameters: The unknowns of the robot without the load.
        robot: The robot.
        config: The link of the load and its prior.

    Returns:
        Unknowns with the ten parameters of the load about the link's frame at the end.

    Raises:
        ConfigurationError: If the link is not part of an identified body, or the name of the load is taken.
        ~inertial_estimation.errors.ModelError: If there is no such link.
    """
    carrier = robot.link_body(config.link)
    body = next((i for i, b in enumerate(parameters.bodies) if b.joint_id == carrier.joint_id), None)
    if body is None:
        raise ConfigurationError(f"link '{config.link}' of the payload belongs to no identified body")
    name = f"{config.link}_payload"
    if name in robot.link_names:
        raise ConfigurationError(
            f"the description already has a link '{name}', the load of an earlier identification: remove it, "
            "or name another link as 'payload.link'"
        )
    n_phi, n = parameters.E.shape
    to_joint = np.hstack((parameters.to_joint, np.zeros((len(parameters.to_joint), 10))))
    loaded = to_joint.copy()
    loaded[10 * body : 10 * body + 10, -10:] = transfer_matrix(carrier.T_JL)
    E = np.zeros((n_phi + 10, n + 10))
    E[:n_phi, :n] = parameters.E
    E[n_phi:, n:] = np.eye(10)
    names = tuple(f"{name}/{parameter}" for parameter in PARAMETER_NAMES)
    mass = config.mass_deviation or SHARE_OF_ROBOT * robot.total_mass
    unit = mass * np.array([1.0, *3 * [config.reach], *6 * [config.reach**2]])
    return replace(
        parameters,
        names=parameters.names + names,
        units=parameters.units + BODY_UNITS,
        nominal=np.concatenate((parameters.nominal, np.zeros(10))),
        unknowns=parameters.unknowns + names,
        E=E,
        to_joint=loaded,
        to_joint_unloaded=to_joint,
        payload=PayloadUnknowns(config.link, name, unit),
    )


def payload_result(payload: PayloadUnknowns, pi: Array, covariance: Array | None) -> PayloadResult:
    """Return the load with the standard deviations of its mass, centre of mass and moments of inertia.

    Args:
        payload: The load among the unknowns.
        pi: Its parameters about the link's frame, shape (10,).
        covariance: Their covariance, shape (10, 10); None where the data do not determine them.
    """
    inertia = InertialParameters.from_vector(pi)
    sigma = np.full(10, np.inf)
    if covariance is not None and inertia.mass > 0.0:
        steps = STEP_SHARE * payload.unit
        slopes = np.stack(
            [
                (_physical(pi + step) - _physical(pi - step)) / (2.0 * size)
                for step, size in zip(np.diag(steps), steps, strict=True)
            ],
            axis=1,
        )
        sigma = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", slopes, covariance, slopes), 0.0))
    i = np.array([[4, 5, 7], [5, 6, 8], [7, 8, 9]])
    return PayloadResult(
        link=payload.link,
        name=payload.name,
        inertia=inertia,
        mass_sigma=float(sigma[0]),
        com_sigma=sigma[1:4],
        inertia_sigma=sigma[i],
        violations=tuple(inertia.violations()),
    )


def _physical(pi: Array) -> Array:
    """Return mass, centre of mass and moments about it, in the order of `PARAMETER_NAMES`, shape (10,)."""
    value = InertialParameters.from_vector(pi)
    I = value.inertia_Fcm  # noqa: E741
    return np.array(
        [value.mass, *value.com_F, I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]], dtype=np.float64
    )
