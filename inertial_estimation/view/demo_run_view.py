"""One run of the demo in a recording for the viewer, from the messages of its live nodes."""

import bisect
import math
from collections.abc import Sequence
from operator import itemgetter
from typing import TypeVar

import numpy as np
import rerun as rr

from inertial_estimation.configuration.urdf_source import mesh_folders
from inertial_estimation.inputs.alignment import AlignedSample
from inertial_estimation.inputs.robot_inputs import joints_alone
from inertial_estimation.models.bodies import BodyPlacements
from inertial_estimation.models.robot_config import RobotConfig, RobotSetup
from inertial_estimation.recordings.live_record import HeardRobot, LiveRecord
from inertial_estimation.replay.payload_response import PayloadScene
from inertial_estimation.signals import NANOSECONDS, Array, BaseState, ContactLoad, LinkInertia, seconds
from inertial_estimation.view.moments import Event, Moment, ShownLink, Truth, is_due
from inertial_estimation.view.robot_view import RobotView

ValueT = TypeVar("ValueT")
APART = 1.2  # between the robots [m]
COLOURS_OF_A_RUN = 2  # most series of a run in a panel


class DemoRunView:
    """One run: takes the messages of its nodes and keeps its moments from its release on.

    Attributes:
        heard: Messages about the whole robot.
    """

    def __init__(self, setup: RobotSetup, urdf: str, scene: PayloadScene, *, adaptation: bool) -> None:
        """Start without messages.

        Args:
            setup: The robot.
            urdf: Text of its description.
            scene: What happens.
            adaptation: Whether the controller uses the estimated inertias.
        """
        self.heard = HeardRobot(setup.contact_names)
        self._setup, self._urdf, self._scene, self._adaptation = setup, urdf, scene, adaptation
        self._joints = joints_alone(setup.robot, RobotConfig(), velocities=False)
        self._bodies = BodyPlacements(setup.robot)
        self._moments: list[Moment] = []
        self._last_ns: int | None = None
        self._released_ns = 0

    def take(self, record: LiveRecord, released_ns: int) -> None:
        """Keep the joint states that were heard since the last call.

        Args:
            record: Messages of the run.
            released_ns: Stamp of the release of the robot, zero on the time line [ns].
        """
        self._released_ns = released_ns
        for reading in self.heard.joints:
            if is_due(self._last_ns, reading.stamp_ns):
                self._last_ns = reading.stamp_ns
                self._joints.push_joints(reading)
                self._moments += [self._moment(sample, record) for sample in self._joints.ready()]
        self.heard.joints.clear()
        del self.heard.bases[:-1]

    def write(self, stream: rr.RecordingStream) -> set[str]:
        """Write the run to a recording, a robot beside that of the other run; return its panels."""
        name, scene, released_ns = _name(self._adaptation), self._scene, self._released_ns
        view = RobotView(
            stream,
            self._setup.robot,
            self._urdf,
            origin_ns=released_ns,
            folders=mesh_folders(),
            root=root_of_run(self._adaptation),
            label=name,
            first_colour=COLOURS_OF_A_RUN * (not self._adaptation),
            place=(0.0, -APART / 2 if self._adaptation else APART / 2, 0.0),
        )
        weight_ns = released_ns + round(scene.time_s * NANOSECONDS)
        attached = f"{name}: {scene.payload:.2f} kg attached to {scene.link}"
        view.tell([Event(released_ns, f"{name}: released"), Event(weight_ns, attached)])
        if self._moments:
            view.show(self._moments)
            column = self._setup.robot.joint_index(scene.joint)
            angles = np.degrees([moment.q[column] - scene.home for moment in self._moments])
            view.curve("elbow", "elbow", [moment.stamp_ns for moment in self._moments], angles)
        return view.panels

    def _moment(self, sample: AlignedSample, record: LiveRecord) -> Moment:
        stamp_ns, scene = sample.stamp_ns, self._scene
        q = np.array(sample.driver[: self._setup.robot.n_joints])
        return Moment(
            stamp_ns,
            q,
            base=_newest_base(self.heard.bases, stamp_ns),
            loads=self._loads(q),
            links=self._links(record, stamp_ns),
            truth=Truth(masses={scene.link: scene.mass(seconds(stamp_ns - self._released_ns))}),
        )

    def _loads(self, q: Array) -> tuple[ContactLoad, ...]:
        """Contact forces as the sensors of the feet measure them."""
        self._bodies.update(q)
        loads = []
        for contact in self._setup.contacts:
            wrench = self.heard.wrenches.get(contact.name)
            if wrench is not None:
                R_BF, p_BF = self._bodies.frame_B(contact.wrench_frame)
                x, y, z = p_BF.tolist()
                fx, fy, fz = (R_BF @ wrench.wrench_F[:3]).tolist()
                loads.append(ContactLoad(contact.name, (x, y, z), (fx, fy, fz), 1.0))
        return tuple(loads)

    def _links(self, record: LiveRecord, stamp_ns: int) -> tuple[ShownLink, ...]:
        link = self._scene.link
        payload = _newest(record.payloads.get(link, ()), stamp_ns)
        if payload is None:
            return ()
        sigma = _newest(record.sigmas[link], stamp_ns)
        sigma = math.nan if sigma is None else sigma
        return (ShownLink(self._loaded(payload), payload, sigma, np.full(3, math.nan)),)

    def _loaded(self, payload: LinkInertia) -> LinkInertia:
        """The described body of the link together with a payload; the moments of inertia are not shown."""
        body = self._setup.robot.link_body(payload.link)
        nominal, com_L = body.nominal_J.mass, body.T_JL.actInv(body.nominal_J.lever)
        mass = nominal + payload.mass
        com = (nominal * com_L + payload.mass * np.nan_to_num(payload.com_L)) / mass
        return LinkInertia(payload.link, mass, com, payload.inertia_Lcm)


def root_of_run(adaptation: bool) -> str:
    """Return the entity of the robot of a run."""
    return _name(adaptation).replace(" ", "_")


def _name(adaptation: bool) -> str:
    return f"{'with' if adaptation else 'without'} adaptation"


def _newest_base(states: Sequence[BaseState], stamp_ns: int) -> BaseState | None:
    """The last state at or before a stamp, else the first; None without any."""
    if not states:
        return None
    return states[max(0, bisect.bisect_right(states, stamp_ns, key=lambda state: state.stamp_ns) - 1)]


def _newest(series: Sequence[tuple[int, ValueT]], stamp_ns: int) -> ValueT | None:
    """The last value at or before a stamp; None without one."""
    number = bisect.bisect_right(series, stamp_ns, key=itemgetter(0))
    return series[number - 1][1] if number else None
