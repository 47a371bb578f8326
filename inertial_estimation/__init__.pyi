"""The public names: `__init__.py` loads each when it is first used, type checkers read them here."""

from inertial_estimation.calibration.calibrate import calibrate as calibrate
from inertial_estimation.configuration.config_file import ConfigFile as ConfigFile
from inertial_estimation.configuration.config_file import find_config as find_config
from inertial_estimation.configuration.config_file import load_config_file as load_config_file
from inertial_estimation.configuration.config_file import load_configs as load_configs
from inertial_estimation.configuration.pipelines import Pipelines as Pipelines
from inertial_estimation.configuration.pipelines import build_pipelines as build_pipelines
from inertial_estimation.configuration.pipelines import replay_topics as replay_topics
from inertial_estimation.configuration.urdf_source import read_urdf as read_urdf
from inertial_estimation.control.config import ControllerConfig as ControllerConfig
from inertial_estimation.control.pipeline import ControllerPipeline as ControllerPipeline
from inertial_estimation.errors import ConfigurationError as ConfigurationError
from inertial_estimation.errors import DamagedMessageError as DamagedMessageError
from inertial_estimation.errors import InconsistentInertiaError as InconsistentInertiaError
from inertial_estimation.errors import InertialEstimationError as InertialEstimationError
from inertial_estimation.errors import MeasurementError as MeasurementError
from inertial_estimation.errors import MissingDependencyError as MissingDependencyError
from inertial_estimation.errors import ModelError as ModelError
from inertial_estimation.errors import NumericalError as NumericalError
from inertial_estimation.errors import RecordingError as RecordingError
from inertial_estimation.identification.identification_config import (
    IdentificationConfig as IdentificationConfig,
)
from inertial_estimation.identification.identification_result import (
    IdentificationReport as IdentificationReport,
)
from inertial_estimation.identification.identifier import Identifier as Identifier
from inertial_estimation.inertial.config import (
    InertialPipelineConfig as InertialPipelineConfig,
)
from inertial_estimation.inertial.pipeline import InertialPipeline as InertialPipeline
from inertial_estimation.models.robot_model import RobotModel as RobotModel
from inertial_estimation.offline.calibration_setup import calibration_setup as calibration_setup
from inertial_estimation.offline.identification_run import block_stream as block_stream
from inertial_estimation.offline.identification_run import run_identification as run_identification
from inertial_estimation.offline.identification_setup import identification_config as identification_config
from inertial_estimation.offline.identification_setup import identification_topics as identification_topics
from inertial_estimation.parameters import build_config as build_config
from inertial_estimation.parameters import parameter_values as parameter_values
from inertial_estimation.payload.config import TrunkPayloadConfig as TrunkPayloadConfig
from inertial_estimation.payload.estimate import PayloadEstimate as PayloadEstimate
from inertial_estimation.payload.pipeline import (
    TrunkPayloadPipeline as TrunkPayloadPipeline,
)
from inertial_estimation.recordings.recorded_topics import RecordedTopics as RecordedTopics
from inertial_estimation.recordings.recording import BagRecording as BagRecording
from inertial_estimation.recordings.recording import MemoryRecording as MemoryRecording
from inertial_estimation.recordings.recording import RecordingEntry as RecordingEntry
from inertial_estimation.replay.replay import ReplayReaders as ReplayReaders
from inertial_estimation.replay.replay import ReplayRun as ReplayRun
from inertial_estimation.replay.replay import replay_recording as replay_recording
from inertial_estimation.signals import BaseEstimate as BaseEstimate
from inertial_estimation.signals import BaseReference as BaseReference
from inertial_estimation.signals import BaseState as BaseState
from inertial_estimation.signals import Health as Health
from inertial_estimation.signals import HealthLevel as HealthLevel
from inertial_estimation.signals import ImuSample as ImuSample
from inertial_estimation.signals import InertialEstimate as InertialEstimate
from inertial_estimation.signals import JointReading as JointReading
from inertial_estimation.signals import LinkEstimate as LinkEstimate
from inertial_estimation.signals import LinkInertia as LinkInertia
from inertial_estimation.signals import OrientationSample as OrientationSample
from inertial_estimation.signals import TorqueCommand as TorqueCommand
from inertial_estimation.signals import WrenchSample as WrenchSample
from inertial_estimation.simulation.config import REALISTIC as REALISTIC
from inertial_estimation.simulation.config import SimulationConfig as SimulationConfig
from inertial_estimation.simulation.simulation import Simulation as Simulation
from inertial_estimation.spatial.inertial_parameters import InertialParameters as InertialParameters
from inertial_estimation.synthetic.synthetic_robots import synthetic_truth as synthetic_truth
from inertial_estimation.synthetic.synthetic_sensors import measure as measure
from inertial_estimation.synthetic.synthetic_truth import Timing as Timing
from inertial_estimation.tilt.config import TiltPipelineConfig as TiltPipelineConfig
from inertial_estimation.tilt.pipeline import TiltPipeline as TiltPipeline

__version__: str
