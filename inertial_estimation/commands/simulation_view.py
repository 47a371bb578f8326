"""A simulation as a recording for the viewer (``simulate --rrd``)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from inertial_estimation.closed_loop.closed_loop import ClosedLoop
from inertial_estimation.estimators.payload.payload_estimate import PayloadEstimate
from inertial_estimation.models.robot_config import RobotConfig
from inertial_estimation.signals import BaseEstimate, InertialEstimate
from inertial_estimation.simulation.ground_truth import SensorReadings
from inertial_estimation.spatial.rotations import rotation_from_quaternion

if TYPE_CHECKING:  # they import the viewer's package
    from inertial_estimation.view.estimate_view import EstimateView

EstimateT = TypeVar("EstimateT", BaseEstimate, InertialEstimate, PayloadEstimate)


@contextmanager
def simulation_view(
    path: Path | None, loop: ClosedLoop, config: RobotConfig, urdf: str, links: Sequence[str]
) -> Iterator[None]:
    """Show a closed loop while the context lasts, from the hoist on.

    Args:
        path: File of the viewer's recording; None: nothing is shown.
        loop: The loop; a listener that it has stays.
        config: Parameters of the robot.
        urdf: Text of its description.
        links: Links whose true masses are shown.
    """
    if path is None:
        yield
        return
    from inertial_estimation.view.blueprint import Panels
    from inertial_estimation.view.moment import Truth
    from inertial_estimation.view.recorded_view import recorded_view

    tilt, simulation = loop.tilt, loop.simulation

    def truth(_stamp_ns: int) -> Truth:
        now = simulation.truth(links)
        masses = {link: inertia.mass for link, inertia in now.inertias.items()}
        return Truth(rotation_from_quaternion(now.base.quaternion_xyzw)[2], masses)

    panels = Panels(
        tilt=tilt is not None,
        tilt_error=tilt is not None,
        forces=tilt is not None,
        nis=loop.inertial is not None,
        masses=loop.inertial is not None or loop.payload is not None,
    )
    with recorded_view(
        path,
        simulation.robot,
        config,
        urdf,
        panels=panels,
        origin_ns=simulation.stamp_ns,
        contact_loads=(lambda: tilt.contact_loads) if tilt is not None else tuple,
        truth=truth,
    ) as (estimates, _view):
        loop.on_readings = _Listener(loop, estimates).take
        yield


class _Listener:
    """Takes the readings of a loop for its first listener, and for a view with the estimates before them."""

    def __init__(self, loop: ClosedLoop, estimates: "EstimateView") -> None:
        self._loop, self._estimates = loop, estimates
        self._first = loop.on_readings
        self._base: BaseEstimate | None = None
        self._inertial: InertialEstimate | None = None
        self._payload: PayloadEstimate | None = None

    def take(self, readings: SensorReadings) -> None:
        """Pass readings on."""
        if self._first is not None:
            self._first(readings)
        loop = self._loop
        self._estimates.see(
            _new(loop.base, self._base),
            _new(loop.inertias, self._inertial),
            _new(loop.identified, self._payload),
        )
        self._base, self._inertial, self._payload = loop.base, loop.inertias, loop.identified
        if readings.joints is not None:
            self._estimates.push_joints(readings.joints)


def _new(newest: EstimateT | None, seen: EstimateT | None) -> list[EstimateT]:
    return [] if newest is None or newest is seen else [newest]
