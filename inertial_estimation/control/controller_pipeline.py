"""The whole-body controller from raw inputs to torque commands: what a node and an experiment share."""

import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from inertial_estimation.control.composite_adaptation import CompositeAdaptation
from inertial_estimation.control.control_result import ControlResult, ControlState
from inertial_estimation.control.control_supervisor import ControllerStepCounts, ControlSupervisor
from inertial_estimation.control.controller_config import ControllerConfig, ReferenceConfig
from inertial_estimation.control.inertia_intake import InertiaIntake
from inertial_estimation.control.inertia_limits import InertiaLimits
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.control.state_limits import LARGEST_POSITION
from inertial_estimation.control.torque_error_intake import TorqueErrorIntake
from inertial_estimation.control.whole_body_controller import WholeBodyController
from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.inputs.alignment import AlignedSample, Continuity
from inertial_estimation.inputs.joints import JOINTS, JointPart
from inertial_estimation.inputs.possible import REPORTED_NS, DropReason
from inertial_estimation.inputs.robot_inputs import BASE_STATE, RobotInputs
from inertial_estimation.inputs.sensors import ContactInput, ContactSource
from inertial_estimation.inputs.stream import Stream
from inertial_estimation.models.joint_corrections import joint_corrections
from inertial_estimation.models.robot_config import RobotSetup, WrenchAxes, robot_from_config
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.whole_body_dynamics import BaseMotion
from inertial_estimation.parameters import replace_runtime_value
from inertial_estimation.signals import (
    NANOSECONDS,
    Array,
    BaseReference,
    BaseState,
    Health,
    HealthLevel,
    JointReading,
    JointSample,
    LinkInertia,
    TorqueCommand,
    WrenchSample,
    seconds,
)
from inertial_estimation.spatial.rotations import quaternion_from_rotation


class ReferenceIntake:
    """Hands references over to the controller; a bad one is refused as a whole.

    Attributes:
        refused: References and walks refused.
        last_refusal: Why the last one was refused; empty where none was.
        clipped: Joint references that were beyond the joints' limits.
    """

    def __init__(self, robot: RobotModel, controller: WholeBodyController, config: ReferenceConfig) -> None:
        """Begin with zero rejections.

        Args:
            robot: The robot.
            controller: Takes the references.
            config: Limits of the references.

        Raises:
            ConfigurationError: If the range of heights does not have two ascending values.
        """
        if len(config.height_range) != 2 or not config.height_range[0] <= config.height_range[1]:
            raise ConfigurationError(
                f"'references.height_range' is {list(config.height_range)}, expected the smallest and the "
                "largest share"
            )
        self._config = config
        self._robot = robot
        self._controller = controller
        self.refused = 0
        self.last_refusal = ""
        self.clipped = 0

    def reset(self) -> None:
        """Forget what was refused."""
        self.refused = self.clipped = 0
        self.last_refusal = ""

    def push_joints(self, reading: JointReading) -> None:
        """Take targets of joints by name; see `ControllerPipeline.push_joint_reference`."""
        problem = self._joint_problem(reading)
        if problem:
            self._refuse(f"joint reference of {listing(reading.names, limit=3)}: {problem}")
            return
        indices = np.array([self._robot.joint_index(name) for name in reading.names], dtype=int)
        low, high = self._controller.dynamics.position_limits[:, indices]
        position = np.clip(reading.position, low, high)
        self.clipped += bool((position != reading.position).any())
        rate = reading.velocity
        if rate is not None:
            rate = np.clip(rate, -self._config.joint_rate, self._config.joint_rate)
        self._controller.references.set_joints(indices, position, rate)

    def push_base(self, reference: BaseReference) -> None:
        """Take where the base should be; refused where it cannot get there."""
        problem = self._base_problem(reference)
        if problem:
            self._refuse(f"base reference: {problem}")
            return
        config = self._config
        rate, angle_rate = config.height_rate, config.angle_rate
        bounded = replace(
            reference,
            height_rate=min(rate, max(-rate, reference.height_rate)),
            roll_rate=min(angle_rate, max(-angle_rate, reference.roll_rate)),
            pitch_rate=min(angle_rate, max(-angle_rate, reference.pitch_rate)),
        )
        self._controller.references.set_base(bounded)

    def push_walk(self, command: WalkCommand) -> None:
        """Take steps to walk; refused where the robot cannot walk, or not that far."""
        try:
            self._controller.gait.command(command)
        except ConfigurationError as error:
            self._refuse(str(error))

    def _joint_problem(self, reading: JointReading) -> str:
        """Return why a joint reference is refused; empty if it is not."""
        known = set(self._robot.joint_names)
        unknown = [name for name in reading.names if name not in known]
        if unknown:
            return f"no joint {listing(unknown, limit=3)}"
        if len(set(reading.names)) < len(reading.names):
            return "a joint is named twice"
        values = [reading.position] + ([] if reading.velocity is None else [reading.velocity])
        if not np.isfinite(np.concatenate(values)).all():
            return "not finite"
        if (np.abs(reading.position) > LARGEST_POSITION).any():
            return f"beyond {LARGEST_POSITION:g} rad"
        return ""

    def _base_problem(self, reference: BaseReference) -> str:
        """Return why a base reference is refused; empty if it is not."""
        config, home = self._config, self._controller.references.home_height
        if not self._robot.floating_base:
            return "the base is fixed"
        low, high = (share * home for share in config.height_range)
        if not low <= reference.height <= high:
            return f"height {reference.height:.4g} m, expected {low:.3g} to {high:.3g} m"
        angle = max(abs(reference.roll), abs(reference.pitch))
        if not angle <= config.angle_limit:
            return f"an angle of {angle:.4g} rad, expected at most {config.angle_limit:g} rad"
        return ""

    def _refuse(self, reason: str) -> None:
        self.refused += 1
        self.last_refusal = reason


