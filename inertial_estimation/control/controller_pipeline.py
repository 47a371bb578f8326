"""The whole-body controller from raw inputs to torque commands: what a node and an experiment share."""

from collections import deque
from typing import Any

import numpy as np

from inertial_estimation.control.control_result import ControlResult
from inertial_estimation.control.controller_config import ControllerConfig
from inertial_estimation.control.inertia_intake import InertiaIntake
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.control.stamped_input import StampedInput
from inertial_estimation.control.whole_body_controller import WholeBodyController
from inertial_estimation.errors import ConfigurationError, MeasurementError, listing
from inertial_estimation.models.joint_map import JointMap
from inertial_estimation.models.robot_config import robot_from_config
from inertial_estimation.models.whole_body_dynamics import BaseMotion
from inertial_estimation.parameters import replace_runtime_value
from inertial_estimation.signals import (
    NANOSECONDS,
    BaseReference,
    BaseState,
    Health,
    HealthLevel,
    JointReading,
    JointSample,
    LinkInertia,
    OrientationSample,
    TorqueCommand,
    WrenchSample,
    seconds,
)

__all__ = ["ControllerConfig", "ControllerPipeline"]

WRENCHES_KEPT = 8
WRENCH_AGE_NS = 20_000_000  # of a wrench that still tells a touchdown
RATE_TOLERANCE = 0.1  # of the period: how early a joint state may come and still be answered


