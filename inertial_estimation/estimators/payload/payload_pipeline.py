"""Everything between raw readings and the trunk's inertia; node, replay and experiments use this object."""

from dataclasses import replace

from inertial_estimation.errors import ConfigurationError, MeasurementError, listing
from inertial_estimation.estimators.inputs.alignment import AlignedSample
from inertial_estimation.estimators.inputs.rows import JOINTS
from inertial_estimation.estimators.inputs.stepper import Stepper
from inertial_estimation.estimators.payload.durations import has_lasted
from inertial_estimation.estimators.payload.identification import Identification
from inertial_estimation.estimators.payload.identification_context import TrunkObservation
from inertial_estimation.estimators.payload.method_choice import check_method
from inertial_estimation.estimators.payload.payload_config import TrunkPayloadConfig
from inertial_estimation.estimators.payload.payload_estimate import LoadChange, PayloadEstimate
from inertial_estimation.estimators.payload.payload_health import payload_health
from inertial_estimation.estimators.payload.payload_inputs import MeanState, PayloadInputs
from inertial_estimation.estimators.payload.rest_detector import RestDetector
from inertial_estimation.estimators.payload.trunk_measurer import FEWEST_FEET, TrunkMeasurer
from inertial_estimation.estimators.payload.trunk_publisher import TrunkPublisher
from inertial_estimation.models.robot_config import ContactFrames, robot_from_config
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.trunk_statics import TrunkStatics
from inertial_estimation.parameters import replace_runtime_value
from inertial_estimation.signals import BaseState, Health, ImuSample, JointReading, WrenchSample, seconds

__all__ = ["TrunkPayloadPipeline"]

LOOK_SHARE = 0.25  # of the window, from one look at the trunk to the next
LONGEST_LOOK = 0.02  # [s]


