"""Parameters of the tilt observer."""

from dataclasses import dataclass

from inertial_estimation.inputs.config import RobotGeometryConfig
from inertial_estimation.inputs.sensors import ContactSource
from inertial_estimation.parameters import numeric, parameter, parameter_values, section
from inertial_estimation.tilt.filter import FilterConfig
from inertial_estimation.tilt.two_stage import TwoStageConfig

OBSERVERS = ("filter", "two_stage")  # the sections of these names have their gains


@dataclass(frozen=True)
class ContactConfig:
    """How it is determined which contacts carry the robot, and where they touch the ground."""

    source: tuple[str, ...] = parameter(
        ("wrench",),
        "Source of contact forces, one for all or one for each of `contacts`: wrench (force-torque sensor, "
        "topic <contact>/wrench), force (vertical force, same topic), raw_force (sensor without a unit, same "
        "topic), switch (on or off, or a probability, same topic), joint_torques (efforts of joint_states), "
        "desired (planned wrench, <contact>/desired_wrench) or none.",
        choices=tuple(source.value for source in ContactSource),
    )
    radius: float = numeric(
        *(-1.0, -1.0, 1.0, "m"),
        "Radius of round feet, which roll: the contact point lies this far below the contact frame. A "
        "negative value takes the radius of a collision sphere at the contact frame in the URDF, if any.",
    )


@dataclass(frozen=True)
class TiltPipelineConfig:
    """All parameters of the tilt observer."""

    robot: RobotGeometryConfig = section(RobotGeometryConfig, prefix="")
    rate: float = numeric(
        500.0, 1.0, 10000.0, "Hz", "Highest rate of estimates; IMU readings that arrive faster are averaged."
    )
    observer: str = parameter(
        "filter",
        "Estimator of the tilt: the error-state Kalman filter, or the two-stage observer of Benallegue "
        "et al.",
        choices=OBSERVERS,
    )
    filter: FilterConfig = section(FilterConfig)
    two_stage: TwoStageConfig = section(TwoStageConfig)
    contact: ContactConfig = section(ContactConfig)

    @property
    def without_effect(self) -> list[str]:
        """A sentence for each changed gain of the observer that is not in use."""
        unused = next(one for one in OBSERVERS if one != self.observer)
        own, defaults = parameter_values(self), parameter_values(TiltPipelineConfig())
        return [
            f"tilt_observer.{name} has no effect: it is of the observer {unused}, and {self.observer} is in "
            "use"
            for name in own
            if name.startswith(f"{unused}.") and own[name] != defaults[name]
        ]
