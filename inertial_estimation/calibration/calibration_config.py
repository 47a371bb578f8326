"""Prior knowledge of a calibration: size of the offsets, and accuracy of the robot description."""

from dataclasses import dataclass

from inertial_estimation.parameters import parameter


@dataclass(frozen=True)
class CalibrationConfig:
    """Prior knowledge and limits, common to all kinds of calibration."""

    offset_sigma: float = parameter(
        0.2,
        "Prior standard deviation of the offset of every revolute joint, about zero; larger lets the data "
        "move the offsets further.",
        unit="rad",
        lower=1e-4,
        upper=10.0,
    )
    offset_bound: float = parameter(
        0.35,
        "Bound on the magnitude of the estimated offset of every revolute joint.",
        unit="rad",
        lower=1e-3,
        upper=3.1,
    )
    prismatic_sigma: float = parameter(
        0.02,
        "Prior standard deviation of the offset of every prismatic joint, about zero.",
        unit="m",
        lower=1e-5,
        upper=10.0,
    )
    prismatic_bound: float = parameter(
        0.1,
        "Bound on the magnitude of the estimated offset of every prismatic joint.",
        unit="m",
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
        "Standard deviation up to which the offset of a revolute joint counts as identifiable.",
        unit="rad",
        lower=1e-6,
        upper=0.2,
    )
    prismatic_identifiable_sigma: float = parameter(
        0.002,
        "Standard deviation up to which the offset of a prismatic joint counts as identifiable.",
        unit="m",
        lower=1e-7,
        upper=0.2,
    )
    robust: bool = parameter(
        True, "Whether samples with residuals beyond the 99 % quantile get a reduced (Huber) weight."
    )
