"""Torques of a recording: identified on its first part and predicted on the rest, offline and online."""

import contextlib
import io
import tempfile
from dataclasses import dataclass
from pathlib import Path

from inertial_estimation.commands.main import main
from inertial_estimation.configuration.config_lookup import load_configs
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.identification.identification_result import Identifiability, MethodResult
from inertial_estimation.identification.identifier import Identifier
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.offline.identification_run import (
    IdentificationRun,
    block_stream,
    nominal_error,
    run_identification,
)
from inertial_estimation.offline.identification_setup import identification_config, identification_topics
from inertial_estimation.offline.result_diagnostics import result_diagnostics
from inertial_estimation.parameters import replace_value
from inertial_estimation.recordings.recording import BagRecording, Recording
from inertial_estimation.replay.torque_prediction import prediction_error
from inertial_estimation.signals import NANOSECONDS

PLAIN = {  # all bodies on their own, four friction terms of each joint by the speed alone, no prior
    "symmetry": (),
    "weighting": "none",
    "inputs.effort_window": 0.0,
    "friction.terms": ("coulomb", "viscous", "offset", "armature"),
    "friction.smoothing_speed": 0.02,
    "friction.presliding": 0.0,
}
LEFT_OUT = ("replay:", "calibrate:", "tilt_observer ", "inertial_ekf ", "speed ", "results ", "written:")


@dataclass(frozen=True)
class JointRecording:
    """A recording of joint positions and torques.

    Attributes:
        robot: What it is of.
        bag: The recording, below the folder of recordings.
        config: Name of the robot's parameter file.
        split_s: How much of it is fitted [s].
        urdf: Description below the folder of recordings; empty: that of the parameter file.
        reference: Further options of the replay.
    """

    robot: str
    bag: str
    config: str
    split_s: float
    urdf: str = ""
    reference: tuple[str, ...] = ()

    def arguments(self, datasets: Path) -> list[str]:
        """Return the arguments that `identify` and `replay` have in common."""
        urdf = ["--urdf", str(datasets / self.urdf)] if self.urdf else []
        return [str(datasets / self.bag), "--config", self.config, *urdf]


def report(recording: JointRecording, datasets: Path) -> None:
    """Print what `identify` and `replay` give for a recording."""
    arguments = recording.arguments(datasets)
    config = identification_config(load_configs([recording.config]))
    print(f"\n{recording.robot}: identify {' '.join(arguments)} --split {recording.split_s:g}")
    plain = config
    for name, value in PLAIN.items():
        plain = replace_value(plain, name, value)
    rows = {
        "plain least squares": identified(recording, datasets, plain, "least-squares"),
        "the command": identified(recording, datasets, config, "consistent"),
    }
    print(f"  {'':<22} {'fitted':>8} {'held out':>9}   bodies")
    nominal = rows["the command"].result
    before = [nominal_error(errors) for errors in (nominal.direct, nominal.validation)]
    print(f"  {'nominal':<22} {_percent(before[0])} {_percent(before[1])}")
    for name, run in rows.items():
        print(f"  {name:<22} {_errors(run.result)}")
    if not config.robot.floating_base:
        judged = _judged(rows["the command"], recording, datasets, config)
        print(f"  {'the same, 10 Hz':<22} {'':>8} {_percent(judged)}")
    _print_identifiable(rows["the command"])
    for said in result_diagnostics(rows["the command"].report):
        print(f"  but {said}")
    _print_replay(recording, datasets)


def identified(
    recording: JointRecording, datasets: Path, config: IdentificationConfig, method: str
) -> IdentificationRun:
    """Fit a method to the first part of a recording."""
    urdf = read_urdf(str(datasets / recording.urdf) if recording.urdf else config.robot.urdf)
    with BagRecording(datasets / recording.bag) as bag:
        return identified_before(recording.split_s, bag, urdf, config, method)


def identified_before(
    split_s: float, messages: Recording, urdf: str, config: IdentificationConfig, method: str
) -> IdentificationRun:
    """Fit a method to the messages before a time [s], and judge it by the others."""
    identifier = Identifier(config, urdf)
    stream = block_stream(messages, identification_topics(config, {}), identifier, config)
    return run_identification(identifier, [stream], methods=[method], split_s=split_s)


def _judged(
    run: IdentificationRun, recording: JointRecording, datasets: Path, config: IdentificationConfig
) -> float:
    """Return the error of the held-out torques by another code: inverse dynamics, 10 Hz Butterworth."""
    assert run.urdf is not None
    robot = RobotModel.from_urdf(run.urdf, floating_base=False, locked_joints=config.robot.locked_joints)
    with BagRecording(datasets / recording.bag) as bag:
        readings = [entry.sample for entry in bag.entries(["/joint_states"])]
    begin_ns = readings[0].stamp_ns + round(recording.split_s * NANOSECONDS)
    return prediction_error(
        robot,
        [reading for reading in readings if reading.stamp_ns >= begin_ns],
        run.result.friction,
        joints=robot.joint_names,
        coulomb=config.coulomb_law,
        config=config.robot,
    )


def _errors(result: MethodResult) -> str:
    impossible = sum(bool(body.violations) for body in result.bodies)
    bodies = f"{impossible} of {len(result.bodies)} impossible" if impossible else "all consistent"
    return f"{_percent(result.relative_error)} {_percent(result.relative_error_validation)}   {bodies}"


def _percent(share: float) -> str:
    return f"{100 * share:>7.2f}%"


def _print_identifiable(run: IdentificationRun) -> None:
    """Print what the data fix by themselves, in combination and not at all, by kind of parameter."""
    kinds: dict[str, dict[Identifiability, int]] = {}
    for parameter in run.result.parameters:
        counts = kinds.setdefault(parameter.name.rpartition("/")[2], dict.fromkeys(Identifiability, 0))
        counts[parameter.identifiability] += 1
    print("  fixed / in combination / not:", end=" ")
    print(", ".join(f"{kind} {'/'.join(map(str, counts.values()))}" for kind, counts in kinds.items()))


def _print_replay(recording: JointRecording, datasets: Path) -> None:
    options = ["--hold-out", f"{recording.split_s:g}", "--no-figures", *recording.reference]
    print(f"  online: replay ... {' '.join(options)}")
    with tempfile.TemporaryDirectory() as folder:
        options = [option.replace("DATASETS", str(datasets)) for option in options]
        print_command(["replay", *recording.arguments(datasets), *options, "--output", folder])


def print_command(arguments: list[str]) -> None:
    """Run a command, and print what it says but for times, progress and the folder of its results."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        main(arguments)
    for line in (*out.getvalue().splitlines(), *err.getvalue().splitlines()):
        if line.strip() and not line.startswith(LEFT_OUT):
            print(f"    {line}")
