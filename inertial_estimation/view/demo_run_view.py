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
from inertial_estimation.models.body_placements import BodyPlacements
from inertial_estimation.models.robot_config import RobotConfig, RobotSetup
from inertial_estimation.recordings.live_record import HeardRobot, LiveRecord
from inertial_estimation.replay.payload_response import PayloadScene
from inertial_estimation.signals import NANOSECONDS, Array, BaseState, ContactLoad, LinkInertia, seconds
from inertial_estimation.view.moment import Moment, ShownLink, Truth
from inertial_estimation.view.robot_view import RobotView

ValueT = TypeVar("ValueT")
APART = 1.2  # between the robots [m]
COLOURS_OF_A_RUN = 2  # most series of a run in a panel
ELBOW = "elbow"  # entity of the panel with the error of the elbow


class DemoRunView:
    """One run: takes the messages of its nodes and shows them from its release on.

    Attributes:
        heard: Messages about the whole robot.
    """

    def __init__(
        self,
        stream: rr.RecordingStream,
        setup: RobotSetup,
        urdf: str,
        scene: PayloadScene,
        *,
        adaptation: bool,
    ) -> None:
        """Start without messages.

        Args:
            stream: The recording.
            setup: The robot.
            urdf: Text of its description.
            scene: What happens.
            adaptation: Whether the controller uses the estimated inertias.
        """
        self.heard = HeardRobot(setup.contact_names)
        self._stream, self._setup, self._urdf, self._scene = stream, setup, urdf, scene
        self._adaptation, self._name = adaptation, _name(adaptation)
        self._root = root_of_run(adaptation)
        self._place = (0.0, -APART / 2 if adaptation else APART / 2, 0.0)
        self._joints = joints_alone(setup.robot, RobotConfig(), velocities=False)
        self._bodies = BodyPlacements(setup.robot)
        self._view: RobotView | None = None

    def show(self, record: LiveRecord, released_ns: int) -> None:
        """Show the joint states that were heard since the last call.

        Args:
            record: Messages of the run.
            released_ns: Stamp of the release of the robot, zero on the time line [ns].
        """
        view = self._view = self._view or self._begun(released_ns)
        for reading in self.heard.joints:
            if view.due(reading.stamp_ns):
                self._joints.push_joints(reading)
                for sample in self._joints.ready():
                    self._show(view, sample, record, released_ns)
        self.heard.joints.clear()
        del self.heard.bases[:-1]

    def finish(self) -> None:
        """Write what waits to be written."""
        if self._view is not None:
            self._view.finish()

    def _begun(self, released_ns: int) -> RobotView:
        view = RobotView(
            self._stream,
            self._setup.robot,
            self._urdf,
            origin_ns=released_ns,
            folders=mesh_folders(),
            root=self._root,
            label=self._name,
            first_colour=COLOURS_OF_A_RUN * (not self._adaptation),
            place=self._place,
        )
        scene = self._scene
        weight_ns = released_ns + round(scene.time_s * NANOSECONDS)
        view.tell(released_ns, f"{self._name}: released")
        view.tell(weight_ns, f"{self._name}: {scene.payload:.2f} kg attached to {scene.link}")
        return view

    def _show(self, view: RobotView, sample: AlignedSample, record: LiveRecord, released_ns: int) -> None:
        robot, stamp_ns, scene = self._setup.robot, sample.stamp_ns, self._scene
        q = sample.driver[: robot.n_joints]
        true_mass = scene.mass(seconds(stamp_ns - released_ns))
        moment = Moment(
            stamp_ns,
            base=_newest_base(self.heard.bases, stamp_ns),
            loads=self._loads(q),
            links=self._links(record, stamp_ns),
            truth=Truth(masses={scene.link: true_mass}),
        )
        view.show(q, moment)
        angle = float(q[robot.joint_index(scene.joint)])
        view.plot(ELBOW, "elbow", stamp_ns, math.degrees(angle - scene.home))

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