FORCE_AGE_S = 0.02  # for which a force before a joint state still shows a touchdown
VELOCITY_AGE_NS = NANOSECONDS // 10  # of the last velocities that are used for damping
IMPOSSIBLE = (
    *(DropReason.NOT_FINITE, DropReason.OUT_OF_RANGE),
    *(DropReason.CONTRADICTION, DropReason.NO_DIRECTION),
)


class Refusal(NamedTuple):
    """A reading of joints or base that is impossible, so that the robot's state is not known."""

    stamp_ns: int  # of its arrival
    text: str  # the input and what is wrong with it
    v: Array  # velocities of the joints as far as they are known, possible or not [rad/s], shape (n,)


class ControllerInputs:
    """Sensors of the robot and its base state, as the controller uses them.

    Attributes:
        robot: Takes readings and messages; joint states are the steps, at which the base is interpolated.
    """

    def __init__(self, config: ControllerConfig, setup: RobotSetup) -> None:
        """Begin empty.

        Args:
            config: All parameters.
            setup: The robot and its contacts, which matter for a floating base only.
        """
        floating, parameters = setup.robot.floating_base, config.robot
        source = ContactSource.WRENCH if floating else ContactSource.NONE
        self.robot = RobotInputs(
            setup,
            parameters,
            driver=JOINTS,
            imu=False,
            sources=dict.fromkeys(setup.contact_names, source),
            await_contacts=False,  # they show early and late touchdowns
            base_state=floating,
            heading=floating,
            corrections=joint_corrections(parameters.joint_offsets, parameters.drive_gains, setup.robot),
        )
        assert self.robot.joints is not None
        self.joint_states, self._soles = self.robot.joints, bool(config.stance.soles)
        self._impossible: dict[str, int] = {}  # number of those that are known, by stream

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
        """Return the newest normal force of each contact before a sample [N]; None where it is older.

        Not that of its time itself: over DDS it may come before or after the joint state.
        """
        return [self._force(contact, sample) for contact in self.robot.contacts.values()]

    def _force(self, contact: ContactInput, sample: AlignedSample) -> float | None:
        row = self.robot.aligner.latest(contact.stream.spec.name, sample.time_ns - 1, FORCE_AGE_S)
        if row is None:
            return None
        if not self._soles:  # a point, whose axes turn as it rolls
            return math.sqrt(row[:3] @ row[:3])
        base = sample.rows.get(BASE_STATE)
        if contact.axes is WrenchAxes.BASE and base is not None:
            return float(row[:3] @ base[6:9])
        return float(row[2])

    def refusal(self) -> Refusal | None:
        """Return the last impossible reading of joints or base since the last call; None: there was none."""
        streams = [part.stream for part in self.joint_states.parts]
        streams += [self.robot.streams[BASE_STATE]] if BASE_STATE in self.robot.streams else []
        counts = {stream.spec.name: _impossible(stream) for stream in streams}
        fresh = [one for one in streams if counts[one.spec.name] > self._impossible.get(one.spec.name, 0)]
        self._impossible = counts
        if not fresh:
            return None
        last = fresh[-1]
        v = np.zeros(self.joint_states.columns.n)
        for part in self.joint_states.parts:
            v[part.joints] = _velocities(part)
        name = BASE_STATE if last.spec.name == BASE_STATE else JOINTS
        return Refusal(last.drops.arrival_ns, f"{name}: {last.drops.summary}", v)


