"""Parameters of the adaptation of inertias in the controller."""

from dataclasses import dataclass

from inertial_estimation.parameters import parameter


@dataclass(frozen=True)
class AdaptationConfig:
    """Adaptation of the inertias of `inertias.links` by the errors of the joints, between the estimates."""

    gain: float = parameter(
        0.0,
        "Gain of the adaptation of the inertias of 'inertias.links' by the controller's own tracking errors, "
        "between the estimates; 0 switches it off. A body of mass m [kg] changes by gain m^2 kg for a joule "
        "per kg.",
        unit="1/J",
        lower=0.0,
        upper=100.0,
        runtime=True,
    )
    prediction_weight: float = parameter(
        0.0,
        "Weight of the prediction error of the joint accelerations (in torques) against the tracking error "
        "in the adaptation.",
        unit="rad/(Nm s)",
        lower=0.0,
        upper=100.0,
        runtime=True,
    )
    prediction_filter: float = parameter(
        0.02,
        "Time constant of the filter of velocities and wanted accelerations whose difference is the "
        "prediction error of the adaptation.",
        unit="s",
        lower=1e-3,
        upper=10.0,
        runtime=True,
    )
    memory: float = parameter(
        1.0,
        "Time constant with which adapted inertias return to the estimates, or to the description without "
        "any.",
        unit="s",
        lower=0.01,
        upper=1e6,
        runtime=True,
    )
