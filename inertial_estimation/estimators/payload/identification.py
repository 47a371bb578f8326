"""Identification of the trunk: a state machine that requests, load changes and lost inputs drive."""

from inertial_estimation.estimators.payload.asked_posture import AskedPosture
from inertial_estimation.estimators.payload.identification_context import (
    IdentificationContext,
    TrunkObservation,
)
from inertial_estimation.estimators.payload.identification_phases import PhaseState, Settling, Watching
from inertial_estimation.estimators.payload.identified_trunk import IdentifiedTrunk
from inertial_estimation.estimators.payload.method_choice import MethodFactory, make_method
from inertial_estimation.estimators.payload.payload_config import TrunkPayloadConfig
from inertial_estimation.estimators.payload.payload_estimate import LoadChange, Phase
from inertial_estimation.signals import Array, BaseReference

MOST_RESTARTS = 10  # a load that goes on changing, or inputs that go on failing, must not hold the robot


class Identification:
    """Runs the phases of an identification, one observation after the other.

    Attributes:
        trunk: Estimated, published and expected trunk.
    """

    def __init__(
        self,
        config: TrunkPayloadConfig,
        mass: float,
        com_B: Array,
        size: float,
        make_method: MethodFactory = make_method,
    ) -> None:
        """Begin with the nominal trunk.

        Args:
            config: The parameters.
            mass: Nominal mass of the trunk [kg].
            com_B: Its centre of mass in the base frame [m], shape (3,).
            size: Its radius of gyration [m].
            make_method: Makes a method for the centre of mass by name.
        """
        self.trunk = IdentifiedTrunk(config.load_change, mass, com_B, size)
        self._context = IdentificationContext(config, make_method, self.trunk, AskedPosture(), config.method)
        self._state: PhaseState = Watching(self._context)
        self._restarts = 0

    def reset(self) -> None:
        """Return to the nominal trunk and watch; after a requested tilt, request the earlier posture."""
        context = self._context
        context.method = context.config.method
        context.converged, context.refusal = False, ""
        context.posture.reset()
        self.trunk.reset()
        self._state = Watching(context)

    def set_config(self, config: TrunkPayloadConfig) -> None:
        """Take other parameters; those of a method count from its next start."""
        self._context.config = config
        self.trunk.load_changes.config = config.load_change

    @property
    def phase(self) -> Phase:
        """The phase under way."""
        return self._state.phase

    @property
    def method(self) -> str:
        """Name of the method under way, or of the last one."""
        return self._context.method

    @property
    def converged(self) -> bool:
        """Whether the last identification came to its end."""
        return self._context.converged

    @property
    def refusal(self) -> str:
        """Why the last identification was given up; empty if it was not."""
        return self._context.refusal

    @property
    def reference(self) -> BaseReference | None:
        """Requested posture of the base; None without a request."""
        return self._context.posture.reference

    @property
    def hold(self) -> bool:
        """Whether the robot is requested to stand still."""
        return self.phase is not Phase.WATCHING

    @property
    def identifying(self) -> bool:
        """Whether a result is still to come."""
        return self._state.identifying

    def start(self, method: str = "") -> None:
        """Begin, or begin anew.

        Args:
            method: Name of the method; empty: the configured one.
        """
        self._restarts = 0
        if not self.identifying:
            self.trunk.keep_value()
            self.trunk.keep_expectation()
        self._begin(method or self._context.config.method)

    def cancel(self) -> None:
        """Give up; the trunk in force before stays."""
        if self.identifying:
            self._state = self._state.give_up("")

    def interrupt(self) -> None:
        """Settle anew, as after a gap in the data."""
        self.trunk.load_changes.forget_evidence()
        if self.identifying:
            self._begin_anew("inputs were lost")

    def advance_without_input(self, dt: float) -> None:
        """Let time pass in which an input is missing; the robot is held at most `rest.timeout` for it.

        Args:
            dt: That time [s].
        """
        self._state = self._state.advance_without_input(dt)

    def update(self, observation: TrunkObservation) -> LoadChange | None:
        """Take the next observation.

        Args:
            observation: State of the robot and its trunk.

        Returns:
            A load change, in the step in which it is found.
        """
        if observation.doubtful and self.identifying and self.phase is not Phase.SETTLING:
            self._begin_anew("a sensor was at fault")
        self._state = self._state.update(observation)
        change = self._state.load_change(observation)
        if change is not None:
            self._react(at_rest=observation.reading is not None)
        elif self._state.contradicted and self._context.config.start == "on_change":
            self.trunk.fall_back()
            self._begin_anew("later readings contradict the result")
        elif self._context.put_off and observation.reading is not None and not observation.doubtful:
            self._begin_anew("a sensor was at fault")
        return change

    def _react(self, *, at_rest: bool) -> None:
        """React to a load change."""
        if self._state.invalidated_by_load_change:
            if not self.identifying:
                self.trunk.keep_value()
            self.trunk.keep_expectation()
            self._begin_anew("the load changed")
        elif at_rest and self.trunk.load_changes.unidentified is None:
            self._context.refusal = ""  # the trunk in force is right again
        elif self._context.config.start == "on_change":
            self.start()

    def _begin_anew(self, cause: str) -> None:
        self._restarts += 1
        if self._restarts > MOST_RESTARTS:
            self._state = self._state.give_up(
                f"begun anew {MOST_RESTARTS} times without a result, the last time because {cause}"
            )
        else:
            self._begin(self.method)

    def _begin(self, method: str) -> None:
        context = self._context
        context.method, context.converged, context.refusal, context.passes = method, False, "", 0
        context.put_off = False
        context.posture.ask_back()
        self.trunk.discard_estimate()
        self.trunk.load_changes.forget_evidence()
        self._state = Settling(context)
