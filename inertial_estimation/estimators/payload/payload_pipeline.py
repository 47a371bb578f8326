"""Everything between raw readings and the trunk's inertia; node, replay and experiments use this object."""

import numpy as np

from inertial_estimation.diagnosis.live import LiveChecks
from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.estimators.payload.identification import Identification
from inertial_estimation.estimators.payload.load_change_log import LoadChangeLog
from inertial_estimation.estimators.payload.method_choice import check_method
from inertial_estimation.estimators.payload.payload_config import TrunkPayloadConfig
from inertial_estimation.estimators.payload.payload_defect import PayloadCheck
from inertial_estimation.estimators.payload.payload_estimate import LoadChange, PayloadEstimate
from inertial_estimation.estimators.payload.payload_health import payload_health
from inertial_estimation.estimators.payload.payload_inputs import PayloadWindow, payload_inputs
from inertial_estimation.estimators.payload.rest_detector import RestDetector
from inertial_estimation.estimators.payload.trunk_measurer import FEWEST_FEET, TrunkMeasurer
from inertial_estimation.estimators.payload.trunk_observer import TrunkObserver
from inertial_estimation.estimators.payload.trunk_publisher import TrunkPublisher
from inertial_estimation.inputs.alignment import AlignedSample
from inertial_estimation.inputs.joints import JOINTS
from inertial_estimation.inputs.robot_inputs import BASE_STATE, TakesReadings
from inertial_estimation.inputs.stepper import Stepper
from inertial_estimation.models.robot_config import ContactFrames, robot_from_config
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.trunk_statics import TrunkStatics
from inertial_estimation.parameters import replace_runtime_value
from inertial_estimation.signals import (
    BaseState,
    Health,
    seconds,
)


