"""Parameters by which the locator tells which link carries a load, or is pushed."""

from dataclasses import dataclass

from inertial_estimation.parameters import parameter


@dataclass(frozen=True)
class LocatorConfig:
    """Parameters of the locator of loads and pushes."""

    candidates: tuple[str, ...] = parameter(
        ("*",),
        "Links, by name or shell pattern, on which a load or a push of unknown place is looked for; with "
        "`links: [auto]` also the links whose inertial parameters are published.",
    )
    odds: float = parameter(
        100.0,
        "Odds against all other explanations (another link, a push, a faulty input, larger noise) at which "
        "a load or a push counts as found.",
        lower=2.0,
        upper=1e9,
        runtime=True,
    )
    ambiguity: float = parameter(
        10.0,
        "Odds within which links are reported together, since the data hardly tell them apart.",
        lower=1.0,
        upper=1e6,
        runtime=True,
    )
    load: float = parameter(
        0.05,
        "Expected mass of an unknown load, as a share of the robot's mass; the expected force of a push is "
        "its weight.",
        lower=1e-4,
        upper=10.0,
    )
    reach: float = parameter(
        0.05,
        "Expected distance of a load, or of a push's point of attack, from the place of the body's own mass: "
        "its place is expected to be distributed as that mass is, widened by this standard deviation.",
        unit="m",
        lower=1e-3,
        upper=10.0,
    )
    push_duration: float = parameter(
        1.0,
        "Expected duration of a push: the longer an unknown force lasts, the more likely a load becomes.",
        unit="s",
        lower=1e-3,
        upper=1e6,
        runtime=True,
    )
    steady_push: float = parameter(
        3.5,
        "Time for which a load on a robot that does not move is reported as `loaded or pushed` and moves no "
        "published mass: a push straight down gives the same readings. In motion the inertia of a load "
        "decides sooner. A push that lasts longer is taken for a load until it ends.",
        unit="s",
        lower=0.0,
        upper=1e6,
        runtime=True,
    )
