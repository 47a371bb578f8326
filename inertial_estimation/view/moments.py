"""State and estimates of a robot at thirty instants a second, for the viewer."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from inertial_estimation.inputs.config import RobotGeometryConfig
from inertial_estimation.inputs.joints import JOINTS, JointNeeds
from inertial_estimation.inputs.robot_inputs import joints_alone
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.payload.estimate import PayloadEstimate
from inertial_estimation.replay.replay import ReplayWatcher
from inertial_estimation.signals import (
    NANOSECONDS,
    Array,
    BaseEstimate,
    BaseState,
    ContactLoad,
    InertialEstimate,
    JointReading,
    LinkInertia,
)

FRAME_NS = NANOSECONDS // 30  # time between two moments


class DisplayedLink(NamedTuple):
    """Estimate of one body with its standard deviations."""

    estimate: LinkInertia  # the estimate
    payload: LinkInertia  # estimate minus nominal (its mass may be negative)
    mass_sigma: float  # standard deviation of the mass [kg]; infinite if it was never measured
    com_sigmas_L: Array  # those of the centre of mass, axes of the link [m], shape (3,); infinite likewise


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """State and estimates of the robot at one instant."""

    stamp_ns: int  # stamp of the joint state [ns]
    q: Array  # joint positions in the model's order [rad or m], shape (n_joints,)
    base: BaseState | None = None  # estimated base state; None for a fixed base, or before the first estimate
    tilt_sigma: float = math.nan  # standard deviation of the tilt [rad]; NaN where it is not known
    loads: tuple[ContactLoad, ...] = ()  # contact points and ground forces in the base frame
    links: tuple[DisplayedLink, ...] = ()  # estimated bodies
    # largest normalised innovation squared of the inertial filter since the last moment; NaN without one
    nis: float = math.nan
    nis_bound: float = math.nan  # 99.9 % quantile of the NIS


class Moments(ReplayWatcher):
    """Keeps the moments of a replay: joints, and the newest estimates.

    Attributes:
        found: The moments, in order.
    """

    def __init__(
        self,
        robot: RobotModel,
        config: RobotGeometryConfig,
        contact_loads: Callable[[], Sequence[ContactLoad]] = tuple,
    ) -> None:
        """Start without estimates; `contact_loads` returns the newest contact points and forces."""
        self.found: list[Moment] = []
        self._joints = joints_alone(robot, config, JointNeeds(velocities=False))
        self._contact_loads = contact_loads
        self._last_ns: int | None = None
        self._base: BaseEstimate | None = None
        self._inertial: InertialEstimate | None = None
        self._payload: PayloadEstimate | None = None
        self._nis = math.nan

    def push_joints(self, reading: JointReading) -> None:
        """Store a moment at a joint state if one is due, also after a jump of the stamps.

        A joint state that does not fit the robot is left out.
        """
        if self._last_ns is not None and 0 <= reading.stamp_ns - self._last_ns < FRAME_NS:
            return
        self._last_ns = reading.stamp_ns
        self._joints.push(JOINTS, reading)
        for sample in self._joints.ready():
            assert self._joints.joints is not None
            q = sample.driver[self._joints.joints.columns.q]
            self.found.append(self._moment(sample.stamp_ns, np.array(q)))
            self._nis = math.nan

    def push_estimates(
        self,
        base: Sequence[BaseEstimate],
        inertial: Sequence[InertialEstimate],
        payload: Sequence[PayloadEstimate],
    ) -> None:
        """Take the estimates of one tick, in order of time; any of the sequences may be empty."""
        self._base = base[-1] if base else self._base
        self._inertial = inertial[-1] if inertial else self._inertial
        self._payload = payload[-1] if payload else self._payload
        for estimate in inertial:
            self._nis = float(np.fmax(self._nis, estimate.nis))

    def _moment(self, stamp_ns: int, q: Array) -> Moment:
        base, inertial, trunk = self._base, self._inertial, self._payload
        links = {}
        for link in () if inertial is None else inertial.links:
            sigmas = np.sqrt(np.maximum(link.covariance.diagonal()[:4], 0.0))
            displayed = DisplayedLink(link.estimate, link.payload, float(sigmas[0]), sigmas[1:])
            links[link.estimate.link] = displayed
        if trunk is not None and (trunk.estimate.link not in links or math.isfinite(trunk.mass_sigma)):
            displayed = DisplayedLink(trunk.estimate, trunk.payload, trunk.mass_sigma, trunk.com_sigma_B)
            links[trunk.estimate.link] = displayed  # the trunk has been identified
        return Moment(
            stamp_ns,
            q,
            base=None if base is None else base.state,
            tilt_sigma=math.nan if base is None else base.tilt_sigma,
            loads=tuple(self._contact_loads()),
            links=tuple(links.values()),
            nis=self._nis,
            nis_bound=math.nan if inertial is None else inertial.nis_bound,
        )
