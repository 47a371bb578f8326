"""Parameters of the inertial pipeline, declared once."""

from dataclasses import dataclass

from inertial_estimation.inputs.config import RobotConfig
from inertial_estimation.models.bodies import LOAD_SHARE
from inertial_estimation.models.friction import FrictionConfig
from inertial_estimation.models.measurement_rows import (
    MeasurementNoise,
    RowsConfig,
)
from inertial_estimation.models.sensor_errors import SensorErrorConfig
from inertial_estimation.parameters import parameter, section

AUTO = "auto"  # entry of `links`
INFORMATION, LOG_CHOLESKY, LINEAR = "information", "log_cholesky", "linear"


@dataclass(frozen=True)
class PriorConfig:
    """Prior standard deviations of the inertial parameters about their nominal values."""

    mass: float = parameter(
        0.2,
        "Prior standard deviation of the logarithm of each body's mass, about its nominal value.",
        lower=1e-6,
        upper=10.0,
    )
    com: float = parameter(
        0.02,
        "Prior standard deviation of each body's centre of mass, about its nominal position, per axis.",
        unit="m",
        lower=1e-6,
        upper=10.0,
    )
    radii: float = parameter(
        0.2,
        "Prior standard deviation of the logarithm of each body's radii of gyration, about their nominal "
        "values.",
        lower=1e-6,
        upper=10.0,
    )
    load: float = parameter(
        LOAD_SHARE,
        "Load, as share of the robot's mass, that a trunk and the last estimated body of a limb may carry "
        "from the start in addition to the description.",
        lower=0.0,
        upper=10.0,
    )
    others: float = parameter(
        0.25,
        "Standard deviations of masses and centres of mass of bodies that are not estimated, as share of "
        "`mass` and `com`; covariances contain their effect.",
        lower=0.0,
        upper=10.0,
    )


@dataclass(frozen=True)
class InertialPipelineConfig:
    """The inertial filter of one robot."""

    robot: RobotConfig = section(RobotConfig, prefix="")
    links: tuple[str, ...] = parameter(
        (),
        "Links whose inertial parameters are estimated; each must belong to a different body. The entry "
        "`auto` adds every link of `candidates`, nominal until a load is found on it.",
    )
    rate: float = parameter(333.0, "Highest rate of filter updates.", unit="Hz", lower=1.0, upper=2000.0)
    filter: str = parameter(
        INFORMATION,
        "Estimator: the physically consistent information filter with the bank of causes; or, for "
        "comparison, the log-Cholesky EKF of Foster et al., or a linear Kalman filter in the parameters.",
        choices=(INFORMATION, LOG_CHOLESKY, LINEAR),
    )
    rows: RowsConfig = section(RowsConfig, prefix="")
    window: float = parameter(
        0.1,
        "Length of the window in which velocities are differentiated and all other signals averaged; "
        "estimates lag by half of it.",
        unit="s",
        lower=0.001,
        upper=2.0,
    )
    noise: MeasurementNoise = section(MeasurementNoise)
    prior: PriorConfig = section(PriorConfig)
    candidates: tuple[str, ...] = parameter(
        ("*",),
        "Links, by name or shell pattern, on which loads and pushes are detected; with `links: [auto]` also "
        "the links whose inertial parameters are published.",
    )
    friction: FrictionConfig = section(FrictionConfig)
    sensor_errors: SensorErrorConfig = section(SensorErrorConfig)
    hand_over_rate: float = parameter(
        3.0,
        "Largest rate of change of a published mass; while a detected load is followed, 5 % of the robot's "
        "mass in 0.1 s if that is faster.",
        unit="kg/s",
        lower=0.001,
        upper=1e6,
        runtime=True,
    )
