"""Pipeline from raw readings to the inertia of the trunk, for node, replay and experiments."""

from dataclasses import replace

import numpy as np

from inertial_estimation.diagnosis.live import LiveChecks
from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.inputs.alignment import AlignedSample, Steps
from inertial_estimation.inputs.joints import JOINTS, JointNeeds
from inertial_estimation.inputs.robot_inputs import BASE_STATE, RobotInputs
from inertial_estimation.inputs.sensors import ContactSource
from inertial_estimation.models.robot_config import robot_from_config
from inertial_estimation.payload.com_methods import PATIENCE_S
from inertial_estimation.payload.config import METHODS, TrunkPayloadConfig
from inertial_estimation.payload.estimate import LoadChange, PayloadEstimate
from inertial_estimation.payload.identification import Identification
from inertial_estimation.payload.report import payload_health
from inertial_estimation.payload.rest import WINDOW_S, MeanState, StateWindow, has_lasted
from inertial_estimation.payload.statics import FEWEST_FEET, TrunkMeasurer, TrunkObservation, TrunkStatics
from inertial_estimation.payload.trunk import IdentifiedTrunk, TrunkPublisher
from inertial_estimation.pipeline import Stepper, TakesReadings
from inertial_estimation.signals import BaseState, Health, seconds

OBSERVATION_S = 0.25 * WINDOW_S  # time between observations; their windows overlap and share data


