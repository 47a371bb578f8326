"""Identification of inertial parameters and friction from streamed measurements."""

import math
from collections.abc import Sequence

import numpy as np

from inertial_estimation.diagnosis.finding import in_words
from inertial_estimation.errors import (
    ConfigurationError,
    InconsistentInertiaError,
    InertialEstimationError,
    MeasurementError,
    listing,
)
from inertial_estimation.identification.data_set import DataSet
from inertial_estimation.identification.equation_stack import EquationStack
from inertial_estimation.identification.held_links import freed_unknowns, unknowns
from inertial_estimation.identification.identifiability import RANK_TOLERANCE, IdentifiableSpace
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.identification.identification_result import (
    HeldLinks,
    Identifiability,
    IdentificationReport,
    MethodResult,
)
from inertial_estimation.identification.method_evaluation import MethodEvaluation
from inertial_estimation.identification.methods import IdentificationMethod, method_named
from inertial_estimation.identification.priors import prior_factor, typical_deviations
from inertial_estimation.identification.row_block import RowBlock
from inertial_estimation.identification.row_stream import RowStream, check_base, row_models
from inertial_estimation.identification.signal_block import SignalBlock, finite_runs
from inertial_estimation.models.estimated_model import EstimatedLoad, EstimatedModel
from inertial_estimation.models.robot_config import ContactFrames, RobotSetup, robot_from_config
from inertial_estimation.signals import Array
from inertial_estimation.spatial.inertial_parameters import InertialParameters

WEIGHT_ITERATIONS = 4
SMALLEST_SHARE = 1e-8  # of measured and nominal rms: a floor for data without noise


def row_deviations(stack: EquationStack, typical: Array, weighting: str, pooled: bool) -> Array:
    """Return the standard deviation of the noise of each row name.

    The least-squares solution in the identifiable space and the rms of its residuals are computed
    alternately; the residuals of a well weighted fit are those of the noise.

    Args:
        stack: All rows.
        typical: Typical deviation of each unknown, shape (n,).
        weighting: "residual"; "none" gives all rows the same.
        pooled: Whether all rows share one level, as rows in an arbitrary null-space basis need.

    Returns:
        Shape (m,).
    """
    counts = np.maximum(stack.counts, 1)
    floor = _floor(stack)
    sigma = np.ones(len(counts))
    for _ in range(WEIGHT_ITERATIONS if weighting == "residual" and not pooled else 1):
        equation = stack.reduced(sigma)
        space = IdentifiableSpace.of(equation, typical)
        squares = stack.residual_squares(space.minimum(equation))
        used = min(space.rank * stack.correlation / max(stack.rows, 1), 0.9)  # share of the fit
        if weighting == "none" or pooled:
            return np.full(len(counts), max(np.sqrt(squares.sum() / max(stack.rows, 1) / (1 - used)), floor))
        sigma = np.maximum(np.sqrt(squares / counts / (1.0 - used)), floor)
        sigma[stack.counts == 0] = sigma.max()  # row names that only the validation data may have
    return sigma


def mean_row_deviations(stack: EquationStack, weighting: str, pooled: bool) -> Array:
    """Return the standard deviation of the mean row of each name, of a robot at rest.

    With one mean row per name the noise cannot be determined from residuals of a fit; the scatter of the
    rows about their mean is used instead.

    Args:
        stack: All rows.
        weighting: As in `row_deviations`.
        pooled: As in `row_deviations`.

    Returns:
        Shape (m,).
    """
    sigma = np.maximum(stack.mean_deviations(), _floor(stack))
    if weighting == "none" or pooled:
        return np.full(len(sigma), np.sqrt(np.mean(sigma[stack.counts > 0] ** 2)))
    sigma[stack.counts == 0] = sigma.max()
    return sigma


def _floor(stack: EquationStack) -> float:
    """Lower bound of the noise level, since data without noise have zero residuals."""
    counts = np.maximum(stack.counts, 1)
    nominal = stack.residual_squares(np.zeros(stack.unknowns))
    size = float(np.sqrt((stack.measured_squares() + nominal) / counts).max())
    return SMALLEST_SHARE * (size or 1.0)


ASYMMETRY_TOLERANCE = 0.01  # share of the larger parameter by which mirrored links may differ
REST_TOLERANCE = 1e-2  # rank tolerance for a robot at rest, whose only motion is noise


