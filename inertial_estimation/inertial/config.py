"""Parameters of the inertial pipeline, declared once."""

from dataclasses import dataclass

from inertial_estimation.inputs.config import RobotConfig
from inertial_estimation.models.bodies import LOAD_SHARE
from inertial_estimation.models.friction import FrictionConfig
from inertial_estimation.models.measurement_rows import MeasurementNoise, RowsConfig
from inertial_estimation.models.sensor_errors import SensorErrorConfig
from inertial_estimation.parameters import numeric, parameter, section

AUTO = "auto"  # entry of `links`
INFORMATION, LOG_CHOLESKY, LINEAR = "information", "log_cholesky", "linear"


@dataclass(frozen=True)
class PriorConfig:
    """Prior standard deviations of the inertial parameters about their nominal values."""

    mass: float = numeric(
        *(0.2, 1e-6, 10.0, ""),
        "Prior standard deviation of the logarithm of each body's mass, about its nominal value.",
    )
    com: float = numeric(
        *(0.02, 1e-6, 10.0, "m"),
        "Prior standard deviation of each body's centre of mass, about its nominal position, per axis.",
    )
    radii: float = numeric(
        *(0.2, 1e-6, 10.0, ""),
        "Prior standard deviation of the logarithm of each body's radii of gyration, about their nominal "
        "values.",
    )
    load: float = numeric(
        *(LOAD_SHARE, 0.0, 10.0, ""),
        "Load, as share of the robot's mass, that a trunk and the last estimated body of a limb may carry "
        "from the start in addition to the description.",
    )
    others: float = numeric(
        *(0.25, 0.0, 10.0, ""),
        "Standard deviations of masses and centres of mass of bodies that are not estimated, as share of "
        "`mass` and `com`; covariances contain their effect.",
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
    rate: float = numeric(333.0, 1.0, 2000.0, "Hz", "Highest rate of filter updates.")
    filter: str = parameter(
        INFORMATION,
        "Estimator: the physically consistent information filter with the bank of causes; or, for "
        "comparison, the log-Cholesky EKF of Foster et al., or a linear Kalman filter in the parameters.",
        choices=(INFORMATION, LOG_CHOLESKY, LINEAR),
    )
    rows: RowsConfig = section(RowsConfig, prefix="")
    window: float = numeric(
        *(0.1, 0.001, 2.0, "s"),
        "Length of the window in which velocities are differentiated and all other signals averaged; "
        "estimates lag by half of it.",
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
    hand_over_rate: float = numeric(
        *(3.0, 0.001, 1e6, "kg/s"),
        "Largest rate of change of a published mass; while a detected load is followed, 5 % of the robot's "
        "mass in 0.1 s if that is faster.",
        runtime=True,
    )