class TrunkPayloadPipeline(TakesReadings):
    """Trunk mass and centre of mass of a legged robot, identified at rest.

    Attributes:
        config: The parameters in force.
        robot: The robot.
        trunk: Name of the trunk's link.
        identification: Phases and values, to inspect.
        observer: Rest and the last measurement of the trunk, to inspect.
        inputs: What takes the readings, as values or as messages.
        checks: Checks of the data against the description.
    """

    def __init__(self, config: TrunkPayloadConfig, urdf: str) -> None:
        """Build from parameters and a robot description.

        Args:
            config: The parameters.
            urdf: Text of the URDF.

        Raises:
            ConfigurationError: If the robot has no two contacts, its base is fixed, the trunk is no link of
                the base, or the legs have too few joints to determine their forces.
            ~inertial_estimation.errors.ModelError: If a joint, link or frame does not exist.
        """
        self.config = config
        setup = robot_from_config(config.robot, urdf)
        self.robot, contacts = setup.robot, setup.contacts
        self.trunk = config.trunk or self.robot.base_link
        if len(contacts) < FEWEST_FEET:
            raise ConfigurationError(
                f"'contacts' names {len(contacts)} ({listing(config.robot.contacts)}), expected "
                f"{FEWEST_FEET} or more feet to stand on"
            )
        statics = TrunkStatics(self.robot, contacts, self.trunk, config.ground_forces)
        rest = RestDetector(config.rest, self.robot.joint_names)
        self.observer = TrunkObserver(rest, TrunkMeasurer(config, statics))
        self.inputs = payload_inputs(config, setup, _leg_joints(self.robot, contacts))
        self._window = PayloadWindow(config, setup, self.inputs)
        self.inputs.reduce = self._window.faults
        self.checks = LiveChecks(setup, config.robot, self.inputs)
        self._changes = LoadChangeLog()
        self._stepper: Stepper[PayloadEstimate] = Stepper(
            self.inputs,
            on_step=self._step,
            on_gap=self._resume,
            on_restart=self._forget,
            on_failure=self._recover,
            defect=PayloadCheck().defect,
            on_withheld=self._changes.keep,
        )
        self._publisher = TrunkPublisher(self.robot, self.trunk, config.hand_over_rate)
        publisher = self._publisher
        self.identification = Identification(
            config, publisher.nominal.mass, publisher.nominal_com_B, publisher.nominal_size
        )
        self._without_joints_ns: int | None = None
        self._last_ns: int | None = None  # last step with a full window
        self._without_ns: int | None = None  # last step with an input missing

    def push_base_state(self, state: BaseState) -> None:
        """Take a base state."""
        self.inputs.push_orientation(BASE_STATE, state)

    def tick(self, now_ns: int) -> list[PayloadEstimate]:
        """Make every step whose inputs are complete.

        Args:
            now_ns: Time now on the clock of the stamps [ns]; decides only what is too old, and how long the
                robot is held for a missing input.

        Returns:
            The estimates since the last tick, in order of their stamps. Steps that lack an input have none.
        """
        estimates = [self._changes.completed(estimate) for estimate in self._stepper.tick(now_ns)]
        missing = not estimates and JOINTS in self.inputs.aligner.missing(now_ns)
        self._advance_without_joints(now_ns if missing else None)
        return estimates

    def _advance_without_joints(self, now_ns: int | None) -> None:
        """Let time pass while joint states are missing [ns]; None: they arrive."""
        if now_ns is not None and self._without_joints_ns is not None:
            passed = max(now_ns - self._without_joints_ns, 0)
            self.identification.advance_without_input(seconds(passed))
        self._without_joints_ns = now_ns

    def health(self, now_ns: int) -> list[Health]:
        """Say how inputs and identification are."""
        inputs, missing = self.inputs.health(now_ns), self.inputs.aligner.missing(now_ns)
        joints = self.inputs.joints
        of_joints = next(entry for entry in inputs if entry.name == JOINTS)
        assert joints is not None
        entry = payload_health(
            self.identification,
            self.observer.measurer,
            missing=missing,
            trouble=of_joints.message if JOINTS in missing else "",
            at_rest=self.observer.at_rest,
            why_not=self.observer.why_not,
            changes=self._changes.counts,
            velocity_source=joints.velocity_source,
            failures="; ".join(filter(None, (self._window.axes.note, self._stepper.health_note(now_ns)))),
        )
        return [*inputs, self.checks.health(), entry]

    def identify(self, method: str = "") -> str:
        """Begin an identification; returns what happens next, as a sentence.

        Args:
            method: Its name; empty: as configured.

        Raises:
            ConfigurationError: If there is no such method.
        """
        again = "anew " if self.identification.identifying else ""
        self.identification.start(check_method(method) if method else "")
        return (
            f"identification by '{self.identification.method}' begins {again}as soon as the robot is at rest "
            f"on {FEWEST_FEET} or more feet, given up after {self.config.rest.timeout:g} s without rest"
        )

    def cancel(self) -> None:
        """Give up the identification under way; what was in force before stays."""
        self.identification.cancel()

    def reset(self) -> None:
        """Return to the nominal trunk and drop all buffered readings."""
        self._stepper.clear()
        self._changes.reset()
        self._forget()

    def set_parameter(self, name: str, value: object) -> None:
        """Change a parameter that may change while running.

        Args:
            name: Dotted name.
            value: New value; that of a method takes effect at the next identification.

        Raises:
            ConfigurationError: If it does not exist, is fixed at construction, or is out of bounds.
        """
        config = replace_runtime_value(self.config, name, value)
        self.config = config
        self.observer.set_config(config)
        self.identification.set_config(config)
        self._publisher.set_rate(config.hand_over_rate)
        self.inputs.aligner.timeout = config.robot.inputs.timeout

    def _forget(self) -> None:
        self._window.clear()
        self.observer.reset()
        self._last_ns = None
        self._publisher.reset()
        self.identification.reset()
        self._without_ns = None

    def _step(self, sample: AlignedSample) -> PayloadEstimate | None:
        elapsed = None if self._last_ns is None else seconds(sample.time_ns - self._last_ns)
        if elapsed is not None and elapsed > self.config.robot.inputs.max_gap:
            self._window.clear()
        state = self._window.state_at(sample)
        if state is None:
            self._lose_window()
            if self._without_ns is not None:
                self.identification.advance_without_input(seconds(sample.time_ns - self._without_ns))
            self._without_ns = sample.time_ns
            return None
        self._without_ns = None
        dt = 1.0 / self.config.rate if elapsed is None else elapsed
        self._last_ns = sample.time_ns
        observation = self.observer.update(
            sample.stamp_ns,
            state,
            dt,
            arrived=self._publisher.arrived,
            doubtful=self._window.doubtful(sample),
        )
        change = None if observation is None else self.identification.update(observation)
        self._changes.count(change)
        return self._estimate(sample.stamp_ns, dt, change)

    def _lose_window(self) -> None:
        """Restart the detection of rest with an empty window of readings."""
        self.observer.lose_window()
        self._last_ns = None

    def _resume(self) -> None:
        self._without_ns = None
        self._window.clear()
        self._lose_window()
        self.identification.interrupt()

    def _recover(self) -> None:
        """Continue after a failed step with the trunk in force, or the nominal one if that is not finite."""
        value = self.identification.trunk.value
        if np.isfinite([value.mass, *value.com_B.tolist()]).all():
            self._resume()
        else:
            self._forget()

    def _estimate(self, stamp_ns: int, dt: float, change: LoadChange | None) -> PayloadEstimate:
        identification = self.identification
        value = identification.trunk.value
        trunk = self._publisher.publish(identification.trunk.target, dt)
        estimate, payload = self._publisher.report(value)
        return PayloadEstimate(
            stamp_ns=stamp_ns,
            trunk=trunk,
            estimate=estimate,
            payload=payload,
            phase=identification.phase,
            method=identification.method,
            at_rest=self.observer.at_rest,
            mass_sigma=value.mass_sigma,
            com_sigma_B=value.com_sigma_B,
            residual=value.residual,
            converged=identification.converged,
            hold=identification.hold,
            reference=identification.reference,
            change=change,
            refusal=identification.refusal,
        )


def _leg_joints(robot: RobotModel, contacts: tuple[ContactFrames, ...]) -> tuple[int, ...]:
    """Return the joints between the base and any contact, by their positions in the robot's order."""
    supporting: set[str] = set()
    for contact in contacts:
        joint = robot.model.frames[robot.frame_id(contact.frame)].parentJoint
        supporting |= {robot.model.names[j] for j in robot.model.supports[joint]}
    return tuple(j for j, name in enumerate(robot.joint_names) if name in supporting)
