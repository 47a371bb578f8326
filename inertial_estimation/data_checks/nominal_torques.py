"""Joint torques that the description predicts, with contact forces measured or distributed."""

import numpy as np

from inertial_estimation.data_checks.data_table import DataTable
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

AT_REST = 0.05  # largest joint speed at which all contacts are assumed to carry the robot [rad/s]
LEVER = 0.1  # at which contact moments weigh as much as forces in their distribution [m]


def nominal_torques(table: DataTable) -> Array:
    """Predict the joint torques of every window.

    tau = (M a + c - J' w)_joints with measured wrenches. Where they are not measured, those of least
    norm that carry the robot at rest replace them; these are near the true ones for a symmetric stance.

    Args:
        table: The windows.

    Returns:
        Torques [Nm], shape (N, n_joints), NaN where nothing is known about the contact forces.
    """
    n_base = table.n_base
    joints: Array = table.force[:, n_base:]
    contacts = table.jacobians.shape[1]
    if n_base == 0:
        return joints
    if not contacts:
        return np.full_like(joints, np.nan)
    load = table.contact_force[:, n_base:]
    known = np.isfinite(load).all(axis=1)
    if known.sum() >= 0.5 * table.size:
        return joints - load
    torques = np.full_like(joints, np.nan)
    for i in np.flatnonzero((table.speed < AT_REST) & np.isfinite(table.force).all(axis=1)):
        torques[i] = joints[i] - _distributed(table, int(i))
    hanging = np.where(np.isfinite(torques), joints, np.nan)
    return torques if _likeness(table.tau, torques) >= _likeness(table.tau, hanging) else hanging


def _likeness(measured: Array, predicted: Array) -> float:
    """Size of the cosine between torques; it is larger for standing or hanging, whichever is true."""
    known = np.isfinite(measured) & np.isfinite(predicted)
    m, p = measured[known], predicted[known]
    size = float(np.linalg.norm(m) * np.linalg.norm(p))
    return abs(float(m @ p)) / size if size > 0.0 else 0.0


def _distributed(table: DataTable, i: int) -> Array:
    """Joint torques of the contact forces of least norm that balance the base, shape (n_joints,)."""
    J, n_base = table.jacobians[i], table.n_base
    scale = np.array([1.0] * 3 + ([0.0] * 3 if table.point_contacts else [LEVER] * 3))
    columns = (J * scale[None, :, None]).reshape(-1, J.shape[2]).T
    wrenches = linear_algebra.pinv(columns[:n_base], 1e-6) @ table.force[i, :n_base]
    torque: Array = columns[n_base:] @ wrenches
    return torque
