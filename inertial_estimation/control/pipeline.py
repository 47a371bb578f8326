"""Pipeline of the whole-body controller from raw inputs to torque commands, for nodes and experiments."""

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from inertial_estimation.control.config import ControllerConfig
from inertial_estimation.control.controller import ControlResult, WholeBodyController
from inertial_estimation.control.health import controller_health, inertia_health, torque_error_health
from inertial_estimation.control.inertia_intake import MAX_PENDING, InertiaIntake, TorqueErrorIntake
from inertial_estimation.control.references import GAP_S, WalkCommand
from inertial_estimation.control.supervisor import HOLD_S, ControlSupervisor
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.inputs.alignment import DUE, AlignedSample, Continuity, Steps
from inertial_estimation.inputs.joints import JOINTS, JointNeeds, JointPart
from inertial_estimation.inputs.robot_inputs import BASE_STATE, RobotInputs
from inertial_estimation.inputs.sensors import ContactInput, ContactSource
from inertial_estimation.inputs.stream import DropReason
from inertial_estimation.models.contacts import WrenchAxes
from inertial_estimation.models.robot_config import RobotSetup, robot_from_config
from inertial_estimation.models.whole_body_dynamics import BaseMotion
from inertial_estimation.pipeline import TakesReadings
from inertial_estimation.signals import (
    NANOSECONDS,
    Array,
    BaseReference,
    BaseState,
    Health,
    JointReading,
    JointSample,
    LinkInertia,
    TorqueCommand,
    seconds,
)
from inertial_estimation.spatial.rotations import quaternion_from_rotation

STOPPED = 5.0  # age from which on inertias, which are published at a lower rate, count as stopped [timeouts]
IMPOSSIBLE = (
    *(DropReason.NOT_FINITE, DropReason.OUT_OF_RANGE),
    *(DropReason.CONTRADICTION, DropReason.NO_DIRECTION),
)


class SensedState:
    """State of the robot as the inputs give it, in the controller's terms.

    Attributes:
        inputs: Inputs; each joint state is a step, to whose time the base state is interpolated.
    """

    def __init__(self, config: ControllerConfig, setup: RobotSetup) -> None:
        """Begin empty; contacts of the setup matter for a floating base only."""
        floating = setup.robot.floating_base
        source = ContactSource.WRENCH if floating else ContactSource.NONE
        self.inputs = RobotInputs(
            replace(setup, imu=None),
            config.robot,
            Steps(JOINTS),
            JointNeeds(),
            sources=dict.fromkeys(setup.contact_names, source),
            await_contacts=False,  # they show early and late touchdowns
            base_state=floating,
        )
        assert self.inputs.joints is not None
        self.joint_states, self._soles = self.inputs.joints, bool(config.stance.soles)
        # z axis of each contact frame in the axes of its wrench frame.
        self._normals = {
            one.name: setup.robot.fixed_transform(one.frame, one.wrench_frame).rotation[2].copy()
            for one in setup.contacts
        }
        self._base_streams = [self.inputs.streams[BASE_STATE]] if floating else []
        # Impossible readings counted until the last call of `refusal`, by stream and reason.
        self._impossible: dict[tuple[str, DropReason], int] = {}

    def joints(self, sample: AlignedSample) -> JointSample:
        """Return the state of the joints of a sample."""
        columns = self.joint_states.columns
        return JointSample(sample.stamp_ns, sample.driver[columns.q], sample.driver[columns.v])

    def base(self, sample: AlignedSample) -> BaseMotion | None:
        """Return the motion of a floating base of a sample that has it; None for a fixed one."""
        row = sample.rows.get(BASE_STATE)
        if row is None:
            return None
        z = row[6:9] / math.sqrt(row[6:9] @ row[6:9])
        x = row[9:12] - (row[9:12] @ z) * z
        x /= math.sqrt(x @ x)
        R_WB = np.array((x, np.cross(z, x), z))
        return BaseMotion(quaternion_from_rotation(R_WB), row[0:3], row[3:6])

    def normal_forces(self, sample: AlignedSample) -> list[float | None]:
        """Return the newest normal force of each contact before a sample [N]; None if older than `HOLD_S`.

        The force at the time of the sample is not used: over DDS it may arrive before or after the sample.
        """
        return [self._force(contact, sample) for contact in self.inputs.contacts.values()]

    def _force(self, contact: ContactInput, sample: AlignedSample) -> float | None:
        row = self.inputs.aligner.latest(contact.stream.spec.name, sample.time_ns - 1, HOLD_S)
        if row is None:
            return None
        if not self._soles:  # a point, whose axes turn as it rolls
            return math.sqrt(row[:3] @ row[:3])
        base = sample.rows.get(BASE_STATE)
        if contact.axes is WrenchAxes.SENSOR:
            return float(self._normals[contact.name] @ row[:3])
        if contact.axes is WrenchAxes.BASE and base is not None:
            return float(row[:3] @ base[6:9])
        return float(row[2])

    def refusal(self) -> tuple[int, str, Array] | None:
        """Return the last impossible reading of joints or base since the last call; None if there was none.

        Returns:
            Time of its arrival [ns], a text that names the input and the problem, and the newest joint
            velocities, also those of the impossible reading [rad/s], shape (n,).
        """
        streams = [*(part.stream for part in self.joint_states.parts), *self._base_streams]
        found = {(one.spec.name, why): one for one in streams for why in IMPOSSIBLE}
        counts = {key: one.drops.counts.get(key[1], 0) for key, one in found.items()}
        known, self._impossible = self._impossible, counts
        fresh = [(one, key[1]) for key, one in found.items() if counts[key] > known.get(key, 0)]
        if not fresh:
            return None
        last, why = fresh[-1]
        v = np.zeros(self.joint_states.columns.n)
        for part in sorted(self.joint_states.parts, key=lambda part: part.stream.arrival_ns):
            v[part.joints] = _velocities(part)
        name = BASE_STATE if last.spec.name == BASE_STATE else JOINTS
        return last.drops.arrival_ns, f"{name}: {last.drops.said(why)}", v