class ControllerPipeline:
    """Matches joints, orientation and base state by stamp and answers with torques.

    Attributes:
        config: The parameters in force.
        robot: The robot's model.
        contacts: Names of the contacts, in the configured order.
        last: What the last step said; None before the first.
        controller: The controller itself.
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
        self._position_limits = self.controller.dynamics.position_limits
        bodies = self.controller.dynamics.bodies(config.inertias.links)
        self._intake = InertiaIntake(bodies, config.inertias.timeout)
        self._joint_map = JointMap(self.robot, config.robot)
        inputs = config.robot.inputs
        jump_ns = int(NANOSECONDS * inputs.jump) if inputs.on_jump == "reset" else None
        self._joints: StampedInput[JointSample] = StampedInput("joint_states", jump_ns)
        self._orientation: StampedInput[OrientationSample] = StampedInput("base_orientation", jump_ns)
        self._base: StampedInput[BaseState] = StampedInput("base_state", jump_ns)
        self._forget()

    def push_orientation(self, sample: OrientationSample) -> None:
        """Take the orientation of the base."""
        self._orientation.push(sample.stamp_ns, sample)

    def push_base_state(self, state: BaseState) -> None:
        """Take the twist of the base; its position is not used."""
        self._base.push(state.stamp_ns, state)

    def push_joints(self, reading: JointReading) -> None:
        """Take one joint state; one that misses joints is dropped and counted.

        So is one without velocities while they cannot be derived from positions yet.
        """
        try:
            sample = self._joint_map.sample(reading)
        except MeasurementError as error:
            self._joints.dropped[str(error)] += 1
            return
        self._joints.push(reading.stamp_ns, sample)

    def push_wrench(self, contact: str, sample: WrenchSample) -> None:
        """Take the wrench of one contact: tells early and late touchdowns; optional.

        Raises:
            MeasurementError: If there is no such contact.
        """
        if contact not in self.contacts:
            raise MeasurementError(f"no contact '{contact}'; the robot has {listing(self.contacts)}")
        if np.isfinite(sample.wrench_F).all():
            self._wrenches[contact].append(sample)

    def push_inertia(self, stamp_ns: int, inertia: LinkInertia) -> None:
        """Take the inertia of one link; all links of one stamp are applied together between two steps."""
        self._intake.push(stamp_ns, inertia)

    def push_joint_reference(self, reading: JointReading) -> None:
        """Take targets of joints by name; the others keep theirs.

        Unknown names and bad numbers refuse all of it; positions are kept within the joints' limits. Both
        are counted in `health`.
        """
        known = [i for i, name in enumerate(reading.names) if name in self.robot.joint_names]
        values = [reading.position] + ([] if reading.velocity is None else [reading.velocity])
        if len(known) < len(reading.names) or not np.isfinite(np.concatenate(values)).all():
            self._refuse(f"joint reference {listing(reading.names)}: unknown or not finite")
            return
        indices = np.array([self.robot.joint_index(name) for name in reading.names], dtype=int)
        low, high = self._position_limits[:, indices]
        position = np.clip(reading.position, low, high)
        self._clipped_references += bool((position != reading.position).any())
        self.controller.references.set_joints(indices, position, reading.velocity)

    def push_base_reference(self, reference: BaseReference) -> None:
        """Take where the base should be; it moves there smoothly."""
        self.controller.references.set_base(reference)

    def push_walk_command(self, command: WalkCommand) -> None:
        """Take steps to walk; refused and counted where the robot cannot walk."""
        try:
            self.controller.gait.command(command)
        except ConfigurationError as error:
            self._refuse(str(error))

    def push_hold(self, held: bool) -> None:
        """Ask to stand on all feet, or to go on.

        Args:
            held: True: the swing under way ends, then it stands; what is left of the walk is kept. False: it
                goes on with it.
        """
        self.controller.gait.hold(held)

    def tick(self, now_ns: int) -> list[TorqueCommand]:
        """Answer the joint states whose base orientation and base state have arrived.

        Args:
            now_ns: The caller's time on the clock of the stamps [ns]; decides only what is stale.

        Returns:
            One command for each answered joint state, in order; none while a required input is lost.
        """
        inertias = self._intake.pop()
        if inertias is not None:
            self.controller.dynamics.set_inertias(inertias)
        commands = [self._answer(stamp) for stamp in self._ready()]
        return [] if self._lost(now_ns) else commands

    def health(self, now_ns: int) -> list[Health]:
        """Say how inputs, inertias and controller are.

        Args:
            now_ns: The caller's time on the clock of the stamps [ns].
        """
        timeout = self.config.robot.inputs.timeout
        inputs = [stream.health(now_ns, timeout) for stream in self._required()]
        return [*inputs, self._intake.health(now_ns), self._controller_health(now_ns)]

    def reset(self) -> None:
        """Forget state, references, inertias and buffered inputs, as at start."""
        for stream in (self._joints, self._orientation, self._base):
            stream.reset()
        self._joint_map.reset()
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
        self.controller.set_config(changed)
        self._intake.timeout = changed.inertias.timeout
        self.config = changed

    def _start_over(self) -> None:
        """Forget all but the buffered inputs."""
        self._intake.reset()
        self.controller.dynamics.reset_inertias()
        self.controller.reset()
        self._forget()

    def _forget(self) -> None:
        self.last: ControlResult | None = None
        self._wrenches: dict[str, deque[WrenchSample]] = {
            contact: deque(maxlen=WRENCHES_KEPT) for contact in self.contacts
        }
        self._last_stamp_ns: int | None = None
        self._steps = 0
        self._damped_steps = 0
        self._unmatched = 0
        self._refused_references = 0
        self._last_refusal = ""
        self._clipped_references = 0

    def _refuse(self, reason: str) -> None:
        self._refused_references += 1
        self._last_refusal = reason

    def _required(self) -> list[StampedInput[Any]]:
        if not self.robot.floating_base:
            return [self._joints]
        return [self._joints, self._orientation, self._base]

    def _lost(self, now_ns: int) -> list[str]:
        timeout = self.config.robot.inputs.timeout
        return [stream.name for stream in self._required() if stream.stale(now_ns, timeout)]

    def _ready(self) -> list[int]:
        """Stamps to answer now, thinned to the rate; drops what no partner can come for any more."""
        streams = self._required()
        matched = [s for s in self._joints.stamps() if all(t.get(s) is not None for t in streams)]
        matched = [s for s in matched if not self._inertias_to_come(s)]
        if not matched:
            return []
        if self._last_stamp_ns is not None and matched[0] < self._last_stamp_ns:
            self._start_over()  # the stamps have jumped back
        self._unmatched += sum(s < matched[-1] for s in self._joints.stamps()) - len(matched) + 1
        period = int((1.0 - RATE_TOLERANCE) * NANOSECONDS / self.config.rate)
        due, last = [], self._last_stamp_ns
        for stamp in matched:
            if last is None or stamp - last >= period:
                due.append(stamp)
                last = stamp
        return due

    def _inertias_to_come(self, stamp_ns: int) -> bool:
        """Whether inertias recent enough for a joint state are still awaited."""
        config, applied_ns = self.config.inertias, self._intake.applied_stamp_ns
        if not config.max_age or applied_ns is None:
            return False
        return config.max_age < seconds(stamp_ns - applied_ns) <= config.timeout

    def _answer(self, stamp_ns: int) -> TorqueCommand:
        joints = self._joints.get(stamp_ns)
        assert joints is not None
        base = None
        if self.robot.floating_base:
            orientation, state = self._orientation.get(stamp_ns), self._base.get(stamp_ns)
            assert orientation is not None
            assert state is not None
            base = BaseMotion(orientation.quaternion_xyzw, state.v_WB_B, state.w_WB_B)
        h = 0.0 if self._last_stamp_ns is None else seconds(stamp_ns - self._last_stamp_ns)
        self._last_stamp_ns = stamp_ns
        self.last = self.controller.step(h, base, joints, self._normal_forces(stamp_ns))
        self._steps += 1
        self._damped_steps += self.last.state != "control"
        for stream in self._required():
            stream.forget_until(stamp_ns)
        return TorqueCommand(stamp_ns, self.robot.joint_names, self.last.tau)

    def _normal_forces(self, stamp_ns: int) -> list[float | None]:
        """Newest normal forces before a stamp, None where older than `WRENCH_AGE_NS`.

        Not those of the stamp itself: over DDS they may come before or after the joint state.
        """
        forces: list[float | None] = []
        for kept in self._wrenches.values():
            force = None
            for sample in kept:
                if 0 < stamp_ns - sample.stamp_ns <= WRENCH_AGE_NS:
                    force = self._normal_force(sample)
            forces.append(force)
        return forces

    def _normal_force(self, sample: WrenchSample) -> float:
        """Force on the ground's normal [N]; of a point foot, whose axes turn as it rolls, its length."""
        if self.config.stance.soles:
            return float(sample.wrench_F[2])
        return float(np.linalg.norm(sample.wrench_F[:3]))

    def _controller_health(self, now_ns: int) -> Health:
        values = {
            "steps": str(self._steps),
            "steps in damping": str(self._damped_steps),
            "joint states without base": str(self._unmatched),
            "joint velocities": self._joint_map.velocity_source,
            "references refused": str(self._refused_references),
            "references beyond joint limits": str(self._clipped_references),
        }
        if self._last_refusal:
            values["last refusal"] = self._last_refusal
        lost = self._lost(now_ns)
        if lost:
            message = f"waiting for {listing(lost)}: no torques are sent"
            return Health("controller", HealthLevel.STALE, message, values)
        if self.last is None:
            message = "no joint state with base orientation and base state of its stamp yet"
            return Health("controller", HealthLevel.WARN, message, values)
        values |= {
            "state": self.last.state,
            "phase": self.last.activity,
            "held": "yes" if self.controller.gait.held else "no",
            "solver": self.last.qp_status,
            "largest torque [Nm]": f"{np.abs(self.last.tau).max():.2f}",
            "height [m]": f"{self.last.height:.4f}",
        }
        if self.last.state != "control":
            return Health("controller", HealthLevel.ERROR, f"damping: {self.last.reason}", values)
        return Health("controller", HealthLevel.OK, f"controlling: {self.last.activity or 'posture'}", values)


def _check(config: ControllerConfig) -> None:
    if config.robot.floating_base and not config.robot.contacts:
        raise ConfigurationError("'contacts' is empty, expected at least one contact for a floating base")
