"""One leg with noise on its parameters, moved by random sines and identified (Tournois et al., IV-A)."""

from dataclasses import dataclass

import numpy as np
from numpy.random import default_rng

from inertial_estimation.experiments.leg_swing import disturbed_leg, record_swing, swing
from inertial_estimation.identification.base_parameters import base_parameters
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.identification.identification_result import (
    Identifiability,
    IdentificationReport,
    MethodResult,
)
from inertial_estimation.identification.identifier import Identifier
from inertial_estimation.parameters import build_config
from inertial_estimation.signals import Array, seconds
from inertial_estimation.simulation.sensor_noise_config import SensorNoise

LINKS = ("rh_hipassembly", "rh_upperleg", "rh_lowerleg")
OTHER_LEGS = ("lf_*", "rf_*", "lh_*")
COM_SIGMA_M, MOMENT_SIGMA = 0.02, 0.02  # of the parameter noise (T IV-A) [m], [kg m^2]
AMPLITUDES, BAND_HZ = (0.25, 0.20, 0.40), (0.3, 0.9)  # of the sines (T IV-A) [rad]
RATE_HZ = 500.0
WINDOW_S, ROW_HZ = 0.12, 10.0
METHOD = "nullspace-prior"
PLAIN = "least-squares"  # the smallest change in SI units: (T 5) as it is written
LEADING = ("mcx", "mcy", "Ixx", "Ixy", "Ixz", "Iyz", "Izz", "Iyy", "mcz", "m")


@dataclass(frozen=True, eq=False)
class LegTrial:
    """One leg, identified.

    Attributes:
        true: Its parameters about the link frames, shape (30,).
        report: Report of the identification.
        base_errors: Error of each base parameter by the name of its leader.
        rows: Stamps [s], and measured, identified and nominal torques of the validation, shape (k, 3).
    """

    true: Array
    report: IdentificationReport
    base_errors: dict[str, float]
    rows: tuple[Array, Array, Array, Array]

    @property
    def result(self) -> MethodResult:
        """Return what the method found."""
        return self.report.methods[METHOD]

    @property
    def plain(self) -> MethodResult:
        """Return what the least change in SI units gives."""
        return self.report.methods[PLAIN]

    @property
    def first_moments_mm(self) -> Array:
        """Errors of the base parameters led by a first moment over the link's mass [mm]."""
        masses = {body.link: body.nominal.mass for body in self.result.bodies}
        led = ((name.split("/"), error) for name, error in self.base_errors.items())
        return np.array([1e3 * error / masses[link] for (link, which), error in led if which[:2] == "mc"])

    @property
    def expected_mm(self) -> float:
        """Largest standard deviation of first moments identifiable by themselves, over the mass [mm]."""
        masses = {body.link: body.nominal.mass for body in self.result.bodies}
        return max(
            1e3 * parameter.sigma / masses[parameter.name.split("/")[0]]
            for parameter in self.result.parameters
            if "/mc" in parameter.name and parameter.identifiability is Identifiability.IDENTIFIABLE
        )

    @property
    def moments(self) -> Array:
        """Errors of the base parameters led by a moment of inertia [kg m^2]."""
        return np.array([error for name, error in self.base_errors.items() if "/I" in name])


def leg_trial(urdf: str, seed: int, noise: SensorNoise, training_s: float, validation_s: float) -> LegTrial:
    """Draw a leg, move it and identify it.

    Args:
        urdf: Text of the nominal description.
        seed: Of the leg, its motion and the noise.
        noise: Imperfections of the joints' sensors.
        training_s: Length of the motion that is fitted [s].
        validation_s: Length of the other motion [s].

    Returns:
        The leg and what identification finds.
    """
    draws = default_rng(seed)
    leg = disturbed_leg(urdf, OTHER_LEGS, LINKS, draws, com_sigma=COM_SIGMA_M, moment_sigma=MOMENT_SIGMA)
    training, validation = (
        record_swing(
            leg.robot,
            swing(leg.robot, draws, amplitudes=np.array(AMPLITUDES), band_hz=BAND_HZ),
            duration_s,
            RATE_HZ,
            noise,
            draws,
        )
        for duration_s in (training_s, validation_s)
    )
    identifier = Identifier(_config(), urdf)
    identifier.push(training)
    identifier.push_validation(validation)
    report = identifier.report([METHOD, PLAIN])
    x = report.methods[METHOD].x
    true = leg.parameters.ravel()
    base = _base_errors(identifier, identifier.rows(training).regressor, x, true)
    shown = identifier.rows(validation)
    torques = (shown.measured, identifier.predicted(shown, x), identifier.predicted(shown, np.zeros(len(x))))
    return LegTrial(true, report, base, (seconds(shown.stamps_ns), *torques))


def _config() -> IdentificationConfig:
    return build_config(
        IdentificationConfig,
        {
            "floating_base": False,
            "locked_joints": list(OTHER_LEGS),
            "links": list(LINKS),
            "contact_wrenches": "none",
            "smoothing.window": WINDOW_S,
            "smoothing.row_rate": ROW_HZ,
        },
    )


def _base_errors(identifier: Identifier, regressor: Array, x: Array, true: Array) -> dict[str, float]:
    names = identifier.parameters.names
    order = [names.index(f"{link}/{which}") for which in LEADING for link in LINKS]
    base = base_parameters(regressor.reshape(-1, len(names)), order)
    errors = base.coupling @ (identifier.parameters.standard(x) - true)
    return {names[leader]: float(error) for leader, error in zip(base.columns, errors, strict=True)}
