"""Inputs of the controller: joint states and base matched by stamp, contact wrenches."""

from typing import Any

from inertial_estimation.control.controller_config import ControllerConfig
from inertial_estimation.control.joint_input import JointInput
from inertial_estimation.control.stamped_input import StampedInput, push_matched
from inertial_estimation.control.wrench_input import WrenchInput
from inertial_estimation.errors import MeasurementError
from inertial_estimation.models.drop_reasons import misfit
from inertial_estimation.models.input_ranges import wrench_range
from inertial_estimation.models.joint_map import JointMap
from inertial_estimation.models.robot_config import check_contact
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.whole_body_dynamics import BaseMotion
from inertial_estimation.signals import (
    NANOSECONDS,
    BaseState,
    Health,
    HealthLevel,
    JointReading,
    JointSample,
    OrientationSample,
    WrenchSample,
)


class ControllerInputs:
    """Buffers of the inputs; those of one stamp belong together.

    Implausible joint states and base states are not dropped here: the drives need an answer to every stamp,
    and `ControlSupervisor` answers them by damping. A wrench is optional: one out of range is dropped.

    Attributes:
        contacts: Names of the contacts, in the configured order.
        wrenches: Wrenches of each contact.
        timeout: Age from which an input is stale [s].
    """

    def __init__(self, config: ControllerConfig, robot: RobotModel, contacts: tuple[str, ...]) -> None:
        """Begin empty.

        Args:
            config: Joint names, delays, time-outs; soles.
            robot: The robot.
            contacts: Names of the contacts.
        """
        self.contacts = contacts
        self.timeout = config.robot.inputs.timeout
        self._floating = robot.floating_base
        self._joint_map = JointMap(robot, config.robot)
        self._joint_input = JointInput(self._joint_map, robot.n_joints)
        inputs = config.robot.inputs
        jump_ns = int(NANOSECONDS * inputs.jump)
        clock = (jump_ns, int(NANOSECONDS * min(inputs.max_gap, inputs.jump)))
        self._joints: StampedInput[JointSample] = StampedInput("joint_states", *clock)
        self._orientation: StampedInput[OrientationSample] = StampedInput("base_orientation", *clock)
        self._base: StampedInput[BaseState] = StampedInput("base_state", *clock)
        self._required: tuple[StampedInput[Any], ...] = (self._joints,)
        if robot.floating_base:
            self._required = self._joints, self._orientation, self._base
        limits, sole = wrench_range(inputs.range, robot), bool(config.stance.soles)
        self.wrenches = {contact: WrenchInput(limits, sole=sole) for contact in contacts}

    def reset(self) -> None:
        """Forget everything."""
        for stream in (self._joints, self._orientation, self._base):
            stream.reset()
        self._joint_map.reset()
        self.forget_wrenches()

    def forget_wrenches(self) -> None:
        """Forget the wrenches."""
        for wrenches in self.wrenches.values():
            wrenches.clear()

    def push_orientation(self, sample: OrientationSample) -> None:
        """Take the orientation of the base."""
        push_matched(self._orientation, sample.stamp_ns, sample, self._required)

    def push_base_state(self, state: BaseState) -> None:
        """Take the twist of the base; its position is not used."""
        push_matched(self._base, state.stamp_ns, state, self._required)

    def push_joints(self, reading: JointReading) -> None:
        """Take one joint state; one without all joints, or without velocities yet, is dropped and counted."""
        try:
            sample = self._joint_input.sample(reading)
        except MeasurementError as error:
            self._joints.drop(misfit(error), str(error))
            return
        push_matched(self._joints, reading.stamp_ns, sample, self._required)

    def take_joints(self, data: bytes) -> bool:
        """Take a serialised joint state; return whether it has been taken, else its value is to be pushed."""
        sample = self._joint_input.taken(data)
        if sample is None:
            return False
        push_matched(self._joints, sample.stamp_ns, sample, self._required)
        return True

    def push_wrench(self, contact: str, sample: WrenchSample) -> None:
        """Take the wrench of one contact.

        Raises:
            MeasurementError: If there is no such contact.
        """
        check_contact(contact, self.contacts)
        self.wrenches[contact].push(sample, self._joints.last_stamp_ns)

    @property
    def velocity_source(self) -> str:
        """Where the joint velocities come from, for people."""
        return self._joint_map.velocity_source

    def stale(self, now_ns: int) -> list[str]:
        """Return the required inputs that are missing or too old.

        Args:
            now_ns: Time now on the clock of the stamps [ns].
        """
        return [stream.name for stream in self._required if stream.stale(now_ns, self.timeout)]

    def health(self, now_ns: int) -> list[Health]:
        """Return the state of each required input, and of wrenches of which some were dropped recently.

        Args:
            now_ns: Time now on the clock of the stamps [ns].
        """
        entries = [stream.health(now_ns, self.timeout) for stream in self._required]
        for contact, wrenches in self.wrenches.items():
            drops = wrenches.drops
            if drops.recent(now_ns):
                entries.append(Health(f"{contact}/wrench", HealthLevel.WARN, drops.summary, drops.values()))
        return entries

    def joint_stamps(self) -> list[int]:
        """Return the stamps of the joint states kept, ascending [ns]."""
        return self._joints.stamps()

    def matched_stamps(self) -> list[int]:
        """Return the stamps of which all required inputs are there, ascending [ns]."""
        joints, *others = self._required
        matched = joints.stamps()
        for stream in others:
            matched = [s for s in matched if stream.keeps(s)]
        return matched

    def unmatched(self) -> list[str]:
        """Return the required inputs without a value of the newest joint state's stamp."""
        stamps = self._joints.stamps()
        if not stamps:
            return [self._joints.name]
        return [stream.name for stream in self._required if stream.get(stamps[-1]) is None]

    def joints(self, stamp_ns: int) -> JointSample:
        """Return the joint state of a matched stamp [ns]."""
        joints = self._joints.get(stamp_ns)
        assert joints is not None
        return joints

    def base(self, stamp_ns: int) -> BaseMotion | None:
        """Return the motion of the base at a matched stamp [ns]; None for a fixed base."""
        if not self._floating:
            return None
        orientation, state = self._orientation.get(stamp_ns), self._base.get(stamp_ns)
        assert orientation is not None
        assert state is not None
        return BaseMotion(orientation.quaternion_xyzw, state.v_WB_B, state.w_WB_B)

    def normal_forces(self, stamp_ns: int) -> list[float | None]:
        """Return the newest normal force of each contact before a stamp [N].

        Args:
            stamp_ns: The stamp [ns].

        Returns:
            One for each contact; None where the newest is too old to show a touchdown.
        """
        return [wrenches.force_before(stamp_ns) for wrenches in self.wrenches.values()]

    def forget_until(self, stamp_ns: int) -> None:
        """Drop what belongs to stamps up to this one [ns]."""
        for stream in self._required:
            stream.forget_until(stamp_ns)
