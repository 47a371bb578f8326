"""Parameters of the tilt observer's pipeline."""

from dataclasses import dataclass
from typing import Any

from inertial_estimation.estimators.tilt.correction_rate import AdaptationConfig
from inertial_estimation.estimators.tilt.first_stage_observer import FirstStageConfig
from inertial_estimation.estimators.tilt.gyro_bias import GyroBiasConfig
from inertial_estimation.estimators.tilt.hua_observer import HuaConfig
from inertial_estimation.estimators.tilt.invariant_ekf import InvariantEkfConfig
from inertial_estimation.estimators.tilt.kalman_observer import KalmanConfig
from inertial_estimation.estimators.tilt.observers import OBSERVERS, observer_of_section
from inertial_estimation.estimators.tilt.r3s2_observer import R3S2Config
from inertial_estimation.estimators.tilt.tilt_observer import GravityFallbackConfig
from inertial_estimation.estimators.tilt.tilt_uncertainty import UncertaintyConfig
from inertial_estimation.estimators.tilt.two_stage_observer import TwoStageConfig
from inertial_estimation.estimators.tilt.yaw import YawConfig
from inertial_estimation.models.contacts import ContactConfig
from inertial_estimation.models.robot_config import RobotConfig
from inertial_estimation.parameters import parameter, parameter_values, section


@dataclass(frozen=True)
class TiltPipelineConfig:
    """All parameters of the tilt observer."""

    robot: RobotConfig = section(RobotConfig, prefix="")
    rate: float = parameter(
        500.0,
        "Highest rate of estimates; IMU readings that arrive faster are averaged.",
        unit="Hz",
        lower=1.0,
        upper=10000.0,
    )
    observer: str = parameter("kalman", "Observer that estimates the tilt.", choices=tuple(OBSERVERS))
    startup: float = parameter(
        0.3,
        "Time over which the accelerometer is averaged for the initial tilt; nothing is published during it.",
        unit="s",
        lower=0.0,
        upper=10.0,
    )
    check_readings: bool = parameter(
        True,
        "Whether gyroscope, accelerometer and contact velocity are checked against one another: jumps of the "
        "gyroscope are left out, and the tilt is determined anew after contradictions. If false, the "
        "observer uses every reading as it is, as in the papers.",
    )
    kalman: KalmanConfig = section(KalmanConfig)
    two_stage: TwoStageConfig = section(TwoStageConfig)
    first_stage: FirstStageConfig = section(FirstStageConfig)
    adaptation: AdaptationConfig = section(AdaptationConfig)
    r3s2: R3S2Config = section(R3S2Config)
    hua: HuaConfig = section(HuaConfig)
    invariant_ekf: InvariantEkfConfig = section(InvariantEkfConfig)
    contact: ContactConfig = section(ContactConfig)
    gravity: GravityFallbackConfig = section(GravityFallbackConfig)
    bias: GyroBiasConfig = section(GyroBiasConfig)
    yaw: YawConfig = section(YawConfig)
    uncertainty: UncertaintyConfig = section(UncertaintyConfig)

    @property
    def gains(self) -> Any:
        """Gains of the chosen observer: the section of its name."""
        return getattr(self, self.observer)

    @property
    def without_effect(self) -> list[str]:
        """A sentence for each gain that was changed of an observer that is not in use."""
        defaults, found = parameter_values(TiltPipelineConfig()), []
        for name, value in parameter_values(self).items():
            prefix, dot, _gain = name.partition(".")
            owner = observer_of_section(prefix) if dot else ""
            if owner not in ("", self.observer) and value != defaults[name]:
                found.append(
                    f"tilt_observer.{name} has no effect: it is of the observer {owner}, and "
                    f"{self.observer} is in use"
                )
        return found
