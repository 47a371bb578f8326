"""Prior knowledge of a calibration: size of the offsets, and accuracy of the robot description."""

from dataclasses import dataclass

from inertial_estimation.parameters import parameter


@dataclass(frozen=True)
class CalibrationConfig:
    """Prior knowledge, common to all kinds of calibration."""

    offset_sigma: float = parameter(
        0.2,
        "Prior standard deviation of the offset of every joint, about zero; larger lets the data move the "
        "offsets further. A decimetre of a prismatic joint counts as a radian.",
        unit="rad",
        lower=1e-4,
        upper=10.0,
    )
    placement_position_sigma: float = parameter(
        0.0,
        "Standard deviation of errors in the joint positions that the URDF gives; 0 takes the URDF as exact.",
        unit="m",
        lower=0.0,
        upper=0.1,
    )
    placement_rotation_sigma: float = parameter(
        0.0,
        "Standard deviation of errors in the joint axis directions that the URDF gives; 0 takes the URDF "
        "as exact.",
        unit="rad",
        lower=0.0,
        upper=0.2,
    )
    identifiable_sigma: float = parameter(
        0.01,
        "Standard deviation up to which the offset of a joint counts as identifiable; a decimetre of a "
        "prismatic joint counts as a radian.",
        unit="rad",
        lower=1e-6,
        upper=0.2,
    )
