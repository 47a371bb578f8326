"""All measurements of one time, in the order of the joints of a model."""

from dataclasses import dataclass

from inertial_estimation.signals import Array


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredState:
    """All measurements of one time. The arrays are not copied, since one update makes and uses them.

    Attributes:
        q: Joint positions [rad], shape (n_joints,).
        v: Joint velocities [rad/s], shape (n_joints,).
        a: Joint accelerations [rad/s^2], shape (n_joints,).
        tau: Joint torques [Nm], shape (n_joints,), or None where not measured.
        f_B: Proper acceleration of the base origin, base axes [m/s^2], shape (3,); None: fixed base.
        w_B: Angular velocity of the base, base axes [rad/s], shape (3,).
        wd_B: Angular acceleration of the base, base axes [rad/s^2], shape (3,).
        wrenches: Measured wrench of each contact, about and along its frame, shape (n_contacts, 6).
        sign: Smoothed sign of v averaged over the window, shape (n_joints,), or None.
        accelerometer: Errors of the accelerometer about which an equation is linearised: bias along the axes
            of the IMU [m/s^2] and scale, shape (4,); f_B is as read. None: zero.
    """

    q: Array
    v: Array
    a: Array
    tau: Array | None = None
    f_B: Array | None = None
    w_B: Array | None = None
    wd_B: Array | None = None
    wrenches: Array | None = None
    sign: Array | None = None
    accelerometer: Array | None = None
