"""What a cause is called in findings: check, subject, sentence and remedy."""

import math

import numpy as np

from inertial_estimation.bring_up.cause import Cause, CauseKind
from inertial_estimation.bring_up.force_rows import ForceRows
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import DEGREES

SCALED = {
    CauseKind.WHOLE: "all masses",
    CauseKind.WRENCH: "the contact wrenches",
    CauseKind.EFFORT: "the efforts",
}
CHECKS = {
    CauseKind.LINK: "link mass",
    CauseKind.WHOLE: "masses",
    CauseKind.WRENCH: "contact wrench scale",
    CauseKind.EFFORT: "effort scale",
    CauseKind.ZERO: "effort zero",
    CauseKind.OFFSET: "joint offset",
    CauseKind.IMU: "IMU mounting",
    CauseKind.MOUNTING: "base mounting",
}
OF_ALL = {
    CauseKind.WHOLE: "description",
    CauseKind.WRENCH: "contact wrenches",
    CauseKind.EFFORT: "joint_states",
}


def check_of(cause: Cause) -> tuple[str, str]:
    """Return the check that names a cause, and of what."""
    return CHECKS[cause.kind], OF_ALL[cause.kind] if cause.subject == "all" else cause.subject


def value_of(cause: Cause) -> tuple[float, str]:
    """Return the size of a cause and its unit; angles in degrees."""
    if cause.kind is CauseKind.MOUNTING:
        return tilt_of(cause)[0], "deg"
    if cause.kind in (CauseKind.OFFSET, CauseKind.IMU):
        return cause.size * DEGREES, "deg"
    return cause.size, {CauseKind.LINK: "kg", CauseKind.ZERO: "Nm"}.get(cause.kind, "")


def tilt_of(cause: Cause) -> tuple[float, Array]:
    """Return the angle by which a fixed base is tilted [deg], and gravity in its axes [m/s^2], shape (3,)."""
    described = np.array([0.0, 0.0, -STANDARD_GRAVITY])
    gravity: Array = described + cause.amplitude
    across = float(np.linalg.norm(np.cross(described, gravity)))
    return math.atan2(across, float(described @ gravity)) * DEGREES, gravity


def words_of(cause: Cause) -> str:
    """Return a cause in a few words."""
    value, _unit = value_of(cause)
    if cause.kind is CauseKind.LINK:
        return f"{value:+.2g} kg on '{cause.subject}'"
    if cause.kind is CauseKind.ZERO:
        return f"a constant {value:+.3g} Nm in the effort of {cause.subject}"
    if cause.kind is CauseKind.OFFSET:
        return f"an offset of {value:+.1f} deg of {cause.subject}"
    if cause.kind is CauseKind.IMU:
        return f"an IMU turned by {value:.1f} deg about {_axis(cause.amplitude)} of its axes"
    if cause.kind is CauseKind.MOUNTING:
        return f"a base that is tilted by {value:.1f} deg"
    of = "" if cause.subject == "all" else f" of {cause.subject}"
    return f"{SCALED[cause.kind]}{of} {100 * value:+.0f} %"


def sentence_of(cause: Cause, rows: ForceRows) -> str:
    """Return a cause with its standard deviation."""
    if cause.kind is CauseKind.LINK:
        mass = float(rows.masses[rows.links.index(cause.subject)])
        share = f" ({100 * cause.size / mass:+.0f} %)" if mass > 0.0 else ""
        return f"{cause.size:+.3g} kg (sigma {cause.sigma:.1g}) on its {mass:.3g} kg{share}"
    if cause.kind is CauseKind.ZERO:
        return f"{words_of(cause)} (sigma {cause.sigma:.1g} Nm)"
    if cause.kind in (CauseKind.OFFSET, CauseKind.IMU):
        return f"{words_of(cause)} (sigma {cause.sigma * DEGREES:.1g} deg)"
    if cause.kind is CauseKind.MOUNTING:
        x, y, z = tilt_of(cause)[1]
        sigma = cause.sigma / STANDARD_GRAVITY * DEGREES
        gravity = f"gravity ({x:.2f}, {y:.2f}, {z:.2f}) m/s^2 in its axes"
        return f"{words_of(cause)} (sigma {sigma:.1g} deg, {gravity})"
    return f"{words_of(cause)} (sigma {100 * cause.sigma:.1g} %)"


def remedy_of(cause: Cause) -> str:
    """Return what to do about a cause."""
    if cause.kind is CauseKind.LINK:
        load = "a load that the description lacks" if cause.size > 0.0 else "a part that was taken off"
        return f"{load}, or a wrong mass? Weigh it, correct the URDF, or use identified.urdf of identify"
    if cause.kind is CauseKind.EFFORT and cause.subject != "all":
        gain = 1.0 / (1.0 + cause.size)
        return f"check gear ratio and torque constant in the drive, or set drive_gains of it to {gain:.3g}"
    return {
        CauseKind.WHOLE: "weigh the robot and correct the URDF; or is the scale of a sensor wrong?",
        CauseKind.WRENCH: "check scale and zero of the force sensors; weigh the robot",
        CauseKind.EFFORT: "check gear ratio and torque constant in the drive",
        CauseKind.ZERO: "calibrate the zero of its torque; or is there a spring?",
        CauseKind.OFFSET: "calibrate it (command calibrate), and set joint_offsets of it",
        CauseKind.IMU: "check imu_frame and the rpy of its joint, and how the IMU is mounted",
        CauseKind.MOUNTING: (
            "is the base mounted as described? Correct the rpy of the joint that fixes it to the world"
        ),
    }[cause.kind]


def _axis(rotation: Array) -> str:
    x, y, z = rotation / max(float(np.linalg.norm(rotation)), 1e-12)
    return f"({x:.2f}, {y:.2f}, {z:.2f})"
