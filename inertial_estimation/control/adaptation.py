"""Adaptation of link inertias by tracking and prediction errors, between the estimates.

Inverse dynamics with wrong inertias gives another acceleration than the wanted one,

    M (a - a_wanted) = Y(q, v, a_wanted) (pi_believed - pi)

With s = (v - v_ref) + lambda (q - q_ref) of joints whose posture has the stiffness lambda^2 and the damping
2 lambda, the left side is M (s' + lambda s). V = s'M s / 2 + D(J || J_believed) with the log-det Bregman
divergence D then falls by lambda s'M s less s'M's / 2, if the pseudo-inertia follows the natural gradient

    J' = -gamma J L(Y'(s + w e)) J

(Lee, Kwon and Park, IEEE T-RO 34(3), 2018, with Slotine and Li's composite term; THEORY 13). L maps a
covector y of pi to the symmetric matrix with tr(L J(pi)) = y'pi, and e = M_believed (a - a_wanted) is the
prediction error, of velocities filtered by one pole in place of accelerations. A step is taken along a
geodesic of the positive definite matrices, C expm(-gamma h C'L C) C' with J = C C': whatever the errors are,
bodies stay consistent.
"""

from collections.abc import Mapping

import numpy as np

from inertial_estimation.control.config import AdaptationConfig
from inertial_estimation.control.controller import ControlResult, ControlState
from inertial_estimation.models.whole_body_dynamics import BaseMotion, WholeBodyDynamics
from inertial_estimation.signals import Array, JointSample, LinkInertia
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.inertial_parameters import (
    PSEUDO_INERTIA_BASIS,
    InertialParameters,
    parameters_from_pseudo_inertia,
    pseudo_inertia,
)

MEMORY_S = 1.0  # time constant with which adapted inertias return to the estimates, or to the description
LARGEST_STEP = 0.02  # of the logarithm of J in one tick: 2 % of a mass
SATURATED = 0.999  # of the torque limit: the error is then that of the limit
PREDICTION_FILTER_S = 0.02  # of velocities and wanted accelerations, whose difference is the prediction error


