"""Inertial parameters of a rigid body: parameter vectors, pseudo-inertia and physical consistency.

The vector `pi` is Pinocchio's: [m, mcx, mcy, mcz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz], rotational inertia
about the origin of the frame. The pseudo-inertia J = [[Sigma, h], [h', m]], Sigma = tr(I)/2 1 - I, is
linear in it; a distribution of positive mass exists if and only if J > 0 (Wensing, Kim and Slotine
2018; Foster et al. II-B).
"""

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from inertial_estimation.errors import InconsistentInertiaError, MeasurementError
from inertial_estimation.signals import Array, LinkInertia, frozen_array
from inertial_estimation.spatial import linear_algebra

PARAMETER_NAMES = ("m", "mcx", "mcy", "mcz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
SMALLEST_RADIUS = 1e-3  # share of the gyration radius; its square bounds second moments of repaired inertias
# Linear map to the pseudo-inertia: pi @ TO_PSEUDO_INERTIA holds the entries of J, shape (10, 16)
TO_PSEUDO_INERTIA = np.array(
    [pin.PseudoInertia.FromDynamicParameters(pi).toMatrix().ravel() for pi in np.eye(10)]
)
# B with pi_a = sum B_aij J_ij, symmetric in i and j, shape (10, 4, 4); its entries are halves and integers
PSEUDO_INERTIA_BASIS = np.round(linear_algebra.pinv(TO_PSEUDO_INERTIA).T, 12).reshape(10, 4, 4)


def pseudo_inertia(pi: Array) -> Array:
    """Return J = [[Sigma, h], [h', m]] of a parameter vector.

    Args:
        pi: Parameters in Pinocchio's order, shape (..., 10).

    Returns:
        Pseudo-inertia, symmetric, shape (..., 4, 4).
    """
    J: Array = (pi @ TO_PSEUDO_INERTIA).reshape(*pi.shape[:-1], 4, 4)
    return J


def parameters_from_pseudo_inertia(J: Array) -> Array:
    """Return the parameter vector of a pseudo-inertia, the inverse of `pseudo_inertia`.

    Args:
        J: Symmetric, shape (..., 4, 4).

    Returns:
        Parameters in Pinocchio's order, shape (..., 10).
    """
    pi: Array = np.tensordot(J, PSEUDO_INERTIA_BASIS, axes=([-2, -1], [1, 2]))
    return pi


def transfer_matrix(T_AB: pin.SE3) -> Array:
    """Return X with pi_A = X pi_B: the same body's parameters about another frame's origin and axes.

    The pseudo-inertia transforms by congruence, J_A = T J_B T', T the 4x4 pose of B in A.

    Args:
        T_AB: Pose of frame B in frame A.

    Returns:
        Matrix of the linear map, shape (10, 10).
    """
    T = T_AB.homogeneous
    X: Array = parameters_from_pseudo_inertia(T @ TO_PSEUDO_INERTIA.reshape(10, 4, 4) @ T.T).T
    return X


def second_moments(inertia: Array) -> Array:
    """Return Sigma = tr(I) / 2 1 - I of a rotational inertia, symmetric, shape (..., 3, 3)."""
    inertia = 0.5 * (inertia + np.swapaxes(inertia, -1, -2))
    half_trace = 0.5 * np.trace(inertia, axis1=-2, axis2=-1)[..., None, None]
    Sigma: Array = half_trace * np.eye(3) - inertia
    return Sigma


def rotational_inertia(Sigma: Array) -> Array:
    """Return I = tr(Sigma) 1 - Sigma of second moments, shape (3, 3), the inverse of `second_moments`."""
    inertia: Array = np.trace(Sigma) * np.eye(3) - Sigma
    return inertia


@dataclass(frozen=True, slots=True, eq=False)
class InertialParameters:
    """Mass distribution of a rigid body up to second order, in a frame F.

    The value may be physically inconsistent, for example the difference of two bodies; see `violations`.

    Attributes:
        mass: Mass [kg].
        com_F: Centre of mass [m], shape (3,).
        inertia_Fcm: Rotational inertia about the centre of mass, axes of F [kg m^2], shape (3, 3).
    """

    mass: float
    com_F: Array
    inertia_Fcm: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "mass", float(self.mass))
        object.__setattr__(self, "com_F", frozen_array("com_F", self.com_F, (3,)))
        object.__setattr__(self, "inertia_Fcm", frozen_array("inertia_Fcm", self.inertia_Fcm, (3, 3)))

    @classmethod
    def from_vector(cls, pi: Array) -> "InertialParameters":
        """Build from a parameter vector in Pinocchio's order.

        A mass of zero (a difference of two bodies of equal mass) leaves the centre of mass undefined;
        it is then set to the origin.

        Args:
            pi: Parameters about the frame's origin, shape (10,).
        """
        m, h = float(pi[0]), pi[1:4]
        com = h / m if m != 0.0 else np.zeros(3)
        return cls(m, com, rotational_inertia(pseudo_inertia(pi)[:3, :3] - m * np.outer(com, com)))

    @classmethod
    def from_pinocchio(cls, inertia: pin.Inertia) -> "InertialParameters":
        """Build from Pinocchio's spatial inertia."""
        return cls(inertia.mass, inertia.lever, inertia.inertia)

    @property
    def vector(self) -> Array:
        """Parameters about the frame's origin in Pinocchio's order, shape (10,)."""
        J, c = np.empty((4, 4)), np.append(self.com_F, 1.0)
        J[:] = self.mass * np.outer(c, c)
        J[:3, :3] += second_moments(self.inertia_Fcm)
        return parameters_from_pseudo_inertia(J)

    def expressed_in(self, T_AF: pin.SE3) -> "InertialParameters":
        """Return the same body in another frame.

        Args:
            T_AF: Pose of this value's frame F in the new frame A.
        """
        R = T_AF.rotation
        return InertialParameters(self.mass, T_AF.act(self.com_F), R @ self.inertia_Fcm @ R.T)

    def of_link(self, link: str) -> LinkInertia:
        """Return the value as the inertia of a link's body; F is the frame of that link."""
        return LinkInertia(link, self.mass, self.com_F, self.inertia_Fcm)

    def violations(self) -> list[str]:
        """List every condition of full physical consistency that does not hold; empty if consistent."""
        if not np.isfinite(self.inertia_Fcm).all():
            return [f"inertia {self.inertia_Fcm.tolist()} is not finite"]
        found = []
        if not self.mass > 0.0:
            found.append(f"mass {self.mass:.6g} kg is not positive")
        moments = linear_algebra.eigvalsh(self.inertia_Fcm)
        if not np.abs(self.inertia_Fcm - self.inertia_Fcm.T).max() <= 1e-9 * np.abs(self.inertia_Fcm).max():
            found.append("inertia is not symmetric")
        if not moments[0] > 0.0:
            found.append(f"smallest principal moment {moments[0]:.6g} kg m^2 is not positive")
        if not moments[0] + moments[1] > moments[2]:
            found.append(
                f"principal moments {moments[0]:.6g}, {moments[1]:.6g}, {moments[2]:.6g} kg m^2 "
                "break the triangle inequality"
            )
        return found

    @property
    def inconsistency(self) -> float:
        """Degree of inconsistency of the inertia: 0 if a distribution of positive mass can have it.

        It is the magnitude of the most negative second moment about the centre of mass over the sum of the
        magnitudes of all three; a plate whose normal moment is twice the largest possible one has 0.25.
        """
        principal = linear_algebra.eigvalsh(second_moments(self.inertia_Fcm))
        total = float(np.abs(principal).sum())
        return max(0.0, -float(principal[0]) / total) if total > 0.0 else 0.0

    def made_consistent(self, name: str) -> "InertialParameters":
        """Return the nearest consistent value with the same mass and centre of mass.

        URDFs often violate the triangle inequality by round-off or by invented numbers:
        second moments below (10^-3 of the gyration radius)^2 are raised to it.

        Args:
            name: Name of the body, for the message.

        Raises:
            InconsistentInertiaError: If the mass is not positive, in which case no consistent value is near.
        """
        if not self.mass > 0.0:
            raise InconsistentInertiaError(f"inertia of '{name}': mass {self.mass:.6g} kg is not positive")
        if not self.violations():
            return self
        sigma, V = linear_algebra.eigh(second_moments(self.inertia_Fcm))
        floor = SMALLEST_RADIUS**2 * max(float(np.abs(sigma).sum()), self.mass)
        Sigma = (V * np.maximum(sigma, floor)) @ V.T
        return InertialParameters(self.mass, self.com_F, rotational_inertia(Sigma))