def _impossible(stream: Stream) -> int:
    """Return the number of impossible readings of a stream."""
    return sum(stream.drops.counts.get(reason, 0) for reason in IMPOSSIBLE)


def _velocities(part: JointPart) -> Array:
    """Return the velocities of the last reading of some joints; zero where it is old."""
    stream, columns = part.stream, slice(len(part.joints), 2 * len(part.joints))
    if stream.rejected and stream.rejected[-1][0] == stream.arrival_ns:
        return stream.rejected[-1][1][columns]
    newest = stream.ring.newest_ns
    if newest is None or stream.arrival_ns - newest > VELOCITY_AGE_NS:
        return np.zeros(len(part.joints))
    return stream.ring.rows[stream.ring.end - 1, columns]


NAME = "controller"


class InputsNow(NamedTuple):
    """State of the inputs at a time."""

    lost: Sequence[str]  # names of the required ones that never came or are lost
    timeout: float  # age from which they are [s]
    velocity_source: str  # where joint velocities come from, for people


def controller_health(
    last: ControlResult | None,
    counts: ControllerStepCounts,
    references: ReferenceIntake,
    inputs: InputsNow,
    now_ns: int,
    *,
    held: bool,
) -> Health:
    """Return what the controller does, and what keeps it from control.

    Args:
        last: Result of the last step; None before the first.
        counts: Numbers of steps.
        references: References taken and refused.
        inputs: What is to be said of the inputs.
        now_ns: Time now on the clock of the stamps [ns].
        held: Whether the gait is requested to stand.
    """
    values = _counted(counts, references, inputs)
    if last is not None:
        values |= {
            "state": last.state.value,
            "phase": last.activity,
            "held": "yes" if held else "no",
            "solver": last.qp_status,
            "largest torque [Nm]": f"{np.abs(last.tau).max():.2f}",
            "height [m]": f"{last.height:.4f}",
        }
    level, message = _verdict(last, counts, inputs, now_ns)
    return Health(NAME, level, message, values)


def _counted(counts: ControllerStepCounts, references: ReferenceIntake, inputs: InputsNow) -> dict[str, str]:
    values = {
        "steps": str(counts.steps),
        "steps in damping": str(counts.damped),
        "steps with the last torques": str(counts.held),
        "gaps": str(counts.gaps),
        "take-overs": str(counts.take_overs),
        "joint states without base": str(counts.unmatched),
        "joint velocities": inputs.velocity_source,
        "references refused": str(references.refused),
        "references beyond joint limits": str(references.clipped),
    }
    values |= {f"fault: {cause.value}": str(counts.faults[cause]) for cause in counts.faults}
    last = {
        "last take-over": counts.take_over,
        "last fault": counts.last_fault,
        "last refusal": references.last_refusal,
    }
    return values | {name: text for name, text in last.items() if text}


def _verdict(
    last: ControlResult | None, counts: ControllerStepCounts, inputs: InputsNow, now_ns: int
) -> tuple[HealthLevel, str]:
    age = math.inf if last is None else seconds(now_ns - last.stamp_ns)
    damps = last is not None and last.state is ControlState.DAMPING and age <= inputs.timeout
    if inputs.lost and not damps:
        return HealthLevel.STALE, f"waiting for {listing(inputs.lost)}: no torques are sent"
    if last is None:
        return HealthLevel.WARN, "no joint state with a base state of its time yet"
    if age > inputs.timeout:
        return HealthLevel.ERROR, f"no joint state has been answered for {age:.2f} s"
    if last.state is ControlState.DAMPING:
        return HealthLevel.ERROR, f"damping: {last.reason}"
    if last.state is ControlState.HOLDING:
        return HealthLevel.WARN, f"holding the last torques: {last.reason}"
    if counts.last_fault_ns is not None and 0 <= now_ns - counts.last_fault_ns < REPORTED_NS:
        ago = seconds(now_ns - counts.last_fault_ns)
        return HealthLevel.WARN, f"controlling again after a fault {ago:.1f} s ago: {counts.last_fault}"
    return HealthLevel.OK, f"controlling: {last.activity or 'posture'}"


