"""Parameters of the tilt observer."""

from dataclasses import dataclass

from inertial_estimation.inputs.config import RobotGeometryConfig
from inertial_estimation.inputs.sensors import ContactSource
from inertial_estimation.parameters import parameter, parameter_values, section
from inertial_estimation.tilt.filter import FilterConfig
from inertial_estimation.tilt.two_stage import TwoStageConfig

OBSERVERS = ("filter", "two_stage")  # whose gains are in the sections of these names


@dataclass(frozen=True)
class ContactConfig:
    """Where it is known from which contacts carry the robot, and how they touch the ground."""

    source: tuple[str, ...] = parameter(
        ("wrench",),
        "What shows that a contact is closed, one for all or one for each of `contacts`: wrench (a sensor of "
        "force and moment, topic <contact>/wrench), force (of the vertical force, same topic), raw_force "
        "(numbers that grow with it), switch (on or off, or a probability), joint_torques (efforts of "
        "joint_states, no topic), desired (a planner's wish, <contact>/desired_wrench) or none.",
        choices=tuple(source.value for source in ContactSource),
    )
    radius: float = parameter(
        -1.0,
        "Radius of round feet, which roll: the contact point lies this far below the contact frame. Negative "
        "takes that of a collision sphere at the contact frame in the URDF, zero where there is none.",
        unit="m",
        lower=-1.0,
        upper=1.0,
    )


@dataclass(frozen=True)
class TiltPipelineConfig:
    """All parameters of the tilt observer."""

    robot: RobotGeometryConfig = section(RobotGeometryConfig, prefix="")
    rate: float = parameter(
        500.0,
        "Highest rate of estimates; IMU readings that arrive faster are averaged.",
        unit="Hz",
        lower=1.0,
        upper=10000.0,
    )
    observer: str = parameter(
        "filter",
        "What estimates the tilt: the error-state Kalman filter, or the two-stage observer of Benallegue "
        "et al.",
        choices=OBSERVERS,
    )
    filter: FilterConfig = section(FilterConfig)
    two_stage: TwoStageConfig = section(TwoStageConfig)
    contact: ContactConfig = section(ContactConfig)

    @property
    def without_effect(self) -> list[str]:
        """A sentence for each gain that was changed of the observer that is not in use."""
        unused = next(one for one in OBSERVERS if one != self.observer)
        own, defaults = parameter_values(self), parameter_values(TiltPipelineConfig())
        return [
            f"tilt_observer.{name} has no effect: it is of the observer {unused}, and {self.observer} is in "
            "use"
            for name in own
            if name.startswith(f"{unused}.") and own[name] != defaults[name]
        ]