class Identifier:
    """Converts streamed measurements to rows and solves them by the requested methods.

    The memory does not grow with the recording, since rows are reduced to triangular factors in chunks.

    Attributes:
        robot: The robot.
        contacts: Contacts whose wrenches the blocks must carry, in this order.
        need_velocity: Whether the blocks must carry joint velocities.
        need_effort: Whether the blocks must carry joint torques.
        sensed: The robot with the IMU and the contacts whose readings the blocks must carry.
        parameters: The unknowns and their relation to the standard parameters.
        row_names: Names of the rows.
    """

    def __init__(self, config: IdentificationConfig, urdf: str) -> None:
        """Resolve every name against the robot.

        Args:
            config: Parameters of the identification.
            urdf: Text of the URDF.

        Raises:
            ConfigurationError: If the configuration does not fit the robot.
            ~inertial_estimation.errors.ModelError: If a joint, link or frame does not exist.
            InconsistentInertiaError: If an identified body has no mass.
        """
        self._config, self._urdf = config, urdf
        setup = robot_from_config(config.robot, urdf)
        self.robot, contacts = setup.robot, setup.contacts
        robot, rows = self.robot, config.rows
        selection = rows.selection()
        self.contacts: tuple[ContactFrames, ...] = contacts if selection.contacts.senses else ()
        self.sensed = RobotSetup(robot, self.contacts, setup.imu if robot.floating_base else None)
        self.need_effort = bool(rows.torque_rows)
        self.need_velocity = config.smoothing.differentiate == "velocity"
        check_base(config, robot, setup.imu)
        self.parameters = unknowns(config, robot)
        self._models = row_models(config, setup, self.parameters)
        self.row_names = self._models.row_names
        self._freed = freed_unknowns(config, robot, self.parameters)
        freed = row_models(config, setup, self._freed.parameters) if self._freed else None
        self._training, self._validation = (
            DataSet(self._models, setup, further) for further in (freed, None)
        )
        self._typical = typical_deviations(self.parameters, config.methods)

    def push(self, block: SignalBlock, *, unloaded: bool = False) -> None:
        """Add data to the fit.

        Args:
            block: The signals.
            unloaded: Whether the robot does not carry the load that is identified.

        Raises:
            ConfigurationError: If data without a load are given, but no load is identified.
            MeasurementError: If a signal is missing or of another shape.
        """
        self._check_load(unloaded)
        self._training.push(block, unloaded=unloaded)

    def push_validation(self, block: SignalBlock, *, unloaded: bool = False) -> None:
        """Add data to the validation; arguments and errors are those of `push`."""
        self._check_load(unloaded)
        self._validation.push(block, unloaded=unloaded)

    def rows(self, block: SignalBlock) -> RowBlock:
        """Return the rows of one stretch of data, for figures; the fit does not change.

        Raises:
            MeasurementError: If the stretch is too short for a row.
        """
        stream = RowStream(self._models.loaded)
        made = [rows for part in finite_runs(block) for rows in stream.push(part)]
        if not made:
            raise MeasurementError(
                f"{block.size * block.step_s:.3g} s of data give no row, expected {stream.shortest_s:.3g} s"
            )
        return RowBlock.joined(made)

    def report(self, methods: Sequence[str], chosen: str = "") -> IdentificationReport:
        """Solve the equations of all data pushed so far.

        Args:
            methods: Names of methods, in the order of the report.
            chosen: The method whose result is written; empty selects the first.

        Raises:
            ConfigurationError: If a method does not exist or none is given.
            MeasurementError: If there are no rows, or fewer equations than unknowns and the chosen method has
                no prior.
            InertialEstimationError: If the chosen method's solver fails or is not installed; a failure of
                another method only adds a warning.
        """
        solvers = [method_named(name) for name in methods]
        chosen = chosen or (methods[0] if methods else "")
        if chosen not in methods:
            raise ConfigurationError(f"the method '{chosen}' to write is none of {listing(methods)}")
        stack, at_rest = self._equations()
        prior = prior_factor(self.parameters, self._config.methods)
        sigma, inflation = self._noise(stack, prior, at_rest)
        equation = stack.reduced(sigma * np.sqrt(stack.correlation * inflation))
        tolerance = REST_TOLERANCE if at_rest else RANK_TOLERANCE
        space = IdentifiableSpace.of(equation, self._typical, tolerance)
        if at_rest:
            equation = space.restricted(equation)
        validation = self._validation.stack if self._validation.stack.rows else None
        evaluation = MethodEvaluation(
            self.parameters, space, space.minimum(equation), sigma, stack, validation
        )
        results: dict[str, MethodResult] = {}
        unanswered = []
        for solver in solvers:
            try:
                _check_counts(stack, solver)
                solution = solver.solve(equation, self.parameters, self._config.methods)
            except InertialEstimationError as error:
                if solver.name == chosen:
                    raise
                unanswered.append(f"method '{solver.name}' has no answer: {error}")
            else:
                results[solver.name] = evaluation.result(solver, solution)
        return IdentificationReport(
            rank=space.rank,
            unknowns=stack.unknowns,
            condition=space.condition,
            singular_values=space.singular_values,
            row_names=self.row_names,
            row_sigma=sigma,
            training=self._training.statistics.summary(self._training.stack),
            validation=self._validation.statistics.summary(validation) if validation else None,
            methods=results,
            chosen=chosen,
            warnings=(*self._warnings(stack, space, at_rest), *unanswered),
            cost_least_squares=math.nan if at_rest else evaluation.least_cost(),
            unloaded=self._training.unloaded,
            inflation=inflation,
            held=self._held(None if at_rest else stack, space, sigma),
        )

    def urdf(self, result: MethodResult) -> str:
        """Return the URDF with the identified bodies in place, and with the load as a link of its own.

        Raises:
            InconsistentInertiaError: If a body is physically inconsistent; the message names all such bodies.
        """
        load = result.payload
        found = [(body.link, body.violations) for body in result.bodies]
        found += [(load.name, load.violations)] if load else []
        bad = [f"{name} ({'; '.join(violations)})" for name, violations in found if violations]
        if bad:
            raise InconsistentInertiaError(
                f"'{result.method}' gives physically inconsistent bodies, which simulators reject: "
                f"{listing(bad)}; use the method 'consistent'"
            )
        return self.model(result).estimated_urdf()

    def model(self, result: MethodResult) -> EstimatedModel:
        """Return a result with what is known of its bodies, to be written and drawn from.

        Args:
            result: Result of one method.
        """
        load, robot = result.payload, self._config.robot
        inertias = [body.inertia for body in result.bodies] + ([load.inertia] if load else [])
        return EstimatedModel(
            urdf=self._urdf,
            floating_base=self.robot.floating_base,
            locked_joints=tuple(robot.locked_joints),
            links=tuple(body.link for body in result.bodies),
            estimate=np.array([inertia.vector for inertia in inertias]),
            posterior=result.posterior,
            without="" if result.posterior else f"the method '{result.method}' has none; use 'consistent'",
            load=EstimatedLoad(load.link, load.name) if load else None,
        )

    def _check_load(self, unloaded: bool) -> None:
        if unloaded and not self.parameters.payload:
            raise ConfigurationError("data without a load are given, but 'payload.link' names no link of one")

    def _equations(self) -> tuple[EquationStack, bool]:
        data = self._training
        if not data.stack.rows:
            raise MeasurementError(
                f"{data.statistics.duration_s:.3g} s of data give no row; expected stretches without gaps of "
                f"{data.shortest_s:.3g} s or more, and joints faster than the stiction speed"
            )
        at_rest = data.statistics.at_rest
        if at_rest and data.unloaded:
            raise MeasurementError(
                "the robot stands still with and without its load; one posture does not tell a load from the "
                "error of the description: record a motion"
            )
        return (data.stack.mean_rows() if at_rest else data.stack), at_rest

    def _noise(self, stack: EquationStack, prior: Array, at_rest: bool) -> tuple[Array, float]:
        """Return the noise level of each row and the inflation of variances by correlated residuals."""
        weighting, pooled = self._config.weighting, self._config.rows.selection().contacts.projects
        if at_rest:
            return mean_row_deviations(self._training.stack, weighting, pooled), 1.0
        sigma = row_deviations(stack, self._typical, weighting, pooled)
        correlated = sigma * np.sqrt(stack.correlation)
        return sigma, self._training.scatter.inflation(correlated, stack.reduced(correlated), prior)

    def _held(self, stack: EquationStack | None, space: IdentifiableSpace, sigma: Array) -> HeldLinks | None:
        return self._freed.held(stack, self._training.freed, space, sigma) if self._freed else None

    def _warnings(self, stack: EquationStack, space: IdentifiableSpace, at_rest: bool) -> list[str]:
        verdicts = zip(self.parameters.names, space.verdicts(self.parameters.E), strict=True)
        silent = [name for name, verdict in verdicts if verdict is Identifiability.NOT]
        found = in_words(self._training.findings(self._config.robot))
        constant = self._training.statistics.constant_joints
        if at_rest:
            found.append(
                f"the robot stands still: one posture gives {stack.rows} equations for {stack.unknowns} "
                f"unknowns, {space.rank} of them independent; these stay nominal: {', '.join(silent)}"
            )
        elif constant:
            found.append(f"joints that do not move: {listing(constant)}")
        if stack.rows < 2 * stack.unknowns and not at_rest:
            found.append(f"only {stack.rows} equations for {stack.unknowns} unknowns")
        made_up = [
            body.link
            for body in self.parameters.bodies
            if InertialParameters.from_pinocchio(self.robot.model.inertias[body.joint_id]).violations()
        ]
        if made_up:
            found.append(
                f"the description gives impossible inertias, raised to possible ones: {listing(made_up)}"
            )
        if self.parameters.asymmetry > ASYMMETRY_TOLERANCE:
            found.append(
                f"mirrored links differ by up to {100 * self.parameters.asymmetry:.2g} % in the description; "
                "their mean is taken as nominal"
            )
        return found


def _check_counts(stack: EquationStack, solver: IdentificationMethod) -> None:
    if stack.rows < stack.unknowns and not solver.has_prior:
        raise MeasurementError(
            f"{stack.rows} equations for {stack.unknowns} unknowns; '{solver.name}' cannot tell them apart: "
            "record more motion, identify fewer links, or take a method with a prior"
        )
