"""Parameters of the tilt observer's pipeline."""

from dataclasses import dataclass

from inertial_estimation.estimators.tilt.gyro_bias import GyroBiasConfig
from inertial_estimation.estimators.tilt.hua_observer import HuaConfig, HuaObserver
from inertial_estimation.estimators.tilt.r3s2_observer import R3S2Config, R3S2Observer
from inertial_estimation.estimators.tilt.tilt_observer import GravityFallbackConfig, TiltObserver
from inertial_estimation.estimators.tilt.tilt_uncertainty import UncertaintyConfig
from inertial_estimation.estimators.tilt.two_stage_observer import TwoStageConfig, TwoStageObserver
from inertial_estimation.estimators.tilt.yaw import YawConfig
from inertial_estimation.models.contacts import ContactConfig
from inertial_estimation.models.robot_config import RobotConfig
from inertial_estimation.parameters import parameter, section

__all__ = ["TiltPipelineConfig", "make_observer", "set_observer_gains"]


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
    observer: str = parameter(
        "two_stage", "Observer that estimates the tilt.", choices=("two_stage", "r3s2", "hua")
    )
    startup: float = parameter(
        0.3,
        "Time over which the accelerometer is averaged for the initial tilt; nothing is published during it.",
        unit="s",
        lower=0.0,
        upper=10.0,
    )
    two_stage: TwoStageConfig = section(TwoStageConfig)
    r3s2: R3S2Config = section(R3S2Config)
    hua: HuaConfig = section(HuaConfig)
    contact: ContactConfig = section(ContactConfig)
    gravity: GravityFallbackConfig = section(GravityFallbackConfig)
    bias: GyroBiasConfig = section(GyroBiasConfig)
    yaw: YawConfig = section(YawConfig)
    uncertainty: UncertaintyConfig = section(UncertaintyConfig)


def make_observer(config: TiltPipelineConfig) -> TiltObserver:
    """Build the observer a config chooses."""
    if config.observer == "r3s2":
        return R3S2Observer(config.r3s2, config.gravity)
    if config.observer == "hua":
        return HuaObserver(config.hua, config.gravity)
    return TwoStageObserver(config.two_stage, config.gravity)


def set_observer_gains(observer: TiltObserver, config: TiltPipelineConfig) -> None:
    """Give a running observer the gains of a changed config; its state is kept."""
    observer.fallback = config.gravity
    if isinstance(observer, TwoStageObserver):
        observer.config = config.two_stage
    elif isinstance(observer, R3S2Observer):
        observer.config = config.r3s2
    elif isinstance(observer, HuaObserver):
        observer.config = config.hua