RATE_TOLERANCE = 0.1  # of the period: how early a joint state may come and still be answered
MOST_WAITING = 64  # joint states that wait for inertias


class ControllerPipeline:
    """Aligns joint states and base states by stamp and answers with torques.

    Attributes:
        config: The parameters in force.
        robot: The robot's model.
        contacts: Names of the contacts, in the configured order.
        last: Result of the last step; None before the first.
        controller: The controller itself.
        inputs: What takes joint states, base states and wrenches, as values or as messages.
        supervisor: Decides whether its torques are sent; counts what became of the joint states.
        torque_errors: Takes what joints and base take more than the model says, which is added to it.
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
        _check(config)
        self.config = config
        setup = robot_from_config(config.robot, urdf)
        self.robot = setup.robot
        frames = setup.contacts if config.robot.floating_base else ()
        self.contacts = tuple(frame.name for frame in frames)
        self.controller = WholeBodyController(config, self.robot, frames)
        bodies = self.controller.dynamics.bodies(config.inertias.links)
        masses = {link: float(body.nominal_J.mass) for link, body in bodies.items()}
        limits = InertiaLimits(masses, self.robot.total_mass, config.inertias.plausible)
        self._inertias = InertiaIntake(limits, config.inertias.timeout, used=config.inertias.applied)
        self._references = ReferenceIntake(self.robot, self.controller, config.references)
        self._states = ControllerInputs(config, setup)
        self.inputs = self._states.robot
        self._waiting: deque[AlignedSample] = deque(maxlen=MOST_WAITING)
        self.last: ControlResult | None = None
        self._last_stamp_ns: int | None = None  # of the last command since the last gap of all inputs
        self.supervisor = ControlSupervisor(config, self.robot, self.controller)
        dynamics = self.controller.dynamics
        tau_max = config.torque_scale * dynamics.torque_limits
        self.torque_errors = TorqueErrorIntake(self.robot, tau_max)
        self._adaptation = CompositeAdaptation(config.adaptation, dynamics, config.inertias.links, tau_max)

    def push_joints(self, reading: JointReading) -> None:
        """Take one joint state, with all joints or some."""
        self.inputs.push_joints(reading)

    def push_base_state(self, state: BaseState) -> None:
        """Take orientation and twist of the base; its position is not used."""
        self.inputs.push_orientation(BASE_STATE, state)

    def push_wrench(self, contact: str, sample: WrenchSample) -> None:
        """Take the wrench of one contact; optional, it shows early and late touchdowns.

        Raises:
            MeasurementError: If there is no such contact.
        """
        self.inputs.push_contact(contact, sample)

    def push_inertia(self, stamp_ns: int, inertia: LinkInertia) -> None:
        """Take the inertia of one link; all links of one stamp are applied together between two steps.

        One that is inconsistent, implausible for its link or out of time is refused and counted in `health`.
        """
        self._inertias.push(stamp_ns, inertia, self._last_stamp_ns)

    def push_joint_reference(self, reading: JointReading) -> None:
        """Take targets of joints by name; the others keep theirs.

        Unknown names and bad numbers refuse all of it; positions are kept within the joints' limits. Both
        are counted in `health`.
        """
        self._references.push_joints(reading)

    def push_base_reference(self, reference: BaseReference) -> None:
        """Take where the base should be; it moves there smoothly.

        One out of reach is refused and counted in `health`.
        """
        self._references.push_base(reference)

    def push_walk_command(self, command: WalkCommand) -> None:
        """Take steps to walk; refused and counted where the robot cannot walk."""
        self._references.push_walk(command)

    def push_hold(self, held: bool) -> None:
        """Ask to stand on all feet, or to go on.

        Args:
            held: True: the swing under way ends, then it stands; what is left of the walk is kept. False: it
                goes on with it.
        """
        self.controller.gait.hold(held)

    def tick(self, now_ns: int) -> list[TorqueCommand]:
        """Answer the joint states whose base state has arrived.

        Args:
            now_ns: The caller's time on the clock of the stamps [ns]; decides only what is stale.

        Returns:
            One command for each answered joint state, in order; none while a required input is lost. While
            readings arrive that are impossible, the state is not known: the joints are damped.
        """
        inertias = self._inertias.pop()
        if inertias is not None and self.config.inertias.applied:
            self._adaptation.set_estimates(inertias)
            adapted = self._adaptation.inertias if self._adaptation.active else inertias
            self.controller.dynamics.set_inertias(adapted)
        self.controller.dynamics.set_torque_errors(self.torque_errors.errors)
        commands = [self._answer(sample) for sample in self._due()]
        if self.inputs.aligner.missing(now_ns):
            commands = []
        refusal = self._states.refusal()
        if refusal is not None and not commands and self._is_due(refusal.stamp_ns):
            commands = [self._command(self.supervisor.refuse(*refusal))]
        return commands

    def health(self, now_ns: int) -> list[Health]:
        """Say how inputs, inertias and controller are.

        Args:
            now_ns: The caller's time on the clock of the stamps [ns].
        """
        aligner = self.inputs.aligner
        controller = controller_health(
            self.last,
            self.supervisor.counts,
            self._references,
            InputsNow(aligner.missing(now_ns), aligner.timeout, self._states.joint_states.velocity_source),
            now_ns,
            held=self.controller.gait.held,
        )
        received = (self._inertias.health(now_ns), *self.torque_errors.health())
        return [*self.inputs.health(now_ns), *received, controller]

    def reset(self) -> None:
        """Forget state, references, inertias and buffered inputs, as at start."""
        self.inputs.reset()
        self._waiting.clear()
        self._states.refusal()
        self._start_over()

    def set_parameter(self, name: str, value: object) -> None:
        """Change one parameter while running.

        Args:
            name: Its dotted name.
            value: Its new value.

        Raises:
            ConfigurationError: If it does not exist, cannot change at run time, or the value is bad.
        """
        changed = replace_runtime_value(self.config, name, value)
        self.supervisor.set_config(changed)
        self._inertias.timeout = changed.inertias.timeout
        self._adaptation.config = changed.adaptation
        self.inputs.aligner.timeout = changed.robot.inputs.timeout
        self.config = changed

    def _start_over(self) -> None:
        """Forget all but the buffered inputs."""
        self._inertias.reset()
        self.controller.dynamics.reset_inertias()
        self.torque_errors.reset()
        self._adaptation.reset()
        self.supervisor.reset()
        self._references.reset()
        self.last = None
        self._last_stamp_ns = None

    def _is_due(self, stamp_ns: int) -> bool:
        """Return whether a command is due, by the rate; not for a stamp before that of the last one."""
        period = (1.0 - RATE_TOLERANCE) * NANOSECONDS / self.config.rate
        return self._last_stamp_ns is None or stamp_ns - self._last_stamp_ns >= period

    def _due(self) -> Iterator[AlignedSample]:
        """Yield the samples to answer now; those for which inertias are awaited stay for later."""
        self._waiting.extend(self.inputs.ready())
        max_age = self.config.inertias.max_age
        while self._waiting and not self._inertias.to_come(self._waiting[0].stamp_ns, max_age):
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
        first = self._last_stamp_ns is None
        h = 0.0 if self._last_stamp_ns is None else seconds(sample.stamp_ns - self._last_stamp_ns)
        base, joints = self._states.base(sample), self._states.joints(sample)
        forces = self._states.normal_forces(sample)
        after_gap = first and self.last is not None
        result = self.supervisor.step(math.inf if after_gap else h, base, joints, forces)
        if self._adaptation.active:
            sliding = self.controller.sliding_error(joints)
            adapted = self._adaptation.advance(h, base, joints, sliding, result)
            self.controller.dynamics.set_inertias(adapted)
        return self._command(result)

    def _command(self, result: ControlResult) -> TorqueCommand:
        self.last, self._last_stamp_ns = result, result.stamp_ns
        return TorqueCommand(result.stamp_ns, self.robot.joint_names, result.tau)


def _check(config: ControllerConfig) -> None:
    if config.robot.floating_base and not config.robot.contacts:
        raise ConfigurationError("'contacts' is empty, expected at least one contact for a floating base")