_ROWS, _COLUMNS = np.triu_indices(len(PARAMETER_NAMES))
_METRES = [0, 1, 1, 1, 2, 2, 2, 2, 2, 2]  # a parameter's unit is kg m to this power
_UNITS = ("kg^2", "kg^2 m", "kg^2 m^2", "kg^2 m^3", "kg^2 m^4")

COVARIANCE_NAMES = tuple(
    f"{PARAMETER_NAMES[i]}/{PARAMETER_NAMES[j]} [{_UNITS[_METRES[i] + _METRES[j]]}]"
    for i, j in zip(_ROWS, _COLUMNS, strict=True)
)


def upper_triangle(covariance: Array) -> Array:
    """Return the upper triangle row by row, in the order of `COVARIANCE_NAMES`.

    Args:
        covariance: Symmetric, of parameters in Pinocchio's order, shape (10, 10).

    Returns:
        Shape (55,).
    """
    upper: Array = covariance[_ROWS, _COLUMNS]
    return upper


def covariance_from_upper(values: ArrayLike) -> Array:
    """Return the matrix of its upper triangle, the inverse of `upper_triangle`.

    Args:
        values: The 55 numbers in the order of `COVARIANCE_NAMES`, as `position` of a message on
            ``link_covariances/<link>`` holds them.

    Returns:
        Symmetric matrix, shape (10, 10).

    Raises:
        MeasurementError: If there are not 55.
    """
    upper = np.asarray(values, dtype=float)
    if upper.shape != (len(COVARIANCE_NAMES),):
        raise MeasurementError(
            f"upper triangle has shape {upper.shape}, expected ({len(COVARIANCE_NAMES)},): the covariance "
            f"of {len(PARAMETER_NAMES)} parameters"
        )
    covariance = np.empty((len(PARAMETER_NAMES),) * 2)
    covariance[_ROWS, _COLUMNS] = covariance[_COLUMNS, _ROWS] = upper
    return covariance
