"""Which way is down and what the links weigh, estimated while the robot runs.

What a user of the library needs is imported from here: ``from inertial_estimation import build_pipelines``. A
name is loaded when it is first used, so that ``import inertial_estimation`` loads neither Pinocchio nor a
simulator. Inside the package, modules import one another by their full names.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inertial_estimation.calibration.calibrate import calibrate
    from inertial_estimation.configuration.config_file import ConfigFile, load_config_file
    from inertial_estimation.configuration.config_lookup import find_config, load_configs
    from inertial_estimation.configuration.pipelines import Pipelines, build_pipelines, replay_topics
    from inertial_estimation.configuration.urdf_source import read_urdf
    from inertial_estimation.control.controller_config import ControllerConfig
    from inertial_estimation.control.controller_pipeline import ControllerPipeline
    from inertial_estimation.errors import (
        ConfigurationError,
        DamagedMessageError,
        InconsistentInertiaError,
        InertialEstimationError,
        MeasurementError,
        MissingDependencyError,
        ModelError,
        NumericalError,
        RecordingError,
    )
    from inertial_estimation.estimators.inertial.inertial_config import InertialPipelineConfig
    from inertial_estimation.estimators.inertial.inertial_pipeline import InertialPipeline
    from inertial_estimation.estimators.payload.payload_config import TrunkPayloadConfig
    from inertial_estimation.estimators.payload.payload_estimate import PayloadEstimate
    from inertial_estimation.estimators.payload.payload_pipeline import TrunkPayloadPipeline
    from inertial_estimation.estimators.tilt.tilt_config import TiltPipelineConfig
    from inertial_estimation.estimators.tilt.tilt_pipeline import TiltPipeline
    from inertial_estimation.identification.identification_config import IdentificationConfig
    from inertial_estimation.identification.identification_result import IdentificationReport
    from inertial_estimation.identification.identifier import Identifier
    from inertial_estimation.models.robot_model import RobotModel
    from inertial_estimation.offline.calibration_setup import calibration_setup
    from inertial_estimation.offline.identification_run import block_stream, run_identification
    from inertial_estimation.offline.identification_setup import identification_config, identification_topics
    from inertial_estimation.parameters import build_config, parameter_values
    from inertial_estimation.recordings.recorded_topics import RecordedTopics
    from inertial_estimation.recordings.recording import BagRecording, MemoryRecording, RecordingEntry
    from inertial_estimation.replay.replay import replay_recording
    from inertial_estimation.replay.replay_run import ReplayRun
    from inertial_estimation.signals import (
        BaseEstimate,
        BaseReference,
        BaseState,
        Health,
        HealthLevel,
        ImuSample,
        InertialEstimate,
        JointReading,
        LinkEstimate,
        LinkInertia,
        OrientationSample,
        TorqueCommand,
        WrenchSample,
    )
    from inertial_estimation.simulation.sensor_noise_config import REALISTIC
    from inertial_estimation.simulation.simulation import Simulation
    from inertial_estimation.simulation.simulation_config import SimulationConfig
    from inertial_estimation.spatial.inertial_parameters import InertialParameters
    from inertial_estimation.synthetic.synthetic_robots import synthetic_truth
    from inertial_estimation.synthetic.synthetic_sensors import measure
    from inertial_estimation.synthetic.synthetic_truth import Timing

__version__ = "0.2.0"

_NAMES_BY_MODULE = {
    "calibration.calibrate": ("calibrate",),
    "configuration.config_file": (
        "ConfigFile",
        "load_config_file",
    ),
    "configuration.config_lookup": (
        "find_config",
        "load_configs",
    ),
    "configuration.pipelines": (
        "Pipelines",
        "build_pipelines",
        "replay_topics",
    ),
    "configuration.urdf_source": ("read_urdf",),
    "control.controller_config": ("ControllerConfig",),
    "control.controller_pipeline": ("ControllerPipeline",),
    "errors": (
        "ConfigurationError",
        "DamagedMessageError",
        "InconsistentInertiaError",
        "InertialEstimationError",
        "MeasurementError",
        "MissingDependencyError",
        "ModelError",
        "NumericalError",
        "RecordingError",
    ),
    "estimators.inertial.inertial_config": ("InertialPipelineConfig",),
    "estimators.inertial.inertial_pipeline": ("InertialPipeline",),
    "estimators.payload.payload_config": ("TrunkPayloadConfig",),
    "estimators.payload.payload_estimate": ("PayloadEstimate",),
    "estimators.payload.payload_pipeline": ("TrunkPayloadPipeline",),
    "estimators.tilt.tilt_config": ("TiltPipelineConfig",),
    "estimators.tilt.tilt_pipeline": ("TiltPipeline",),
    "identification.identification_config": ("IdentificationConfig",),
    "identification.identification_result": ("IdentificationReport",),
    "identification.identifier": ("Identifier",),
    "models.robot_model": ("RobotModel",),
    "offline.calibration_setup": ("calibration_setup",),
    "offline.identification_run": (
        "block_stream",
        "run_identification",
    ),
    "offline.identification_setup": (
        "identification_config",
        "identification_topics",
    ),
    "parameters": (
        "build_config",
        "parameter_values",
    ),
    "recordings.recorded_topics": ("RecordedTopics",),
    "recordings.recording": (
        "BagRecording",
        "MemoryRecording",
        "RecordingEntry",
    ),
    "replay.replay": ("replay_recording",),
    "replay.replay_run": ("ReplayRun",),
    "signals": (
        "BaseEstimate",
        "BaseReference",
        "BaseState",
        "Health",
        "HealthLevel",
        "ImuSample",
        "InertialEstimate",
        "JointReading",
        "LinkEstimate",
        "LinkInertia",
        "OrientationSample",
        "TorqueCommand",
        "WrenchSample",
    ),
    "simulation.sensor_noise_config": ("REALISTIC",),
    "simulation.simulation": ("Simulation",),
    "simulation.simulation_config": ("SimulationConfig",),
    "spatial.inertial_parameters": ("InertialParameters",),
    "synthetic.synthetic_robots": ("synthetic_truth",),
    "synthetic.synthetic_sensors": ("measure",),
    "synthetic.synthetic_truth": ("Timing",),
}
_MODULES = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}

__all__ = [
    "REALISTIC",
    "BagRecording",
    "BaseEstimate",
    "BaseReference",
    "BaseState",
    "ConfigFile",
    "ConfigurationError",
    "ControllerConfig",
    "ControllerPipeline",
    "DamagedMessageError",
    "Health",
    "HealthLevel",
    "IdentificationConfig",
    "IdentificationReport",
    "Identifier",
    "ImuSample",
    "InconsistentInertiaError",
    "InertialEstimate",
    "InertialEstimationError",
    "InertialParameters",
    "InertialPipeline",
    "InertialPipelineConfig",
    "JointReading",
    "LinkEstimate",
    "LinkInertia",
    "MeasurementError",
    "MemoryRecording",
    "MissingDependencyError",
    "ModelError",
    "NumericalError",
    "OrientationSample",
    "PayloadEstimate",
    "Pipelines",
    "RecordedTopics",
    "RecordingEntry",
    "RecordingError",
    "ReplayRun",
    "RobotModel",
    "Simulation",
    "SimulationConfig",
    "TiltPipeline",
    "TiltPipelineConfig",
    "Timing",
    "TorqueCommand",
    "TrunkPayloadConfig",
    "TrunkPayloadPipeline",
    "WrenchSample",
    "__version__",
    "block_stream",
    "build_config",
    "build_pipelines",
    "calibrate",
    "calibration_setup",
    "find_config",
    "identification_config",
    "identification_topics",
    "load_config_file",
    "load_configs",
    "measure",
    "parameter_values",
    "read_urdf",
    "replay_recording",
    "replay_topics",
    "run_identification",
    "synthetic_truth",
]


def __getattr__(name: str) -> Any:
    """Import the module of a name when it is first used (PEP 562)."""
    if name not in _MODULES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
