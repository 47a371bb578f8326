"""Parameters of walking on two feet and of crawling on four or more."""

from dataclasses import dataclass

from inertial_estimation.parameters import parameter


@dataclass(frozen=True)
class WalkingConfig:
    """Steps and their timing."""

    swing_duration: float = parameter(
        0.7, "Time that a foot spends in the air in one step.", unit="s", lower=0.1, upper=5.0, runtime=True
    )
    transfer_duration: float = parameter(
        0.4,
        "Duration of double support: time in which the weight shifts from one foot to the other between "
        "two steps.",
        unit="s",
        lower=0.02,
        upper=5.0,
        runtime=True,
    )
    start_duration: float = parameter(
        1.0,
        "Duration of the first weight transfer, before the first step.",
        unit="s",
        lower=0.05,
        upper=5.0,
        runtime=True,
    )
    swing_height: float = parameter(
        0.05,
        "Height by which a swing foot is lifted above the ground.",
        unit="m",
        lower=0.005,
        upper=0.5,
        runtime=True,
    )
    touchdown_speed: float = parameter(
        0.05,
        "Downward speed of a swing foot at the end of the swing.",
        unit="m/s",
        lower=0.0,
        upper=1.0,
        runtime=True,
    )
    early_touchdown: float = parameter(
        0.6,
        "Fraction of the swing after which a contact force on the swing foot ends the swing early.",
        lower=0.0,
        upper=1.0,
        runtime=True,
    )
    late_touchdown: float = parameter(
        0.15,
        "Time for which a swing foot keeps moving down after the planned touchdown when it has not reached "
        "the ground.",
        unit="s",
        lower=0.0,
        upper=2.0,
        runtime=True,
    )
    touchdown_force: float = parameter(
        30.0,
        "Normal force on a swing foot from which it counts as having touched down.",
        unit="N",
        lower=1.0,
        upper=1e4,
        runtime=True,
    )
    step_adjustment: float = parameter(
        0.15,
        "Largest shift of a foothold in reaction to a push that the centre of pressure cannot correct; 0 "
        "disables step adjustment.",
        unit="m",
        lower=0.0,
        upper=1.0,
        runtime=True,
    )
    least_width: float = parameter(
        0.14,
        "Smallest lateral distance between the feet that an adjusted step keeps.",
        unit="m",
        lower=0.0,
        upper=1.0,
        runtime=True,
    )
    load_ramp: float = parameter(
        0.3,
        "Fraction of a weight transfer over which a landed foot is loaded and a foot about to lift off is "
        "unloaded.",
        lower=0.01,
        upper=1.0,
        runtime=True,
    )
    longest_step: float = parameter(
        0.4,
        "Longest step that is accepted; a walk command with longer steps is refused.",
        unit="m",
        lower=0.0,
        upper=2.0,
        runtime=True,
    )
    most_steps: int = parameter(
        1000,
        "Largest number of steps of a walk command; one with more is refused.",
        lower=0,
        upper=10**9,
        runtime=True,
    )
    width: float = parameter(
        0.0,
        "Lateral distance between the feet while walking; 0 keeps the distance at which they stand at the "
        "start.",
        unit="m",
        lower=0.0,
        upper=2.0,
    )
    follow_slope: float = parameter(
        0.0,
        "Robots with point feet: fraction of the slope of the plane through the feet to which the base "
        "inclines; 0 keeps it level, 1 parallel to the plane.",
        lower=0.0,
        upper=1.0,
        runtime=True,
    )


@dataclass(frozen=True)
class CrawlConfig:
    """How a robot on four or more points walks: one foot at a time, at rest in between."""

    sequence: tuple[str, ...] = parameter(
        (),
        "Contacts in the order in which they step; empty takes the left side rear to front, then the right "
        "side.",
    )
    margin: float = parameter(
        0.05,
        "Smallest distance of the centre of mass from the edges of the polygon of the supporting feet.",
        unit="m",
        lower=0.0,
        upper=0.5,
        runtime=True,
    )
    swing_duration: float = parameter(
        0.4,
        "Time that a foot of a crawling robot spends in the air in one step.",
        unit="s",
        lower=0.1,
        upper=5.0,
        runtime=True,
    )
    dwell: float = parameter(
        0.25,
        "Time for which the robot rests on all feet between moving its body and swinging a foot.",
        unit="s",
        lower=0.0,
        upper=10.0,
        runtime=True,
    )
    acceleration: float = parameter(
        1.0,
        "Largest acceleration of the centre of mass while it moves over the next support polygon.",
        unit="m/s^2",
        lower=0.01,
        upper=10.0,
        runtime=True,
    )
    least_transfer: float = parameter(
        0.2,
        "Shortest duration of a motion of the body between two swings.",
        unit="s",
        lower=0.02,
        upper=5.0,
        runtime=True,
    )
    catch: float = parameter(
        0.025,
        "Error of the divergent component of motion (DCM) beyond which a swing foot is put down at once "
        "and no foot lifts off; 0 disables this.",
        unit="m",
        lower=0.0,
        upper=1.0,
        runtime=True,
    )
    load_duration: float = parameter(
        0.12,
        "Time over which a landed foot is loaded and a foot about to lift off is unloaded.",
        unit="s",
        lower=0.01,
        upper=2.0,
        runtime=True,
    )
