"""Information that errors of the accelerations feign, and the bias that they give the score.

The regressor is computed from measured accelerations, A = A_0 + dA, and the same errors da are in the
residual z - A phi = n - M da. Hence

    E[A' R^-1 A] = A_0' R^-1 A_0 + E[dA' R^-1 dA],   E[A' R^-1 (z - A phi)] = -E[dA' R^-1 M da]:

the normal equations hold more information than there is, and pull to too small parameters (errors in
variables). Both expectations follow from the noise of the accelerations: the regressor of a body at zero
velocity is linear in its spatial acceleration a, sum_i a_i Y_i, so dA_k = J_k' sum_i Y_i (J_k T da)_i, T the
map from errors of the sensed accelerations to generalized ones. Errors of velocities, and the rotor inertias
among friction parameters, are not considered.
"""

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from inertial_estimation.models.dynamics_measurement import DynamicsMeasurement, LinearEquation

BODY_REGRESSORS = np.array([pin.bodyRegressor(pin.Motion.Zero(), pin.Motion(row)) for row in np.eye(6)])


@dataclass(frozen=True, eq=False)
class FeignedInformation:
    """Of one equation, in the parameters of the bodies about the joint frames.

    Attributes:
        information: E[dA' R^-1 dA], shape (n, n).
        bias: E[dA' R^-1 M da], which the score lacks, shape (n,).
    """

    information: np.ndarray
    bias: np.ndarray


def feigned_information(measurement: DynamicsMeasurement, equation: LinearEquation) -> FeignedInformation:
    """Return what errors of the accelerations add to information and score.

    Args:
        measurement: It computed the equation.
        equation: The equation; the mass matrix of its paths is M.
    """
    paths, joint_ids = equation.paths, measurement._bodies.bodies[0].tolist()
    q, kinematics = measurement._robot.configuration(equation.state.q), measurement._mass_matrix
    kinematics.move_to(q)
    model, data = measurement._robot.model, kinematics.data
    jacobians = [pin.getJointJacobian(model, data, joint_id, pin.LOCAL).copy() for joint_id in joint_ids]
    sigma = measurement._covariance.sigmas[0]
    poses, Jt = kinematics.poses, kinematics.Jt
    moved = (
        np.array([measurement._sensed.effect(poses, Jt, np.array(J, order="C")) for J in jacobians]) * sigma
    )
    rows = np.array([J[:, paths.picked] for J in jacobians])
    effect = paths.sensed * sigma
    if paths.projection is not None:
        rows, effect = rows @ paths.projection, paths.projection.T @ effect
    k, m = len(joint_ids), len(equation.value)
    weighted = np.linalg.solve(equation.noise, rows.reshape(6 * k, m).T)  # R^-1 J'
    forces = (rows.reshape(6 * k, m) @ weighted).reshape(k, 6, k, 6)
    motions = np.einsum("kin,ljn->kilj", moved, moved)
    Y = BODY_REGRESSORS  # (acceleration, force, parameter)
    turned = np.einsum("iap,kalb->ipklb", Y, forces)
    information = np.einsum("ipklb,kilj,jbq->kplq", turned, motions, Y, optimize=True)
    across = np.einsum("kan,kin->kai", (weighted.T @ effect).reshape(k, 6, -1), moved)
    bias = np.einsum("iap,kai->kp", Y, across)
    return FeignedInformation(information.reshape(10 * k, 10 * k), bias.ravel())