class CompositeAdaptation:
    """Moves the inertias of some links with the errors of the joints, and back towards the estimates.

    Attributes:
        config: The parameters in force.
    """

    def __init__(
        self, config: AdaptationConfig, dynamics: WholeBodyDynamics, links: tuple[str, ...], tau_max: Array
    ) -> None:
        """Begin at the inertias of the description.

        Args:
            config: Gains.
            dynamics: Holds the inertias in force.
            links: The links whose inertias adapt.
            tau_max: Torque limits [Nm], shape (n_joints,).
        """
        self.config = config
        self._dynamics = dynamics
        self._links = links
        self._described = {
            link: pseudo_inertia(
                InertialParameters.from_pinocchio(body.nominal_J).expressed_in(body.T_JL.inverse()).vector
            )
            for link, body in dynamics.bodies(links).items()
        }
        self._tau_max = tau_max
        self.reset()

    @property
    def active(self) -> bool:
        """Whether inertias are adapted."""
        return self.config.gain > 0.0 and bool(self._links)

    @property
    def inertias(self) -> dict[str, LinkInertia]:
        """Inertias to use now, by link."""
        self._follow_estimates()
        return {link: _link_inertia(link, J) for link, J in self._adapted.items()}

    def reset(self) -> None:
        """Return to the inertias of the description; no estimate is known."""
        self._estimated = dict(self._described)
        self._adapted = dict(self._described)
        self._newest: Mapping[str, LinkInertia] = {}  # estimates that have not been followed yet
        self._filtered: tuple[Array, Array] | None = None  # velocities and wanted accelerations of the joints

    def set_estimates(self, inertias: Mapping[str, LinkInertia]) -> None:
        """Take the newest estimates; adapted inertias keep their ratio to the estimates.

        Args:
            inertias: By link, in the link's frame.
        """
        self._newest = inertias

    def _follow_estimates(self) -> None:
        """Turn the adapted inertias by the change of the estimates since they were last in use.

        J = C E C' with the factor C of the old estimate becomes that with the factor of the new one. Of the
        turns C_k C_k-1^-1 ... C_1 C_0^-1 of estimates in between the product is C_k C_0^-1.
        """
        newest, self._newest = self._newest, {}
        for link, given in newest.items():
            estimated = InertialParameters(given.mass, given.com_L, given.inertia_Lcm)
            new, old = pseudo_inertia(estimated.vector), self._estimated[link]
            turn = linear_algebra.cholesky(new) @ linear_algebra.inv(linear_algebra.cholesky(old))
            self._adapted[link] = turn @ self._adapted[link] @ turn.T
            self._estimated[link] = new

    def advance(
        self, h: float, base: BaseMotion | None, joints: JointSample, sliding: Array, result: ControlResult
    ) -> dict[str, LinkInertia]:
        """Adapt by the errors of one tick.

        Nothing is learned while the torques do not control the robot, or one of them is at its limit.

        Args:
            h: Time since the last tick [s].
            base: Motion of a floating base; None for a fixed one.
            joints: Joint state of the tick.
            sliding: s of every joint [rad/s], 0 for one that does not follow its posture, shape (n_joints,).
            result: What the controller wanted.

        Returns:
            Inertias to use from now on, by link.
        """
        self._follow_estimates()
        limited = bool((np.abs(result.tau) >= SATURATED * self._tau_max).any())
        if result.state is not ControlState.CONTROL or limited or not h > 0.0:
            self._filtered = None
        else:
            self._adapt(h, base, joints, sliding, result.acceleration)
        kept = float(np.exp(-h / MEMORY_S))
        for link, J in self._adapted.items():
            self._adapted[link] = kept * J + (1.0 - kept) * self._estimated[link]
        return self.inertias

    def _adapt(
        self, h: float, base: BaseMotion | None, joints: JointSample, sliding: Array, wanted: Array
    ) -> None:
        n_base, config = len(wanted) - len(sliding), self.config
        error = self._prediction_error(h, joints.v, wanted[n_base:])
        driving = sliding + config.prediction_weight * error
        for link, Y in self._dynamics.regressors(base, joints.q, joints.v, wanted, self._links).items():
            self._adapted[link] = natural_step(self._adapted[link], Y[n_base:].T @ driving, config.gain * h)

    def _prediction_error(self, h: float, v: Array, wanted: Array) -> Array:
        """M (a - a_wanted) of the joints, both filtered by one pole [Nm], shape (n_joints,)."""
        if self._filtered is None:
            self._filtered = v.copy(), wanted.copy()
            return np.zeros_like(v)
        share = 1.0 - float(np.exp(-h / PREDICTION_FILTER_S))
        v_before, wanted_before = self._filtered
        v_f, wanted_f = v_before + share * (v - v_before), wanted_before + share * (wanted - wanted_before)
        acceleration = (v_f - v_before) / h
        self._filtered = v_f, wanted_f
        error: Array = self._dynamics.joint_inertia @ (acceleration - wanted_f)
        return error


def natural_step(J: Array, slope: Array, size: float) -> Array:
    """Return C expm(-size C'L C) C': a step down a slope of the parameters, along a geodesic.

    Args:
        J: Pseudo-inertia, positive definite, shape (4, 4).
        slope: Covector of the parameters y, with tr(L J(pi)) = y'pi, shape (10,).
        size: Of the step; the logarithm of J changes by at most `LARGEST_STEP`.

    Returns:
        Pseudo-inertia, positive definite, shape (4, 4).
    """
    C = linear_algebra.cholesky(J)
    L = np.tensordot(slope, PSEUDO_INERTIA_BASIS, axes=1)
    rates, axes = linear_algebra.eigh(C.T @ L @ C)
    exponents = -size * rates
    exponents *= min(1.0, LARGEST_STEP / max(float(np.abs(exponents).max()), LARGEST_STEP))
    factor = C @ axes * np.exp(0.5 * exponents)
    stepped: Array = factor @ factor.T
    return stepped


def _link_inertia(link: str, J: Array) -> LinkInertia:
    body = InertialParameters.from_vector(parameters_from_pseudo_inertia(J))
    return LinkInertia(link, body.mass, body.com_F, body.inertia_Fcm)
