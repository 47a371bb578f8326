"""What the tilt estimator says of itself, for diagnostics."""

from collections.abc import Sequence

import numpy as np

from inertial_estimation.errors import listing
from inertial_estimation.inputs.imu import IMU
from inertial_estimation.signals import Health, HealthLevel
from inertial_estimation.tilt.base_estimator import BaseEstimator

FLIGHT = 0.5  # without contact, beyond which a gait with flight does not explain it [s]
DOUBTED = 3.0  # for which a doubt of the gyroscope's bias is reported [s]
WIDE = np.radians(3.0)  # standard deviation of a tilt that a controller should not trust [rad]


def estimator_health(estimator: BaseEstimator, missing: Sequence[str], failed: str) -> Health:
    """Return the state of the estimator.

    Args:
        estimator: The estimator.
        missing: Inputs that never arrived or are lost.
        failed: What failed steps have to say; empty: none did.
    """
    observer = estimator.observer
    found, level = [failed] if failed else [], HealthLevel.WARN if failed else HealthLevel.OK
    if observer.aligning:
        found.append(f"starting: determining the vertical over {estimator.config.filter.startup:g} s")
        level = HealthLevel.WARN
    if IMU in missing:
        return Health("estimator", HealthLevel.STALE, f"waiting for {IMU}", figures(estimator))
    if missing:
        found.append(f"without {listing(missing)}: the tilt goes on from the other inputs, less certain")
        level = HealthLevel.WARN
    elif estimator.feet.without_contact_s > FLIGHT and not estimator.imu_alone:
        found.append("no contact carries the robot: the accelerometer alone corrects the tilt")
        level = HealthLevel.WARN
    if observer.doubt < DOUBTED:
        found.append(
            "the tilt was corrected more than noise explains: the bias of the gyroscope is determined anew"
        )
        level = HealthLevel.WARN
    if estimator.clipped:
        found.append("the gyroscope is at the end of its range")
        level = HealthLevel.WARN
    if not observer.aligning and estimator.tilt_sigma > WIDE:
        found.append(f"the tilt is uncertain by {np.degrees(estimator.tilt_sigma):.1f} deg")
        level = HealthLevel.WARN
    return Health("estimator", level, "; ".join(found) or "estimating", figures(estimator))


def figures(estimator: BaseEstimator) -> dict[str, str]:
    """Return figures of the estimator as text, by name."""
    observer = estimator.observer
    bias, sigma = estimator.gyro_bias
    return {
        "steps": str(estimator.steps),
        "steps with an input missing": str(estimator.incomplete_steps),
        "contacts": ", ".join(estimator.feet.shares.use.names) or "none",
        "at rest": "yes" if estimator.readings.seen.at_rest else "no",
        "gyro bias [rad/s]": " ".join(f"{value:.5f}" for value in bias),
        "gyro bias sigma [rad/s]": f"{sigma:.5f}",
        "tilt sigma [deg]": f"{np.degrees(estimator.tilt_sigma):.3f}",
        "contact residual [m/s]": f"{np.linalg.norm(observer.residual):.4f}",
        "contact noise [m/s]": f"{observer.contact_noise:.4f}",
    }
