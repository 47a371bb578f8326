"""Identification of inertial parameters and friction from streamed measurements."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from inertial_estimation.diagnosis.diagnose import diagnose
from inertial_estimation.diagnosis.finding import Finding, in_words
from inertial_estimation.errors import (
    ConfigurationError,
    InconsistentInertiaError,
    InertialEstimationError,
    MeasurementError,
    listing,
)
from inertial_estimation.identification.equations import EquationStack
from inertial_estimation.identification.identifiability import IdentifiableSpace
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.identification.identification_result import (
    DataSummary,
    IdentificationReport,
    MethodEvaluation,
    MethodResult,
)
from inertial_estimation.identification.methods import (
    WITHOUT_PRIOR,
    method_named,
    prior_factor,
    typical_deviations,
)
from inertial_estimation.identification.parameter_set import held_links, parameter_set
from inertial_estimation.identification.rows import RowBlock, RowModel, SignalBlock, finite_runs
from inertial_estimation.inputs.config import RobotConfig
from inertial_estimation.inputs.joints import JOINTS
from inertial_estimation.inputs.robot_streams import CHECKED_S, StreamCollector
from inertial_estimation.inputs.sensors import IMU
from inertial_estimation.models.estimated_model import EstimatedLoad, EstimatedModel
from inertial_estimation.models.robot_config import RobotSetup, robot_from_config
from inertial_estimation.signals import Array
from inertial_estimation.spatial.inertial_parameters import InertialParameters

CONSTANT_RANGE = 0.02  # a joint whose positions stay within this range does not move [rad, m]


class DataSet:
    """Rows and statistics of the data pushed so far, of the robot with and without a load.

    Attributes:
        stack: The rows.
        unloaded: Whether data of the robot without the load are among them.
        samples: Number of finite samples.
        duration_s: Their time span without gaps [s].
        shortest_s: Length of the shortest segment that gives a row [s], 0 before the first one.
    """

    def __init__(self, model: RowModel, setup: RobotSetup) -> None:
        self._model, self._streams = model, StreamCollector(setup, CHECKED_S)
        self.stack = EquationStack(model.row_names, len(model.parameters.unknowns), pooled=model.pooled)
        self.unloaded, self.samples, self.duration_s, self.shortest_s = False, 0, 0.0, 0.0
        self._dropped: Counter[str] = Counter()
        n = setup.robot.n_joints
        self._q_range = np.full(n, np.inf), np.full(n, -np.inf)

    def push(self, block: SignalBlock, *, unloaded: bool = False) -> None:
        """Add a segment of the robot with or without its load; samples that are not finite are left out.

        Raises:
            ~inertial_estimation.errors.MeasurementError: If a signal is missing or of another shape.
        """
        self.unloaded |= unloaded
        self.shortest_s = self._model.timing(block.step_s).shortest_s
        self._model.check(block)
        kept = 0
        for part in finite_runs(block, self._model.effort_joints):
            for rows in self._model.rows(part, unloaded=unloaded):
                self.stack.add(rows)
            self._look_at(part)
            kept += part.size
        if kept < block.size:
            self._dropped["not a number"] += block.size - kept

    def findings(self, config: RobotConfig) -> list[Finding]:
        """Return the findings of `diagnose` about the first signals, for a robot with these parameters."""
        streams = self._streams.streams()
        return [] if streams is None else diagnose(streams, self._streams.setup, config).findings

    @property
    def constant_joints(self) -> tuple[str, ...]:
        """Joints that did not move."""
        low, high = self._q_range
        names = zip(self._streams.setup.robot.joint_names, high - low, strict=True)
        return tuple(name for name, width in names if width < CONSTANT_RANGE)

    @property
    def at_rest(self) -> bool:
        """Whether no joint moved."""
        return len(self.constant_joints) == len(self._q_range[0])

    def summary(self) -> DataSummary:
        """Return the summary of the data."""
        return DataSummary(self.samples, self.duration_s, self.stack.rows, dict(self._dropped))

    def _look_at(self, part: SignalBlock) -> None:
        self._collect(part)
        self.samples += part.size
        self.duration_s += part.size * part.step_s
        low, high = self._q_range
        self._q_range = np.minimum(low, part.q.min(axis=0)), np.maximum(high, part.q.max(axis=0))

    def _collect(self, part: SignalBlock) -> None:
        """Keep a segment as rows of the inputs for `findings`; NaN where a signal is not measured."""
        stamps_ns, q, contacts = part.stamps_ns, part.q, self._streams.setup.contact_names
        v, tau = (np.full_like(q, np.nan) if x is None else x for x in (part.v, part.tau))
        self._streams.push(JOINTS, stamps_ns, np.hstack((q, v, tau)))
        if part.f_I is not None and part.w_I is not None:
            self._streams.push(IMU, stamps_ns, np.hstack((part.f_I, part.w_I)))
        if part.wrenches is not None and part.wrenches.shape[1] == len(contacts):
            for k, contact in enumerate(contacts):
                self._streams.push(f"{contact}/wrench", stamps_ns, part.wrenches[:, k])


IMPROBABLE = 4.0  # prior standard deviations of the logarithm of a mass beyond every credible error
WEIGHT_ITERATIONS = 4
SMALLEST_SHARE = 1e-8  # least noise, share of measured and nominal rms, for data without noise


class Identifier:
    """Converts streamed measurements to rows and solves them by the requested methods.

    The memory does not grow with the recording, since rows are reduced to triangular factors in chunks.

    Attributes:
        robot: The robot.
        parameters: The unknowns and their relation to the standard parameters.
        row_model: Conversion of signals to rows, and the signals that it needs.
    """

    def __init__(self, config: IdentificationConfig, urdf: str) -> None:
        """Resolve every name of the configuration against the robot that a URDF describes.

        Raises:
            ConfigurationError: If the configuration does not fit the robot.
            ~inertial_estimation.errors.ModelError: If a joint, link or frame does not exist.
            InconsistentInertiaError: If an identified body has no mass.
        """
        self._config, self._urdf = config, urdf
        setup = robot_from_config(config.robot, urdf)
        self.robot, self.parameters = setup.robot, parameter_set(config, setup.robot)
        self.row_model = RowModel(config, setup, self.parameters)
        self._training, self._validation = (DataSet(self.row_model, setup) for _ in range(2))
        self._typical = typical_deviations(self.parameters, config.mass_deviation)

    def push(self, block: SignalBlock, *, unloaded: bool = False, validation: bool = False) -> None:
        """Add a segment of data.

        Args:
            block: The signals.
            unloaded: Whether the robot does not carry the load that is identified.
            validation: Whether the data are used for validation instead of the fit.

        Raises:
            ConfigurationError: If data without a load are given, but no load is identified.
            MeasurementError: If a signal is missing or of another shape.
        """
        if unloaded and not self.parameters.payload:
            raise ConfigurationError("data without a load are given, but 'payload' names no link of one")
        (self._validation if validation else self._training).push(block, unloaded=unloaded)

    def rows(self, block: SignalBlock) -> RowBlock:
        """Return the rows of one segment of data, for figures; the fit does not change.

        Raises:
            MeasurementError: If a signal is missing or of another shape, or the segment too short for a row.
        """
        self.row_model.check(block)
        parts = finite_runs(block, self.row_model.effort_joints)
        blocks = [rows for part in parts for rows in self.row_model.rows(part)]
        if not blocks:
            shortest_s = self.row_model.timing(block.step_s).shortest_s
            raise MeasurementError(
                f"{block.size * block.step_s:.3g} s of data give no row, expected {shortest_s:.3g} s"
            )
        return RowBlock.joined(blocks)

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
        solvers = {name: method_named(name) for name in methods}
        chosen = chosen or (methods[0] if methods else "")
        if chosen not in methods:
            raise ConfigurationError(f"the method '{chosen}' to write is none of {listing(methods)}")
        self._check_data()
        stack, judged = self._training.stack, self._validation.stack
        sigma, inflation = self._noise(stack)
        equation = stack.reduced(sigma * np.sqrt(stack.correlation * inflation))
        space = IdentifiableSpace.of(equation, self._typical)
        evaluation = MethodEvaluation(
            self.parameters, space, space.minimum(equation), sigma, stack, judged if judged.times else None
        )
        results: dict[str, MethodResult] = {}
        warnings = self._warnings(stack)
        for name, solve in solvers.items():
            try:
                _check_counts(stack, name)
                solution = solve(equation, self.parameters, self._config.mass_deviation)
            except InertialEstimationError as error:
                if name == chosen:
                    raise
                warnings.append(f"method '{name}' has no answer: {error}")
            else:
                results[name] = evaluation.result(name, solution)
        return IdentificationReport(
            rank=space.rank,
            unknowns=stack.unknowns,
            condition=space.condition,
            singular_values=space.singular_values,
            row_names=self.row_model.row_names,
            row_sigma=sigma,
            training=self._training.summary(),
            validation=self._validation.summary() if judged.times else None,
            methods=results,
            chosen=chosen,
            warnings=tuple(warnings),
            cost_least_squares=evaluation.least_cost(),
            unloaded=self._training.unloaded,
            inflation=inflation,
            held=held_links(self.robot, self.parameters),
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
        """Return a method's result as a model with the posterior of its bodies, for files and sampling."""
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

    def contradiction(self, result: MethodResult) -> str:
        """Return why consistent bodies are not credible: masses far beyond their prior; empty if they are."""
        deviation, masses = self._config.mass_deviation, {}
        allowed = IMPROBABLE * max(deviation, IdentificationConfig().mass_deviation)
        for body in result.bodies:
            ratio = body.inertia.mass / body.nominal.mass
            if not body.violations and abs(math.log(ratio)) > allowed:
                masses[f"{body.link} ({body.nominal.mass:.3g} to {body.inertia.mass:.3g} kg)"] = ratio
        if not masses:
            return ""
        needed = max(abs(math.log(ratio)) for ratio in masses.values()) / IMPROBABLE
        return (
            f"masses are more than {IMPROBABLE:g} of their prior deviations away from the description: "
            f"{listing(masses, limit=5)}. Are efforts in another unit, is a gear ratio or a current's gain "
            "missing, or is there a load (--payload LINK)? If the description is as wrong as that, allow it: "
            f"identification.mass_deviation is {deviation:g}, expected more than {needed:.2g}"
        )

    def _check_data(self) -> None:
        """Check that there are rows to fit, and that the robot moves."""
        data = self._training
        if not data.stack.times:
            raise MeasurementError(
                f"{data.duration_s:.3g} s of data give no row; expected segments without gaps of "
                f"{data.shortest_s:.3g} s or more"
            )
        if data.at_rest:
            raise MeasurementError(
                "the robot stands still: one posture does not distinguish parameters of links, a load and "
                "errors of the description; record a motion (inertial-estimation excite designs one)"
            )

    def _noise(self, stack: EquationStack) -> tuple[Array, float]:
        """Return the noise level of each row and the inflation of variances by correlated residuals."""
        nominal = stack.residual_squares(np.zeros(stack.unknowns))
        floor = SMALLEST_SHARE * (np.sqrt((stack.measured_squares() + nominal) / stack.times).max() or 1.0)
        sigma = np.ones(len(stack.row_names))
        for _ in range(WEIGHT_ITERATIONS):  # residuals of a fit with the right weights are the noise
            equation = stack.reduced(sigma)
            space = IdentifiableSpace.of(equation, self._typical)
            squares = stack.residual_squares(space.minimum(equation)) / stack.times
            left = 1.0 - min(space.rank * stack.correlation / stack.rows, 0.9)  # degrees of freedom left
            if self.row_model.pooled:
                squares[:] = squares.mean()
            sigma = np.maximum(np.sqrt(squares / left), floor)
        correlated = sigma * np.sqrt(stack.correlation)
        prior = prior_factor(self.parameters, self._config.mass_deviation)
        return sigma, stack.scatter.inflation(correlated, stack.reduced(correlated), prior)

    def _warnings(self, stack: EquationStack) -> list[str]:
        found = in_words(self._training.findings(self._config.robot))
        constant = self._training.constant_joints
        if constant:
            found.append(f"joints that do not move: {listing(constant)}")
        if stack.rows < 2 * stack.unknowns:
            found.append(f"only {stack.rows} equations for {stack.unknowns} unknowns")
        replaced = [
            body.link
            for body in self.parameters.bodies
            if InertialParameters.from_pinocchio(self.robot.model.inertias[body.joint_id]).violations()
        ]
        if replaced:
            found.append(
                f"the description gives impossible inertias, raised to possible ones: {listing(replaced)}"
            )
        return found


def _check_counts(stack: EquationStack, method: str) -> None:
    if stack.rows < stack.unknowns and method in WITHOUT_PRIOR:
        raise MeasurementError(
            f"{stack.rows} equations for {stack.unknowns} unknowns; '{method}' cannot determine them: "
            "record more motion, identify fewer links, or take a method with a prior"
        )
