"""The command `init`: the first parameter file of a robot."""

from __future__ import annotations

import argparse
import importlib.util
import math
import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from inertial_estimation.commands.terminal import table_lines
from inertial_estimation.configuration.config_file import load_config_file
from inertial_estimation.configuration.pipelines import build_pipelines
from inertial_estimation.configuration.urdf_source import (
    EXAMPLE_PREFIX,
    PACKAGE_PREFIX,
    example_source,
    mesh_folders,
    read_urdf,
)
from inertial_estimation.diagnosis.description import description_warnings
from inertial_estimation.errors import ConfigurationError, InertialEstimationError, one_line
from inertial_estimation.files.outputs import output_file, write_text
from inertial_estimation.files.text_file import resolved_path
from inertial_estimation.models.urdf import urdf_warnings
from inertial_estimation.setup_assistant.parameter_text import findings, parameter_text
from inertial_estimation.setup_assistant.survey import Survey, Wishes, survey_robot

if TYPE_CHECKING:
    from inertial_estimation.closed_loop.loop_watch import LoopWatch

FOR_TRIAL = ("mujoco", "proxsuite")
LOOKS = 20  # samples in the second of the trial
KEPT_POSTURE = 0.1  # largest drift of a joint in the trial [rad or m]


def run(args: argparse.Namespace) -> int:
    """Survey the robot, print the findings, try the parameter file and write it."""
    output = _checked_output(args)
    _step("reading the description")
    source = _source(args.urdf)
    urdf = read_urdf(source)
    if source != args.urdf:
        print(f"{args.urdf} is {source}")
    urdf = _with_meshes(urdf, Path(source))
    given = (args.soles, args.links, args.lock, args.unlock)  # words separated by commas or blanks
    names = (tuple(filter(None, (word.strip() for word in ",".join(one).split(",")))) for one in given)
    wishes = Wishes(args.kind, args.imu, *names)
    _step("looking for sensors, soles, locked joints and a posture to stand in")
    survey = survey_robot(urdf, mesh_folders(), wishes, np.random.default_rng(0))
    first, joints, lines = findings(survey)
    print("\n".join((first, *table_lines(joints, indent=2), *lines)), flush=True)
    _step("examining masses and inertias")
    for warning in [*urdf_warnings(urdf), *description_warnings(survey.robot, np.random.default_rng(0))]:
        print(f"CHECK:     {warning}")
    text = parameter_text(survey, source)
    outcome, simulated = _accepted(text, survey, trial=not args.no_trial)
    print(f"tried:     {outcome}")
    if output is None:
        print("nothing written: name a file with --output")
        return 0
    write_text(output, text)
    print(f"written:   {output}\n\nnext:      {_next(simulated, args.output)}")
    return 0


def _with_meshes(urdf: str, path: Path) -> str:
    """Return a description with absolute paths of those meshes that are found in a folder above the file.

    The folder of a cloned package may have another name than the package, and be on no package path.
    """

    def placed(match: re.Match[str]) -> str:
        package, inside = match[2] or "", match[3]
        names = [f"{package}/{inside}", inside] if package else [inside]
        places = (folder / name for folder in path.parents for name in names)
        return match[1] + next((str(place) for place in places if place.is_file()), match[0][len(match[1]) :])

    meshes = re.compile(
        r"""(<mesh\b[^>]*\bfilename\s*=\s*["'])(?:package://([^/"']*)/)?(?:file://)?([^"']+)"""
    )
    return meshes.sub(placed, urdf) if path.is_absolute() else urdf


def _step(what: str) -> None:
    """Print the current step on stderr; for a large robot each step takes some seconds."""
    print(f"init: {what}", file=sys.stderr, flush=True)


def _checked_output(args: argparse.Namespace) -> Path | None:
    if args.output is None:
        return None
    path = output_file(args.output, ".yaml", "--output")
    if path.exists() and not args.overwrite:
        raise ConfigurationError(f"'{args.output}' exists: name another file, or replace it with --overwrite")
    return path