class TrunkPayloadPipeline(TakesReadings):
    """Trunk mass and centre of mass of a legged robot, identified at rest.

    Attributes:
        config: The parameters in force.
        robot: The robot.
        trunk: Name of the trunk's link.
        identification: Phases and values of the identification.
        inputs: Inputs of the pipeline, which take readings as values or as messages.
        checks: Checks of the data against the description.
    """

    def __init__(self, config: TrunkPayloadConfig, urdf: str) -> None:
        """Build from parameters and the text of a URDF.

        Raises:
            ConfigurationError: If the robot has fewer than two contacts, its base is fixed, the trunk is not
                fixed to the base, or the legs have too few joints to determine their forces.
            ~inertial_estimation.errors.ModelError: If a joint, link or frame does not exist.
        """
        self.config = config
        setup = replace(robot_from_config(config.robot, urdf), imu=None)  # rest is detected without an IMU
        self.robot, contacts = setup.robot, setup.contacts
        self.trunk = config.trunk or self.robot.base_link
        if len(contacts) < FEWEST_FEET:
            raise ConfigurationError(
                f"'contacts' names {len(contacts)} ({listing(config.robot.contacts)}), expected "
                f"{FEWEST_FEET} or more feet to stand on"
            )
        statics = TrunkStatics(self.robot, contacts, self.trunk, config.ground_forces)
        estimated = statics.estimates_forces
        self.inputs = RobotInputs(
            setup,
            config.robot,
            Steps(JOINTS, config.rate),
            JointNeeds(efforts=statics.leg_joints if estimated else False),
            sources={} if estimated else dict.fromkeys(setup.contact_names, ContactSource.WRENCH),
            base_state=True,
        )
        self._window = StateWindow(setup, self.inputs)
        self._measurer = TrunkMeasurer(statics)
        self.checks = LiveChecks(setup, config.robot, self.inputs)
        publisher = self._publisher = TrunkPublisher(self.robot, self.trunk)
        trunk = IdentifiedTrunk(publisher.nominal, publisher.size, publisher.nominal, publisher.nominal)
        self.identification = Identification(config, trunk, self.robot.total_mass)
        self._stepper: Stepper[PayloadEstimate] = Stepper(
            self.inputs,
            on_step=self._step,
            on_gap=self._resume,
            on_restart=self._forget,
            on_failure=self._recover,
            defect=lambda estimate: estimate.defect,
        )
        self._last_ns: int | None = None  # time of the last step with a full window
        self._since_observation = 0.0  # time since the last observation [s]
        self._without_ns: int | None = None  # time of the last step, or tick, without an input

    def push_base_state(self, state: BaseState) -> None:
        """Add an orientation and velocity of the base."""
        self.inputs.push(BASE_STATE, state)

    def tick(self, now_ns: int) -> list[PayloadEstimate]:
        """Execute every step whose inputs are complete; return their estimates in order of their stamps.

        Steps that lack an input give none. Estimates that are old at a time now [ns] are withheld.
        """
        estimates = self._stepper.tick(now_ns)
        if not estimates and JOINTS in self.inputs.aligner.missing(now_ns):
            self._pass_without_input(now_ns)
        return estimates

    def health(self, now_ns: int) -> list[Health]:
        """Report the state of inputs and identification."""
        inputs, missing = self.inputs.health(now_ns), self.inputs.aligner.missing(now_ns)
        troubles = {entry.name: entry.message for entry in inputs if entry.name == JOINTS}
        missing = [f"{name} ({troubles[name]})" if troubles.get(name) else name for name in missing]
        notes = filter(None, (self._window.axes.note, self._stepper.health_note(now_ns)))
        figures = {f"load changes: {kind}": str(n) for kind, n in self.identification.changes.items()}
        if self.inputs.joints is not None:
            figures["joint velocities"] = self.inputs.joints.velocity_source
        state = self.identification, self._measurer, self._window.rest.why_not
        return [*inputs, self.checks.health(), payload_health(*state, missing, "; ".join(notes), figures)]

    def identify(self, method: str = "") -> str:
        """Start an identification by a method (empty: as configured); return what happens next, in words.

        Raises:
            ConfigurationError: If there is no such method.
        """
        if method and method not in METHODS:
            raise ConfigurationError(f"no method '{method}', expected one of: {listing(METHODS)}")
        again = "anew " if self.identification.identifying else ""
        self.identification.start(method)
        return (
            f"identification by '{self.identification.method}' begins {again}as soon as the robot is at rest "
            f"on {FEWEST_FEET} or more feet, given up after {PATIENCE_S:g} s without rest"
        )

    def cancel(self) -> None:
        """Give up the identification under way; the trunk in force before it is kept."""
        self.identification.cancel()

    def reset(self) -> None:
        """Return to the nominal trunk and drop all buffered readings."""
        self._stepper.clear()
        self._forget()

    def _hand_on(self, config: TrunkPayloadConfig) -> None:
        """Pass a changed config on; another method takes effect at the next identification."""
        self.identification.set_config(config)

    def _step(self, sample: AlignedSample) -> PayloadEstimate | None:
        elapsed = None if self._last_ns is None else seconds(sample.time_ns - self._last_ns)
        if elapsed is not None and elapsed > self.config.robot.inputs.timeout:
            self._window.readings.clear()
        state = self._window.state_at(sample)
        if state is None:
            self._lose_rest()
            self._pass_without_input(sample.time_ns)
            return None
        self._without_ns, self._last_ns = None, sample.time_ns
        dt = 1.0 / self.config.rate if elapsed is None else elapsed
        at_rest, change = self._window.rest.update(state, dt), None
        self._since_observation += dt
        if has_lasted(self._since_observation, OBSERVATION_S):
            change = self.identification.update(self._observe(sample.stamp_ns, state, at_rest=at_rest))
            self._since_observation = 0.0
        return self._estimate(sample.stamp_ns, dt, change)

    def _observe(self, stamp_ns: int, state: MeanState, *, at_rest: bool) -> TrunkObservation:
        """Measure the trunk of a robot at rest, or only its mass if the robot moves."""
        dt, arrived = self._since_observation, self._publisher.arrived
        if not at_rest:
            weighed = self._measurer.weigh(state)
            return TrunkObservation(stamp_ns, dt, False, None, self._window.rest.why_not, arrived, weighed)
        reading = self._measurer.read(state)
        return TrunkObservation(stamp_ns, dt, True, reading, self._measurer.trouble, arrived)

    def _pass_without_input(self, now_ns: int) -> None:
        """Advance the identification by the time since the last step, or tick, without an input."""
        if self._without_ns is not None:
            self.identification.advance_without_input(seconds(max(now_ns - self._without_ns, 0)))
        self._without_ns = now_ns

    def _estimate(self, stamp_ns: int, dt: float, change: LoadChange | None) -> PayloadEstimate:
        identification, at_rest = self.identification, not self._window.rest.why_not
        value = identification.trunk.value
        trunk = self._publisher.publish(identification.trunk.target, dt)
        estimate, payload = self._publisher.report(value)
        ended, identification.ended = identification.ended, ""
        return PayloadEstimate(
            *(stamp_ns, trunk, estimate, payload, identification.phase, identification.method, at_rest),
            *(value.mass_sigma, value.com_sigma_B, value.residual, identification.converged),
            *(identification.hold, identification.posture.reference, change),
            *(identification.refusal, ended),
        )

    def _lose_rest(self) -> None:
        """Restart the detection of rest."""
        self._window.rest.reset()
        self._last_ns, self._since_observation = None, 0.0

    def _resume(self) -> None:
        """Continue with the trunk in force after a gap."""
        self._without_ns = None
        self._window.readings.clear()
        self._lose_rest()
        self.identification.interrupt()

    def _forget(self) -> None:
        self._resume()
        self._measurer.reset()
        self._publisher.reset()
        self.identification.reset()

    def _recover(self) -> None:
        """Continue after a failed step with the trunk in force, or the nominal one if that is not finite."""
        value = self.identification.trunk.value
        if np.isfinite([value.mass, *value.com_B.tolist()]).all():
            self._resume()
        else:
            self._forget()