def _velocities(part: JointPart) -> Array:
    """Return the velocities of the last reading of a part of the joints; zero if it is older than `GAP_S`."""
    stream, columns = part.stream, slice(len(part.joints), 2 * len(part.joints))
    if stream.rejected and stream.rejected[-1][0] == stream.arrival_ns:
        return stream.rejected[-1][1][columns]
    newest = stream.ring.newest_ns
    if newest is None or stream.arrival_ns - newest > GAP_S * NANOSECONDS:
        return np.zeros(len(part.joints))
    return stream.ring.rows[stream.ring.end - 1, columns]


class ControllerPipeline(TakesReadings):
    """Aligns joint states and base states by stamp and answers each with torques.

    Attributes:
        config: The parameters in force.
        robot: The robot's model.
        contacts: Names of the contacts, in the configured order.
        last: Result of the last step; None before the first.
        controller: The controller itself.
        inputs: Inputs for joint states, base states and wrenches, as values or as messages. Wrenches are
            optional; they show early and late touchdowns.
        supervisor: Decides whether the controller's torques are sent; counts the outcomes of joint states.
        torque_errors: Receives measured minus modelled torques, which are added to those of the model.
    """

    def __init__(self, config: ControllerConfig, urdf: str) -> None:
        """Build the model and check every name.

        Args:
            config: All parameters.
            urdf: Text of the URDF.

        Raises:
            ConfigurationError: If a list has the wrong length, or a floating base has no contact.
            ~inertial_estimation.errors.ModelError: If a joint, link or frame does not exist.
        """
        if config.robot.floating_base and not config.robot.contacts:
            raise ConfigurationError("'contacts' is empty, expected at least one contact for a floating base")
        self.config = config
        setup = robot_from_config(config.robot, urdf)
        self.robot = setup.robot
        frames = setup.contacts if config.robot.floating_base else ()
        self.contacts = tuple(frame.name for frame in frames)
        self.controller = WholeBodyController(config, self.robot, frames)
        limits = self.controller.tau_max
        bodies = self.robot.link_bodies(config.inertias.links)
        masses = {link: float(body.nominal_J.mass) for link, body in bodies.items()}
        self._inertias = InertiaIntake(masses, self.robot.total_mass)
        self.torque_errors = TorqueErrorIntake(self.robot, limits)
        self._sensed = SensedState(config, setup)
        self.inputs = self._sensed.inputs
        self._waiting: deque[AlignedSample] = deque(maxlen=MAX_PENDING)
        self.supervisor = ControlSupervisor(config, self.controller)
        self.last: ControlResult | None = None
        self._last_stamp_ns: int | None = None  # stamp of the last command; None after a gap of all inputs

    def push_base_state(self, state: BaseState) -> None:
        """Take orientation and twist of the base; its position is not used."""
        self.inputs.push(BASE_STATE, state)

    def push_inertia(self, stamp_ns: int, inertia: LinkInertia) -> None:
        """Take the inertia of one link; all links of one stamp are applied together between two steps.

        An inertia that is inconsistent, implausible for its link, not newer than that in force or far ahead
        of the joint states is refused and counted in `health`.
        """
        self._inertias.push(stamp_ns, inertia, self._last_stamp_ns)

    def push_joint_reference(self, reading: JointReading) -> None:
        """Take targets of joints by name; the others keep theirs.

        A request with an unknown name or a number that is not finite is refused as a whole and counted in
        `health`; positions are clipped to the joints' limits.
        """
        self.controller.references.request_joints(reading)

    def push_base_reference(self, reference: BaseReference) -> None:
        """Take a target pose of the base, to which it moves smoothly.

        A target out of reach is refused and counted in `health`.
        """
        self.controller.references.request_base(reference)

    def push_walk_command(self, command: WalkCommand) -> None:
        """Take a walk command; refused and counted if the robot cannot walk, or the steps are too long."""
        try:
            self.controller.gait.command(command)
        except ConfigurationError as error:
            self.controller.references.refuse(str(error))

    def push_hold(self, held: bool) -> None:
        """Request to stand on all feet, or to continue.

        Args:
            held: True: the robot ends the swing under way and stands; the rest of the walk is kept. False:
                it continues with the rest.
        """
        self.controller.gait.held = held

    def tick(self, now_ns: int) -> list[TorqueCommand]:
        """Answer the joint states whose base state has arrived.

        Args:
            now_ns: The caller's time on the clock of the stamps [ns]; decides only what is stale.

        Returns:
            One command for each answered joint state, in order; none while a required input is lost. Where
            impossible readings arrive instead of a state, the command damps the joints.
        """
        inertias = self._inertias.pop()
        if inertias is not None and self.config.inertias.applied:
            self.controller.dynamics.set_inertias(inertias)
        self.controller.dynamics.set_torque_errors(self.torque_errors.errors)
        commands = [self._answer(sample) for sample in self._due()]
        if self.inputs.aligner.missing(now_ns):
            commands = []
        refusal = self._sensed.refusal()
        if refusal is not None and not commands and self._is_due(refusal[0]):
            commands = [self._command(self.supervisor.refuse(*refusal))]
        return commands

    def health(self, now_ns: int) -> list[Health]:
        """Report the state of inputs, inertias and controller.

        Args:
            now_ns: The caller's time on the clock of the stamps [ns].
        """
        aligner, controller, used = self.inputs.aligner, self.controller, self.config.inertias.applied
        values = {
            "references refused": str(controller.references.refused),
            "held": "yes" if controller.gait.held else "no",
            "joint velocities": self._sensed.joint_states.velocity_source,
        }
        if controller.references.last_refusal:
            values["last refusal"] = controller.references.last_refusal
        lost, counts = aligner.missing(now_ns), self.supervisor.counts
        return [
            *self.inputs.health(now_ns),
            inertia_health(self._inertias, STOPPED * aligner.timeout, now_ns, used=used),
            *torque_error_health(self.torque_errors),
            controller_health(self.last, counts, values, lost, aligner.timeout, now_ns),
        ]

    def reset(self) -> None:
        """Discard state, references, inertias and buffered inputs, as at start."""
        self.inputs.reset()
        self._waiting.clear()
        self._sensed.refusal()
        self._start_over()

    def _hand_on(self, config: ControllerConfig) -> None:
        self.controller.set_config(config)

    def _start_over(self) -> None:
        """Discard everything but the buffered inputs."""
        self._inertias.reset()
        self.controller.dynamics.reset_inertias()
        self.torque_errors.reset()
        self.supervisor.reset()
        self.last = None
        self._last_stamp_ns = None

    def _is_due(self, stamp_ns: int) -> bool:
        """Return whether a command is due by the rate; never for a stamp before that of the last command."""
        period = DUE * NANOSECONDS / self.config.rate
        return self._last_stamp_ns is None or stamp_ns - self._last_stamp_ns >= period

    def _due(self) -> Iterator[AlignedSample]:
        """Yield the samples to answer now; samples for which inertias are awaited remain queued."""
        self._waiting.extend(self.inputs.ready())
        wait = self.config.inertias.max_age, STOPPED * self.inputs.aligner.timeout
        while self._waiting and not self._inertias.is_awaited(self._waiting[0].stamp_ns, *wait):
            sample = self._waiting.popleft()
            if sample.continuity is Continuity.RESTARTED and self.last is not None:
                self._start_over()
            if sample.continuity is Continuity.AFTER_GAP:
                self._last_stamp_ns = None
            if sample.missing:
                self.supervisor.counts.unmatched += 1
            elif self._is_due(sample.stamp_ns):
                yield sample

    def _answer(self, sample: AlignedSample) -> TorqueCommand:
        last_ns = self._last_stamp_ns
        h = 0.0 if last_ns is None else seconds(sample.stamp_ns - last_ns)
        base, joints = self._sensed.base(sample), self._sensed.joints(sample)
        after_gap = last_ns is None and self.last is not None
        forces = self._sensed.normal_forces(sample)
        result = self.supervisor.step(math.inf if after_gap else h, base, joints, forces)
        return self._command(result)

    def _command(self, result: ControlResult) -> TorqueCommand:
        self.last, self._last_stamp_ns = result, result.stamp_ns
        return TorqueCommand(result.stamp_ns, self.robot.joint_names, result.tau)
