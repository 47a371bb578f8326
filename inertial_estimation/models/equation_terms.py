"""Terms of the equation of motion, by Pinocchio: columns of bodies, mass matrix, Jacobians.

    M(q) a + c(q, v) = sum_j J_j' A_j(v, a) pi_j = S' tau + sum J_c' lambda

J_j is the Jacobian of the joint that carries body j and A_j its body regressor, both in the axes of that
joint. The base is at the origin of the world, with its axes.
"""

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from inertial_estimation.models.bodies import BodyReference
from inertial_estimation.models.imu import ImuMount
from inertial_estimation.models.robot_config import ContactFrames
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array


class EquationTerms:
    """Terms at one configuration after the other: `move_to` comes before all others.

    Attributes:
        size: Number of columns of the bodies, ten for each.
        nominal: Their nominal parameters about the joint frames, Pinocchio's order, shape (size,).
        n_wrenches: Number of components of all contact wrenches.
    """

    def __init__(
        self,
        robot: RobotModel,
        bodies: Sequence[BodyReference],
        contacts: Sequence[ContactFrames] = (),
        imu: ImuMount | None = None,
    ) -> None:
        """Copy the model.

        Args:
            robot: The robot, with nominal inertias.
            bodies: The bodies that have columns.
            contacts: The contacts.
            imu: IMU that senses the acceleration of a floating base; None if that is given directly.
        """
        self._robot, self._imu = robot, imu if robot.floating_base else None
        self._whole = robot.model.copy()  # whose bodies have the parameters that are believed
        if robot.floating_base:  # its proper acceleration stands for gravity
            self._whole.gravity.linear = np.zeros(3)
        self._rest = self._whole.copy()
        self._joints = [body.joint_id for body in bodies]
        self._inertias = [robot.model.inertias[joint].copy() for joint in self._joints]
        for joint in self._joints:
            self._rest.inertias[joint] = pin.Inertia.Zero()
        self._data, self._mass_data = self._rest.createData(), self._whole.createData()
        self._frames = [robot.frame_id(contact.wrench_frame) for contact in contacts]
        self._phi: Array | None = None
        self.size, self.n_wrenches = 10 * len(bodies), 6 * len(contacts)
        self.nominal = np.array([body.nominal_J.vector for body in bodies]).ravel()

    @property
    def gravity(self) -> Array:
        """Gravity that accelerations leave out, shape (3,); zero for a floating base."""
        gravity: Array = np.array(self._whole.gravity.linear)
        return gravity

    def move_to(self, q: Array) -> None:
        """Compute the Jacobians at a configuration, shape (nq,)."""
        pin.computeJointJacobians(self._rest, self._data, q)

    def columns(self, q: Array, v: Array, a: Array, width: int) -> tuple[Array, Array]:
        """Return the columns of the bodies, then zeros, (nv, width), and the torques of all others, (nv,).

        Args:
            q: The configuration, shape (nq,).
            v: Generalized velocity, shape (nv,).
            a: Generalized acceleration, shape (nv,); of a floating base the proper one, gravity included.
            width: Number of columns, at least `size`.
        """
        rest: Array = pin.rnea(self._rest, self._data, q, v, a)
        A = np.zeros((len(v), width))
        for i, joint in enumerate(self._joints):
            J = pin.getJointJacobian(self._rest, self._data, joint, pin.LOCAL)
            A[:, 10 * i : 10 * i + 10] = J.T @ pin.jointBodyRegressor(self._rest, self._data, joint)
        return A, rest

    def contact_jacobians(self) -> Array:
        """Return the Jacobians of the contacts in the axes of their wrench frames, shape (n_wrenches, nv)."""
        J = np.empty((self.n_wrenches, self._rest.nv))
        for i, frame in enumerate(self._frames):
            J[6 * i : 6 * i + 6] = pin.getFrameJacobian(self._rest, self._data, frame, pin.LOCAL)
        return J

    def mass_matrix(self, q: Array, phi: Array | None = None) -> Array:
        """Return M(q) of the robot as it is believed to be, shape (nv, nv).

        An error of an acceleration reaches the generalized forces through it: a load on a hand makes the
        effect of a joint's acceleration on the arm's torques several times as large.

        Args:
            q: Configuration, shape (nq,).
            phi: Parameters of the bodies, as `nominal`; what follows them is not read. None: nominal. A body
                without a positive mass, which a linear filter may estimate, counts as nominal.
        """
        if phi is not self._phi:
            for k, (joint, nominal) in enumerate(zip(self._joints, self._inertias, strict=True)):
                pi = None if phi is None else phi[10 * k : 10 * k + 10]
                given = pi is not None and pi[0] > 0.0
                self._whole.inertias[joint] = pin.Inertia.FromDynamicParameters(pi) if given else nominal
            self._phi = phi
        M: Array = pin.crba(self._whole, self._mass_data, q, pin.Convention.WORLD)  # both triangles
        return M

    @property
    def R_BI(self) -> Array:
        """Rotation from the axes of the IMU to those of the base, shape (3, 3); identity without an IMU."""
        return np.eye(3) if self._imu is None else np.array(self._pose(self._imu).rotation)

    def by_sensed(self, inertia: Array) -> Array:
        """Return the effect of an error of each sensed acceleration on rows of the mass matrix, (m, nv).

        Accelerations of the joints are sensed directly, and that of the base where there is no IMU. With one
        it is a_B = X_BI (a_I - J_I a): errors of the joints between base and IMU enter through the base, too.

        Args:
            inertia: Rows of the mass matrix, shape (m, nv).
        """
        if self._imu is None:
            return inertia
        of_base, moving = inertia[:, :6], self._imu.moving
        sensed: Array = inertia.copy()
        sensed[:, :6] = of_base @ self._pose(self._imu).toActionMatrix()
        if len(moving):
            sensed[:, moving] -= of_base @ self._data.J[:, moving]
        return sensed

    def _pose(self, imu: ImuMount) -> pin.SE3:
        T_BI: pin.SE3 = self._data.oMi[imu.joint_id] * imu.T_JI
        return T_BI
