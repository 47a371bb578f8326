"""Parameters of the inertial pipeline, declared once."""

from dataclasses import dataclass

import numpy as np

from inertial_estimation.estimators.inertial.filters import FILTERS
from inertial_estimation.estimators.inertial.gate import GateConfig
from inertial_estimation.models.coulomb import CoulombLaw
from inertial_estimation.models.friction import FrictionTerms, coulomb_law
from inertial_estimation.models.measurement_noise import MeasurementNoise
from inertial_estimation.models.robot_config import RobotConfig
from inertial_estimation.models.rows_config import RowsConfig
from inertial_estimation.parameters import parameter, section
from inertial_estimation.signals import Array
from inertial_estimation.spatial.log_cholesky import CONVENTIONS

__all__ = ["FrictionConfig", "InertialPipelineConfig", "PriorConfig"]


@dataclass(frozen=True)
class PriorConfig:
    """How far the inertias may be from nominal, before data say more."""

    mass: float = parameter(1.0, "Standard deviation of the logarithm of the mass.", lower=1e-6, upper=10.0)
    com: float = parameter(0.1, "Standard deviation of the centre of mass.", unit="m", lower=1e-6, upper=10.0)
    radii: float = parameter(
        0.5, "Standard deviation of the logarithm of the radii of gyration.", lower=1e-6, upper=10.0
    )
    memory: float = parameter(
        1e5,
        "Time constant with which parameters that are not informed return to nominal.",
        unit="s",
        lower=0.1,
        upper=1e9,
    )


@dataclass(frozen=True)
class FrictionConfig(FrictionTerms):
    """Friction estimated along with the inertias."""

    coulomb: float = parameter(1.0, "Prior standard deviation.", unit="Nm", lower=1e-9, upper=1e3)
    viscous: float = parameter(1.0, "Prior standard deviation.", unit="Nm s/rad", lower=1e-9, upper=1e3)
    offset: float = parameter(1.0, "Prior standard deviation.", unit="Nm", lower=1e-9, upper=1e3)
    armature: float = parameter(0.1, "Prior standard deviation.", unit="kg m^2", lower=1e-9, upper=1e3)

    def sigma(self, joints: int) -> Array:
        """Return the prior standard deviations, term after term, of a number of joints."""
        return np.repeat([float(getattr(self, term)) for term in self.terms], joints)


@dataclass(frozen=True)
class InertialPipelineConfig:
    """The inertial filter of one robot."""

    robot: RobotConfig = section(RobotConfig, prefix="")
    links: tuple[str, ...] = parameter((), "Links whose bodies are estimated, each on another body.")
    rate: float = parameter(333.0, "Rate of updates.", unit="Hz", lower=1.0, upper=2000.0)
    filter: str = parameter(
        "log_cholesky",
        "Physically consistent filter, or linear Kalman filter in the parameters for comparison.",
        choices=tuple(FILTERS),
    )
    convention: str = parameter(
        "rucker", "Convention of the log-Cholesky coordinates.", choices=tuple(CONVENTIONS)
    )
    rows: RowsConfig = section(RowsConfig, prefix="")
    window: float = parameter(
        0.1,
        "Window in which velocities are differentiated and all else is averaged; estimates lag by half.",
        unit="s",
        lower=0.001,
        upper=2.0,
    )
    noise: MeasurementNoise = section(MeasurementNoise)
    prior: PriorConfig = section(PriorConfig)
    gate: GateConfig = section(GateConfig)
    friction: FrictionConfig = section(FrictionConfig)
    hand_over_rate: float = parameter(
        3.0, "Fastest change of the published mass.", unit="kg/s", lower=0.001, upper=1e6, runtime=True
    )
    calibrate_at_start: bool = parameter(
        False,
        "Begin with a calibration: the residual at the first rest becomes a bias of the rows.",
    )
    calibration_window: float = parameter(
        2.0, "Time at rest over which a calibration averages.", unit="s", lower=0.01, upper=60.0
    )
    rest_speed: float = parameter(
        0.05, "Joint speed below which the robot is at rest.", unit="rad/s", lower=1e-6, upper=10.0
    )
    information_period: float = parameter(
        0.1, "Time between two looks at what is informed.", unit="s", lower=0.0, upper=10.0, runtime=True
    )
    enabled: bool = parameter(True, "Whether the filter learns; if not, it only reports residuals.")

    @property
    def coulomb_law(self) -> CoulombLaw:
        """How Coulomb friction changes sign."""
        return coulomb_law(self.friction, self.robot.nominal_friction)
