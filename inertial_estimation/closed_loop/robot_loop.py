"""A closed loop from a robot's parameter file, the counterpart of the launch file in one process."""

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from inertial_estimation.closed_loop.closed_loop import ClosedLoop
from inertial_estimation.configuration.config_file import ConfigFile, load_configs
from inertial_estimation.configuration.node_configs import ConfigT, config_of
from inertial_estimation.configuration.node_names import (
    CONTROLLER_NODE,
    INERTIAL_NODE,
    PAYLOAD_NODE,
    SIMULATOR_NODE,
    TILT_NODE,
)
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.control.config import ControllerConfig
from inertial_estimation.control.pipeline import ControllerPipeline
from inertial_estimation.inertial.config import InertialPipelineConfig
from inertial_estimation.inertial.pipeline import InertialPipeline
from inertial_estimation.parameters import parameter_values
from inertial_estimation.payload.config import TrunkPayloadConfig
from inertial_estimation.payload.pipeline import TrunkPayloadPipeline
from inertial_estimation.simulation.config import REALISTIC, SensorNoise, SimulationConfig
from inertial_estimation.simulation.disturbances import Disturbance
from inertial_estimation.simulation.simulation import Simulation
from inertial_estimation.tilt.config import TiltPipelineConfig
from inertial_estimation.tilt.pipeline import TiltPipeline

Overrides = Mapping[str, Mapping[str, Any]]


class RobotLoop:
    """Builds closed loops of one robot with individual parameters replaced.

    Attributes:
        urdf: Text of the robot description that the estimators and the controller use.
    """

    def __init__(
        self, robot: str | Sequence[str], overrides: Overrides | None = None, noise: SensorNoise | None = None
    ) -> None:
        """Read the parameter file.

        Args:
            robot: Path of a parameter file, or the name of one that comes with the package; of several, later
                ones override earlier ones (offsets, friction).
            overrides: Values by node, then by dotted name, which override those of the file.
            noise: Imperfections of the sensors; None: those of the file and, where it does not state one,
                the realistic one of a large robot.

        Raises:
            ~inertial_estimation.errors.ConfigurationError: If the file or a parameter is wrong.
            ~inertial_estimation.errors.ModelError: If there is no robot description.
        """
        names = [robot] if isinstance(robot, str) else robot
        file = load_configs(names)
        sensors = {f"sensors.{name}": value for name, value in parameter_values(noise or REALISTIC).items()}
        if noise is None:
            sensors |= {n: v for n, v in file.nodes.get(SIMULATOR_NODE, {}).items() if n in sensors}
        self._file = _overridden(_overridden(file, {SIMULATOR_NODE: sensors}), overrides or {})
        urdf = str(self._file.shared.get("urdf", ""))
        self.urdf = read_urdf(urdf, folder=Path(self._file.name).parent)
        self._true_urdf = self.urdf

    def with_description(self, urdf: str) -> "RobotLoop":
        """Return a builder whose estimators and controller use another robot description."""
        other = copy.copy(self)
        other.urdf, other._true_urdf = urdf, self._true_urdf
        return other

    def config(self, node: str, config_class: type[ConfigT], overrides: Overrides | None = None) -> ConfigT:
        """Return the parameters of one node, with overrides applied."""
        return config_of(_overridden(self._file, overrides or {}), node, config_class)

    def inertial(self, overrides: Overrides | None = None) -> InertialPipeline:
        """Build an inertial filter, in the loop or as a spectator."""
        return InertialPipeline(self.config(INERTIAL_NODE, InertialPipelineConfig, overrides), self.urdf)

    def payload(self, overrides: Overrides | None = None) -> TrunkPayloadPipeline:
        """Build the identification of the trunk's payload."""
        return TrunkPayloadPipeline(self.config(PAYLOAD_NODE, TrunkPayloadConfig, overrides), self.urdf)

    def build(
        self,
        *,
        overrides: Overrides | None = None,
        disturbances: Sequence[Disturbance] = (),
        seed: int = 0,
        adaptation: bool = True,
        payload: bool = False,
        inertial: bool = True,
        true_urdf: str = "",
        spectators: Sequence[InertialPipeline] = (),
    ) -> ClosedLoop:
        """Build the robot on its hoist, with estimators and controller.

        Args:
            overrides: Values by node that override those of the file, only for this loop.
            disturbances: Disturbances of the robot; their times count from the release.
            seed: Seed of the sensor noise.
            adaptation: Whether the controller gets the estimated inertias.
            payload: Whether the trunk's payload is identified, by section `trunk_payload` of the file; the
                controller then does not get the estimates of the inertial filter.
            inertial: Whether the loop has an inertial filter.
            true_urdf: Description of the simulated robot if it differs from that of the estimators.
            spectators: Further filters that receive the same readings.
        """
        replaced = dict(overrides or {})
        replaced[SIMULATOR_NODE] = {"seed": seed, **replaced.get(SIMULATOR_NODE, {})}
        simulation_config = self.config(SIMULATOR_NODE, SimulationConfig, replaced)
        controller_config = self.config(CONTROLLER_NODE, ControllerConfig, replaced)
        tilt_config = self.config(TILT_NODE, TiltPipelineConfig, replaced)
        floating = simulation_config.robot.floating_base
        return ClosedLoop(
            Simulation(simulation_config, true_urdf or self._true_urdf, disturbances),
            ControllerPipeline(controller_config, self.urdf),
            TiltPipeline(tilt_config, self.urdf) if floating else None,
            self.inertial(replaced) if inertial else None,
            payload=self.payload(replaced) if payload else None,
            adaptation=adaptation,
            spectators=spectators,
        )


def _overridden(file: ConfigFile, overrides: Overrides) -> ConfigFile:
    return file.overridden(
        (node, name, value) for node, values in overrides.items() for name, value in values.items()
    )
