"""Observations the phases of an identification take, and the data they share."""

from dataclasses import dataclass

from inertial_estimation.estimators.payload.asked_posture import AskedPosture
from inertial_estimation.estimators.payload.identified_trunk import IdentifiedTrunk
from inertial_estimation.estimators.payload.method_choice import MethodFactory
from inertial_estimation.estimators.payload.payload_config import TrunkPayloadConfig
from inertial_estimation.estimators.payload.trunk_measurer import TrunkReading


@dataclass(frozen=True, slots=True, eq=False)
class TrunkObservation:
    """State of the robot and its trunk in one step.

    Attributes:
        stamp_ns: Stamp of the step [ns].
        dt: Time since the last step [s].
        at_rest: Whether the robot is at rest.
        reading: Measurement of the trunk; None unless the robot is at rest and the trunk measurable.
        why_not: Why there is no reading.
        arrived: Whether the published trunk has reached its target.
        doubtful: Whether a sensor has shown a fault within the last seconds.
        moving_mass: Mass of the trunk measured in motion [kg]; None at rest, or where it is not measurable.
    """

    stamp_ns: int
    dt: float
    at_rest: bool
    reading: TrunkReading | None
    why_not: str
    arrived: bool
    doubtful: bool = False
    moving_mass: float | None = None


@dataclass(slots=True, eq=False)
class IdentificationContext:
    """Data that outlive a phase.

    Attributes:
        config: The parameters in force.
        make_method: Makes a method for the centre of mass by name.
        trunk: Estimated, published and expected trunk.
        posture: Requested posture of the base.
        method: Name of the method under way, or of the last one.
        converged: Whether the last identification came to its end.
        refusal: Why the last identification was given up; empty if it was not.
        passes: Results found since the identification began: one that turns the base is refined.
        put_off: Whether it was given up because a sensor was at fault.
    """

    config: TrunkPayloadConfig
    make_method: MethodFactory
    trunk: IdentifiedTrunk
    posture: AskedPosture
    method: str
    converged: bool = False
    refusal: str = ""
    passes: int = 0
    put_off: bool = False
