"""Parameters of offline identification, declared once."""

from dataclasses import dataclass

from inertial_estimation.inputs.config import RobotConfig
from inertial_estimation.models.friction import FrictionConfig
from inertial_estimation.models.measurement_rows import RowsConfig
from inertial_estimation.parameters import numeric, parameter, section


@dataclass(frozen=True)
class SmoothingConfig:
    """Zero-phase smoothing and differentiation: local polynomials (Savitzky-Golay)."""

    window: float = numeric(
        *(0.12, 0.005, 5.0, "s"),
        "Length of the window of the local polynomials that smooth and differentiate the signals.",
    )
    order: int = numeric(
        3, 2, 7, "", "Degree of the local polynomials that smooth and differentiate the signals."
    )
    differentiate: str = parameter(
        "position",
        "Signal that gives the accelerations: positions differentiated twice, or measured velocities "
        "differentiated once.",
        choices=("position", "velocity"),
    )
    row_rate: float = numeric(
        *(100.0, 0.01, 1e4, "Hz"),
        "Rate of the rows in the fit, to which it is reduced after they are smoothed like the signals.",
    )


@dataclass(frozen=True)
class IdentificationConfig:
    """Offline identification of one robot; section ``identification`` of its parameter file.

    Parameters that the section does not set come from the robot (``/**``). Rows and friction come from the
    section ``inertial_ekf``, since the measurement equation is the same.
    """

    robot: RobotConfig = section(RobotConfig, prefix="")
    rows: RowsConfig = section(RowsConfig, prefix="")
    friction: FrictionConfig = section(FrictionConfig)
    links: tuple[str, ...] = parameter(
        (), "Links whose bodies are identified, by name or shell pattern; empty identifies all bodies."
    )
    parameters: str = parameter(
        "all",
        "Parameters identified of each body: all ten, or mass and centre of mass with the moments of "
        "inertia about the nominal centre of mass held.",
        choices=("all", "mass_com"),
    )
    symmetry: tuple[str, ...] = parameter(
        (),
        "Parts of link names that mirror each other across the base's xz plane, each 'left=right'; a link "
        "on the right has the mirrored parameters, its joint the rotor inertia, of the one on the left.",
    )
    smoothing: SmoothingConfig = section(SmoothingConfig)
    weighting: str = parameter(
        "residual",
        "Weight of each row in the fit: the reciprocal of the rms of its residual, or one for all rows.",
        choices=("residual", "none"),
    )
    mass_deviation: float = numeric(
        *(0.5, 1e-6, 1e3, ""),
        "Prior standard deviation of every mass, as a fraction of the nominal mass; centres of mass and "
        "second moments deviate as much in units of the body's extent.",
    )
    payload: str = parameter(
        "",
        "Link to which an unknown load is fixed; its mass, centre of mass and inertia are identified as "
        "those of a body of its own, in the frame of this link. Empty means that there is no load.",
    )