class TrunkPayloadPipeline:
    """Trunk mass and centre of mass of a legged robot, identified at rest.

    Attributes:
        config: The parameters in force.
        robot: The robot.
        trunk: Name of the trunk's link.
        identification: Phases and values, to inspect.
        gauge: The last look at the trunk, to inspect.
    """

    def __init__(self, config: TrunkPayloadConfig, urdf: str) -> None:
        """Build from parameters and a robot description.

        Args:
            config: The parameters.
            urdf: Text of the URDF.

        Raises:
            ConfigurationError: If the robot has no two contacts, its base is fixed, the trunk is no link of
                the base, or the legs have too few joints to tell their forces.
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
        self._contact_names = setup.contact_names
        statics = TrunkStatics(self.robot, contacts, self.trunk, config.ground_forces)
        self.gauge = TrunkMeasurer(config, statics)
        self._inputs = PayloadInputs(config, setup, _leg_joints(self.robot, contacts))
        self._stepper: Stepper[PayloadEstimate] = Stepper(
            self._inputs.aligner, on_step=self._step, on_gap=self._resume, on_restart=self._forget
        )
        self._rest = RestDetector(config.rest, self.robot.joint_names)
        self._publisher = TrunkPublisher(self.robot, self.trunk, config.hand_over_rate)
        nominal = self._publisher.nominal
        self.identification = Identification(config, nominal.mass, self._publisher.nominal_com_B)
        self._changes: dict[str, int] = {}
        self._untold: list[LoadChange] = []
        self._without_joints_ns: int | None = None
        self._longest_step = config.robot.inputs.max_gap
        self._without_ns: int | None = None  # last step with an input missing
        self._since_look = 0.0
        self._at_rest = False
        self._why_not = ""
        self._forget()

    def push_imu(self, sample: ImuSample) -> None:
        """Take an IMU reading, ignored where the robot has no IMU."""
        self._inputs.push_imu(sample)

    def push_joints(self, reading: JointReading) -> None:
        """Take a joint state, joints by name in any order; one that does not fit is dropped and counted."""
        self._inputs.push_joints(reading)

    def push_wrench(self, contact: str, sample: WrenchSample) -> None:
        """Take the wrench of a contact, ignored where the forces are estimated.

        Raises:
            MeasurementError: If there is no such contact.
        """
        if contact not in self._contact_names:
            raise MeasurementError(f"no contact '{contact}'; there are {listing(self._contact_names)}")
        self._inputs.push_wrench(contact, sample)

    def push_base_state(self, state: BaseState) -> None:
        """Take a base state."""
        self._inputs.push_base_state(state)

    def tick(self, now_ns: int) -> list[PayloadEstimate]:
        """Make every step whose inputs are complete.

        Args:
            now_ns: Time now on the clock of the stamps [ns]; decides only whether an input is stale, and how
                long the robot is held for it.

        Returns:
            The estimates since the last tick, in order of their stamps; none while an input is stale.
        """
        estimates = self._stepper.steps()
        missing = self._inputs.aligner.missing(now_ns)
        self._go_without_joints(now_ns if JOINTS in missing else None)
        if missing:
            self._untold += [estimate.change for estimate in estimates if estimate.change is not None]
            return []
        return [self._with_untold(estimate) for estimate in estimates]

    def _go_without_joints(self, now_ns: int | None) -> None:
        """Let the time pass that no joint state tells; None: they come."""
        if now_ns is not None and self._without_joints_ns is not None:
            self.identification.advance_without_input(seconds(now_ns - self._without_joints_ns))
        self._without_joints_ns = now_ns

    def _with_untold(self, estimate: PayloadEstimate) -> PayloadEstimate:
        """Add the oldest load change that was found while an input was stale."""
        if estimate.change is not None or not self._untold:
            return estimate
        return replace(estimate, change=self._untold.pop(0))

    def health(self, now_ns: int) -> list[Health]:
        """Say how inputs and identification are."""
        aligner = self._inputs.aligner
        entry = payload_health(
            self.identification,
            self.gauge,
            missing=aligner.missing(now_ns),
            trouble=self._inputs.trouble,
            at_rest=self._at_rest,
            why_not=self._why_not,
            changes=self._changes,
            velocity_source=self._inputs.velocity_source,
        )
        return [*aligner.health(now_ns), entry]

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
        self._inputs.clear()
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
        self.config = self.gauge.config = config
        self.identification.set_config(config)
        self._rest.config = config.rest
        self._publisher.set_rate(config.hand_over_rate)
        self._inputs.aligner.set_timeout(config.robot.inputs.timeout)

    def _forget(self) -> None:
        self._inputs.clear_window()
        self._lose_rest()
        self.gauge.reset()
        self._publisher.reset()
        self.identification.reset()
        self._changes.clear()
        self._untold.clear()
        self._without_ns = None

    def _step(self, sample: AlignedSample) -> PayloadEstimate | None:
        elapsed = self._stepper.elapsed(sample)
        if elapsed is not None and elapsed > self._longest_step:
            self._inputs.clear_window()
        state = self._inputs.state_at(sample)
        if state is None:
            self._lose_rest()
            if self._without_ns is not None:
                self.identification.advance_without_input(seconds(sample.time_ns - self._without_ns))
            self._without_ns = sample.time_ns
            return None
        self._without_ns = None
        dt = 1.0 / self.config.rate if elapsed is None else elapsed
        self._stepper.advance(sample)
        self._at_rest = self._rest.update(state, dt)
        self._since_look += dt
        due = has_lasted(self._since_look, min(LOOK_SHARE * self.config.rest.window, LONGEST_LOOK))
        change = self._look(sample.stamp_ns, state) if due else None
        return self._estimate(sample.stamp_ns, dt, change)

    def _look(self, stamp_ns: int, state: MeanState) -> LoadChange | None:
        """Look at the trunk: not in every step, as windows that overlap tell the same."""
        dt, self._since_look = self._since_look, 0.0
        reading = self.gauge.read(state) if self._at_rest else None
        self._why_not = "" if reading else self._rest.why_not or self.gauge.trouble
        moving_mass = None if self._at_rest else self.gauge.weigh(state)
        arrived = self._publisher.arrived
        observation = TrunkObservation(
            stamp_ns, dt, self._at_rest, reading, self._why_not, arrived, moving_mass
        )
        change = self.identification.update(observation)
        if change is not None:
            self._changes[change.kind] = self._changes.get(change.kind, 0) + 1
        return change

    def _resume(self) -> None:
        self._inputs.clear_window()
        self._lose_rest()
        self.identification.interrupt()

    def _lose_rest(self) -> None:
        """Begin to look for rest anew, without a window of readings."""
        self._rest.reset()
        self._at_rest = False
        self._why_not = "an input is missing, or its window is not full"
        self._stepper.interrupt()
        self._since_look = 0.0

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
            at_rest=self._at_rest,
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
