"""What is known before a calibration: how large offsets can be, and how exact the description is."""

from dataclasses import dataclass

from inertial_estimation.parameters import parameter

__all__ = ["CalibrationConfig"]


@dataclass(frozen=True)
class CalibrationConfig:
    """Prior knowledge and limits, common to all kinds of calibration."""

    offset_sigma: float = parameter(
        0.2,
        "Weak knowledge that offsets are near zero: their standard deviation.",
        unit="rad",
        lower=1e-4,
        upper=10.0,
    )
    offset_bound: float = parameter(
        0.35, "Largest offset that is possible.", unit="rad", lower=1e-3, upper=3.1
    )
    placement_position_sigma: float = parameter(
        0.0,
        "Standard deviation of errors of the description's joint positions; 0: it is exact.",
        unit="m",
        lower=0.0,
        upper=0.1,
    )
    placement_rotation_sigma: float = parameter(
        0.0,
        "Standard deviation of errors of the description's joint axes; 0: it is exact.",
        unit="rad",
        lower=0.0,
        upper=0.2,
    )
    identifiable_sigma: float = parameter(
        0.01,
        "An offset known better than this (standard deviation) is identifiable.",
        unit="rad",
        lower=1e-6,
        upper=0.2,
    )
    robust: bool = parameter(True, "Weigh down samples whose residual is beyond the 99 % quantile.")
