"""Parameters of the inertial pipeline, declared once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from inertial_estimation.estimators.inertial.filters import FILTERS
from inertial_estimation.estimators.inertial.gate import GateConfig
from inertial_estimation.estimators.inertial.locator_config import LocatorConfig
from inertial_estimation.estimators.inertial.noise_config import NoiseAdaptationConfig
from inertial_estimation.estimators.inertial.process_config import ProcessConfig
from inertial_estimation.estimators.inertial.watch_config import WatchConfig
from inertial_estimation.models.coulomb import CoulombLaw
from inertial_estimation.models.friction import FrictionTerms, coulomb_law
from inertial_estimation.models.measurement_noise import MeasurementNoise
from inertial_estimation.models.measurement_rows import ContactMode, RowSelection
from inertial_estimation.models.robot_config import RobotConfig
from inertial_estimation.models.rows_config import RowsConfig
from inertial_estimation.models.sensor_error_config import SensorErrorConfig
from inertial_estimation.parameters import parameter, section
from inertial_estimation.signals import Array
from inertial_estimation.spatial.log_cholesky import CONVENTIONS

AUTO = "auto"  # entry of `links`


@dataclass(frozen=True)
class PriorConfig:
    """Prior standard deviations of the inertial parameters about their nominal values."""

    mass: float = parameter(
        1.0,
        "Prior standard deviation of the logarithm of each body's mass, about its nominal value.",
        lower=1e-6,
        upper=10.0,
    )
    com: float = parameter(
        0.1,
        "Prior standard deviation of each body's centre of mass, about its nominal position, per axis.",
        unit="m",
        lower=1e-6,
        upper=10.0,
    )
    radii: float = parameter(
        0.5,
        "Prior standard deviation of the logarithm of each body's radii of gyration, about their nominal "
        "values.",
        lower=1e-6,
        upper=10.0,
    )
    memory: float = parameter(
        1e5,
        "Time constant with which parameters that the data do not inform return to their nominal values; "
        "larger keeps estimates longer.",
        unit="s",
        lower=0.1,
        upper=1e9,
    )


@dataclass(frozen=True)
class FrictionPriorConfig:
    """Prior standard deviations of the friction parameters about their nominal values."""

    coulomb: float = parameter(
        1.0,
        "Prior standard deviation of each estimated Coulomb friction, about its nominal value.",
        unit="Nm",
        lower=1e-9,
        upper=1e3,
    )
    viscous: float = parameter(
        1.0,
        "Prior standard deviation of each estimated viscous friction coefficient, about its nominal value.",
        unit="Nm s/rad",
        lower=1e-9,
        upper=1e3,
    )
    offset: float = parameter(
        1.0,
        "Prior standard deviation of each estimated constant torque offset, about its nominal value.",
        unit="Nm",
        lower=1e-9,
        upper=1e3,
    )
    armature: float = parameter(
        0.1,
        "Prior standard deviation of each estimated rotor inertia, about its nominal value.",
        unit="kg m^2",
        lower=1e-9,
        upper=1e3,
    )
    coulomb_slope: float = parameter(
        1.0,
        "Prior standard deviation of each estimated change of Coulomb friction with the position, about its "
        "nominal value.",
        unit="Nm/rad",
        lower=1e-9,
        upper=1e3,
    )
    coulomb_load: float = parameter(
        0.1,
        "Prior standard deviation of each estimated increase of Coulomb friction with the torque behind the "
        "gear, about its nominal value.",
        lower=1e-9,
        upper=1e3,
    )

    def sigmas(self, terms: Sequence[str], joints: int) -> Array:
        """Return the prior standard deviations of friction terms for n joints, ordered term after term."""
        return np.repeat([float(getattr(self, term)) for term in terms], joints)


@dataclass(frozen=True)
class FrictionConfig(FrictionTerms):
    """Friction estimated along with the inertias."""

    prior: FrictionPriorConfig = section(FrictionPriorConfig)


@dataclass(frozen=True)
class InertialPipelineConfig:
    """The inertial filter of one robot."""

    robot: RobotConfig = section(RobotConfig, prefix="")
    links: tuple[str, ...] = parameter(
        (),
        "Links whose inertial parameters are estimated; each must belong to a different body. The entry "
        "`auto` adds every link of `locator.candidates`, nominal until a load is found on it.",
    )
    rate: float = parameter(333.0, "Highest rate of filter updates.", unit="Hz", lower=1.0, upper=2000.0)
    filter: str = parameter(
        "log_cholesky",
        "Estimator: the physically consistent log-Cholesky EKF, or a linear Kalman filter in the standard "
        "parameters for comparison.",
        choices=tuple(FILTERS),
    )
    convention: str = parameter(
        "rucker",
        "Convention of the log-Cholesky coordinates: that of Rucker and Wensing, or that of Foster et al.",
        choices=tuple(CONVENTIONS),
    )
    rows: RowsConfig = section(RowsConfig, prefix="")
    contact_modes: tuple[str, ...] = parameter(
        (),
        "Treatment of the wrench of each entry of `contacts` in the inertial filter, where they differ, with "
        "the values of `contact_wrenches`; empty means that of `contact_wrenches` for all.",
        choices=tuple(mode.value for mode in ContactMode),
    )
    window: float = parameter(
        0.1,
        "Length of the window in which velocities are differentiated and all other signals averaged; "
        "estimates lag by half of it.",
        unit="s",
        lower=0.001,
        upper=2.0,
    )
    noise: MeasurementNoise = section(MeasurementNoise)
    noise_adaptation: NoiseAdaptationConfig = section(NoiseAdaptationConfig)
    row_weights: tuple[str, ...] = parameter(
        (),
        "Weights of measurement rows, `row=weight`, the row by name or shell pattern: a weight multiplies "
        "the information of the row, the inverse of its variance. Rows without one have weight 1. The "
        "adaptation of the noise undoes what the rows of one noise parameter have in common.",
    )
    prior: PriorConfig = section(PriorConfig)
    process: ProcessConfig = section(ProcessConfig)
    gate: GateConfig = section(GateConfig)
    watch: WatchConfig = section(WatchConfig)
    locator: LocatorConfig = section(LocatorConfig)
    friction: FrictionConfig = section(FrictionConfig)
    sensor_errors: SensorErrorConfig = section(SensorErrorConfig)
    hand_over_rate: float = parameter(
        3.0,
        "Largest rate of change of the published mass; a load that has been located on one link is handed "
        "over within `hand_over_time`, if that is faster.",
        unit="kg/s",
        lower=0.001,
        upper=1e6,
        runtime=True,
    )
    hand_over_time: float = parameter(
        0.3,
        "Time in which the published mass follows a load that has been located on one link, or has been "
        "taken off it again, and explains the data; `hand_over_rate` limits all other changes, and this one "
        "where it allows more.",
        unit="s",
        lower=0.01,
        upper=100.0,
        runtime=True,
    )
    calibrate_at_start: bool = parameter(
        False,
        "Whether the filter starts with a calibration, which takes the mean residual at the first rest as "
        "a constant bias of the rows.",
    )
    calibration_window: float = parameter(
        2.0,
        "Duration of rest over which a calibration averages the residual.",
        unit="s",
        lower=0.01,
        upper=60.0,
    )
    rest_speed: float = parameter(
        0.05,
        "Joint speed below which the robot counts as at rest: for a calibration, and for the usual level of "
        "the innovations, which is another one in motion.",
        unit="rad/s",
        lower=1e-6,
        upper=10.0,
    )
    information_period: float = parameter(
        0.1,
        "Time between two evaluations of which parameter directions the data inform, and of the reported "
        "covariance; a covariance that changes by much is followed at once.",
        unit="s",
        lower=0.0,
        upper=10.0,
        runtime=True,
    )
    enabled: bool = parameter(
        True, "Whether the filter updates its estimates; if false, it only reports residuals."
    )

    @property
    def row_selection(self) -> RowSelection:
        """Rows of the measurement equation, and what is known of each contact's wrench."""
        by_contact = tuple(ContactMode(mode) for mode in self.contact_modes)
        return replace(self.rows.selection(), by_contact=by_contact)

    @property
    def needs_wrenches(self) -> bool:
        """Whether the sensed wrench of any contact is needed."""
        return any(mode.senses for mode in self.row_selection.modes(len(self.robot.contacts)))

    @property
    def coulomb_law(self) -> CoulombLaw:
        """Sign model of Coulomb friction."""
        return coulomb_law(self.friction, self.robot.nominal_friction)