def _source(given: str) -> str:
    """Return the source of the description for the parameter ``urdf``, independent of the working folder."""
    if given.startswith((EXAMPLE_PREFIX, PACKAGE_PREFIX)):
        return given
    path = resolved_path(given)
    if path.suffix == ".xacro":
        raise ConfigurationError(f"'{given}' is a xacro: expand it by `xacro {given} > robot.urdf`")
    if path.is_file():
        return str(path.resolve())
    if path.suffix or "/" in given:
        read_urdf(given)  # raises, and lists the places
    return example_source(given)


def _accepted(text: str, survey: Survey, *, trial: bool) -> tuple[str, bool]:
    """Build all estimators from the file, and simulate the robot for a short time.

    Returns:
        The outcome in words, and whether the robot can be simulated as far as is known.
    """
    possible = survey.can_stand and bool(survey.links)
    lacking = [name for name in FOR_TRIAL if importlib.util.find_spec(name) is None]
    with tempfile.TemporaryDirectory(prefix="inertial_estimation_") as folder:
        file = write_text(Path(folder) / "robot.yaml", text)
        _step("building the estimators from the file")
        build_pipelines(load_config_file(file))
        if trial and possible and not lacking:
            return _simulated(file)
    why = f"{', '.join(lacking)} is not installed" if lacking else "as requested"
    why = why if survey.can_stand else "it cannot stand still on two points"
    why = why if survey.links else "its controller needs inertias"
    return f"all estimators accept the file; not simulated: {why}", possible


def _simulated(file: Path) -> tuple[str, bool]:
    _step("simulating the robot for a second")
    try:
        watch, drifts = _tried(file)
    except InertialEstimationError as error:
        why = one_line(error, limit=600)
        return f"CHECK: all estimators accept the file, the simulation does not: {why}", False
    joint, drift = max(drifts.items(), key=lambda item: item[1])
    text = "all nodes accept the file; in simulation the robot keeps its stance"
    if watch.loop.simulation.fallen:
        text = "CHECK: the robot falls in simulation; try another stance"
    elif drift > KEPT_POSTURE:
        text = f"CHECK: in simulation {joint} drifts by {drift:.2g} from the stance"
        if not math.isnan(limit := watch.limit(joint)):
            text += f", its torque at the effort limit of {limit:.3g}"
        elif max(_tried(file, adaptation=False)[1].values()) < KEPT_POSTURE:
            text += ": the estimates of its link move so light a joint (with the URDF's values it stays); "
            text += "--links names heavier ones"
    tilt = "" if math.isnan(watch.tilt_rms) else f", tilt error {1000.0 * watch.tilt_rms:.2g} mrad"
    return text + tilt, True


def _tried(file: Path, *, adaptation: bool = True) -> tuple[LoopWatch, dict[str, float]]:
    """Simulate the robot of a parameter file: a second on its hoist, a second standing on its estimates.

    With adaptation it stands with the estimated inertias, else with those of the URDF. Returns the samples of
    the second, and the distance of every joint from the stance at its end [rad or m].
    """
    from inertial_estimation.closed_loop.loop_watch import LoopWatch
    from inertial_estimation.closed_loop.robot_loop import RobotLoop

    loop = RobotLoop(str(file)).build(adaptation=adaptation)
    start = loop.simulation.truth().q
    loop.release(1.0)
    watch = LoopWatch(loop)
    for _ in range(LOOKS):
        loop.run(1.0 / LOOKS)
        watch.look()
    drifts = np.abs(loop.simulation.truth().q - start).tolist()
    return watch, dict(zip(loop.simulation.robot.joint_names, drifts, strict=True))


def _next(simulated: bool, output: Path) -> str:
    if not simulated:
        return f"inertial-estimation replay BAG --config {output} --output results/replay"
    return (
        f"inertial-estimation simulate --config {output} --inertias inertial_ekf "
        f"--output results/{output.stem}"
    )
