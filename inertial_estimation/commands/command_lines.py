"""The command lines: options and help of each command.

No library is imported, so that help is shown at once.
"""

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

Parser = argparse.ArgumentParser

# Copies of constants in libraries that the help does not import; a test compares them.
ESTIMATORS = ("tilt_observer", "inertial_ekf", "trunk_payload")
KINDS = ("humanoid", "quadruped", "arm")
METHODS = ("least-squares", "bounded-gradient", "nullspace-prior", "consistent")
ROBOTS = ("arm", "panda", "talos")
STORAGES = ("mcap", "sqlite3")


def add(
    parser: Parser,
    option: str,
    default: Any,
    metavar: str,
    meaning: str,
    *,
    low: float = 0.0,
    positive: bool = False,
    **more: Any,
) -> None:
    """Declare an option; its default determines its values.

    False: a switch; (): several names; []: one text each time the option is given; a type: one value of this
    type without default. For a number, `metavar` is the unit, and `low` or `positive` the bound.
    """
    how: dict[str, Any] = {"help": meaning, "metavar": metavar}
    kind = default if isinstance(default, type) else type(default)
    if default is False:
        how = {"help": meaning, "action": "store_true"}
    elif default == ():
        how |= {"nargs": "+", "action": "extend", "default": []}
    elif default == []:
        how |= {"action": "append", "default": [], "help": f"{meaning}; repeat it for more"}
    elif kind in (int, float):
        how["type"] = bounded(kind, low, positive)
        if default is not kind:
            how |= {"default": default, "help": f"{meaning} ({default:g}{'' if metavar == 'N' else ' '}"}
            how["help"] += f"{'' if metavar == 'N' else metavar.lower()})"
    else:
        how |= {"type": kind, "default": None if default is kind else default}
    if "choices" in more:
        del how["metavar"]
    parser.add_argument(option, **{**how, **more})


def bounded(kind: type, low: float, positive: bool) -> Callable[[str], Any]:
    """Return a function that parses a finite number of at least `low`, for `type` of an argument."""
    bound = "more than 0" if positive else f"at least {low:g}" if math.isfinite(low) else "any"
    expected = f"expected a {'whole ' if kind is int else ''}number, {bound}"

    def read(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not low <= value < math.inf or (positive and value == 0.0):
            raise argparse.ArgumentTypeError(f"is '{text}', {expected}")
        return value

    return read


def remapping(text: str) -> tuple[str, str]:
    """Parse a topic remapping in ROS notation, ``from:=to``; both names are in the root namespace."""
    old, sign, new = (part.strip("/") for part in text.partition(":="))
    if not (sign and old and new):
        raise argparse.ArgumentTypeError(f"'{text}' is no remapping, expected from:=to")
    return f"/{old}", f"/{new}"


CONFIG = "ROS parameter file or name of a robot (icub, panda, talos ...); later ones override earlier ones"
REFERENCE = "topic of the true pose or orientation, PoseStamped or QuaternionStamped"
# Options of several commands: arguments of `add`, and further ones of argparse.
SHARED: dict[str, tuple[Any, ...]] = {
    "bag": (Path, "BAG", "rosbag2 folder, its .mcap or .db3 file, or a .bag of ROS 1"),
    "bags": (str, "BAG", "rosbag2 folders, .mcap or .db3 files, or .bag files of ROS 1", {"nargs": "+"}),
    "--config": ([], "NAME|FILE", CONFIG, {"required": True}),
    "--urdf": ("", "SOURCE", "robot description; overrides the parameter 'urdf'"),
    "--param": (
        [],
        "NODE.NAME=VALUE",
        "override a parameter of the files ('/**' is the section of all nodes)",
    ),
    "--output": (Path, "DIR", "folder for the results, new or empty", {"required": True}),
    "--overwrite": (False, "", "replace what an earlier run has written there"),
    "--storage": ("mcap", "", "format of the rosbag2 (mcap)", {"choices": STORAGES}),
    "--no-figures": (False, "", "write no figures and no report"),
    "--rrd": (Path, "FILE", "also write the moving robot to FILE.rrd, which the command view shows"),
    "--remap": ([], "A:=B", "read topic B in place of A; __ns:=B: of namespace B", {"type": remapping}),
    "--reference": (str, "TOPIC", REFERENCE),
    "--start": (0.0, "S", "begin S seconds into the recording"),
    "--seed": (0, "N", "seed of what is random; the same one gives the same result"),
    "--jobs": (1, "N", "processes that share the work; results do not depend on their number", {"low": 1}),
    "--noise-free": (False, "", "simulate sensors without noise and bias"),
}


def shared(parser: Parser, options: str, **changed: Any) -> None:
    """Declare options of `SHARED`, separated by blanks, with changed arguments of `add` or argparse."""
    for option in options.split():
        default, metavar, meaning, *how = SHARED[option]
        add(parser, option, default, metavar, meaning, **{**(how[0] if how else {}), **changed})


def init(p: Parser) -> None:
    r"""Write the first parameter file of a robot from its URDF, complete and commented.

    The URDF shows the kind of the robot, where IMU, soles and force sensors are, which joints never carry
    a load, how it stands, and how large noise and thresholds should be. What could not be found is marked
    by CHECK, also in the file. At the end the file is tried: every node's parameters are read, and the
    robot stands (an arm: holds its posture) in simulation for a second.

    Examples:
      inertial-estimation init robot.urdf --imu imu_torso --soles l_sole,r_sole --output my_robot.yaml
    """
    add(p, "urdf", str, "URDF", "a file, package://PACKAGE/FILE, or a robot of example-robot-data (g1, ur5)")
    add(p, "--output", Path, "FILE", "parameter file to write; without it nothing is written")
    shared(p, "--overwrite")
    add(p, "--kind", "", "", "kind of the robot (found out)", choices=KINDS)
    add(p, "--imu", "", "LINK", "link of the IMU (found by its name)")
    add(p, "--soles", (), "A,B", "contact frames, one a leg, left before right and front before rear")
    add(p, "--links", (), "A,B", "links to estimate")
    add(p, "--lock", (), "A,B", "joints to lock, also shell patterns, besides those that are found")
    add(p, "--unlock", (), "A,B", "joints that are not to be locked, though they would be")
    add(p, "--no-trial", False, "", "do not try the file in simulation")


def replay(p: Parser) -> None:
    r"""Run a rosbag2 recording through the same estimators as the nodes, without ROS.

    Writes tables of the estimates (CSV), metrics.json and report.html. A simulated or synthetic
    recording is compared with its truth.

    Examples:
      inertial-estimation replay BAG --config panda --hold-out 14 --param inertial_ekf.rate=100 --output \
          results/panda --rrd panda.rrd
    """
    shared(p, "bag --config --urdf --output --overwrite --start")
    hold_out = "freeze the estimates S seconds into the bag; torque errors are of the rest"
    add(p, "--hold-out", float, "S", hold_out)
    add(p, "--only", [], "NODE", f"run only this estimator ({', '.join(ESTIMATORS)})")
    shared(p, "--reference")
    trusted = "file with 0 or 1 for each sample of the reference: whether it is trusted"
    add(p, "--trusted", Path, "CSV", trusted)
    add(p, "--settle", 0.0, "S", "leave the first S seconds out of the errors of the base")
    shared(p, "--remap --param --no-figures --rrd")


def check(p: Parser) -> None:
    """Examine a recording of a robot: what is wrong with its data or its description, and what mends it.

    Some 20 s are enough, standing or moving. With --output, report.html and check.json are written; with
    --fix, a parameter file of what can be set. The exit code is 0 if nothing is wrong (warnings allowed),
    1 if something is, 2 if the recording, the description or the parameter file cannot be used.

    Examples:
      inertial-estimation check BAG --config my_robot.yaml --start 5 --duration 20 --fix fixes.yaml
    """
    shared(p, "bag --config --urdf")
    shared(p, "--output --overwrite", required=False)
    add(p, "--fix", Path, "FILE", "write a parameter file (.yaml) of what can be set")
    shared(p, "--start")
    add(p, "--duration", 60.0, "S", "examine S seconds of it", positive=True)
    shared(p, "--remap --param")


def tune(p: Parser) -> None:
    r"""Find better parameters of the estimators from recordings, with a reference or without.

    Without a reference the tilt is judged by the readings that come after it, the inertial filter by
    the likelihood of its innovations. Values are searched on all parts of the recordings but the last,
    and judged on it. Writes tuned.yaml, tuning.json and report.html.

    Examples:
      inertial-estimation tune BAG --config icub --urdf robot.urdf --vary filter.velocity_drift \
          filter.freedom=0.05:1 --output tuned
    """
    shared(p, "bags --config --urdf --output --overwrite")
    vary = "parameters, with ranges; a name alone: times 0.1 to 10"
    add(p, "--vary", (), "NAME[=LOW:HIGH]", vary, required=True)
    add(p, "--trials", 100, "N", "number of trials", low=1)
    shared(p, "--seed --jobs --start")
    add(p, "--settle", 2.0, "S", "do not score the first S seconds")
    shared(p, "--reference")
    add(p, "--trusted", [], "CSV", "as that of replay, one for each bag", type=Path)
    shared(p, "--remap --param --no-figures")


def compare(p: Parser) -> None:
    """Compare results of replay or identify: values, and what differs in recordings and settings.

    The first folder is what the others are compared with. With --output the table is also written as
    compare.csv, and report.html shows it with the curves of all results and their differences.

    Examples:
      inertial-estimation compare results/shipped results/tuned --output results/compared
    """
    add(p, "folders", Path, "DIR", "result folders of replay or identify, two or more", nargs="+")
    shared(p, "--output --overwrite", required=False)
    shared(p, "--no-figures")


def convert(p: Parser) -> None:
    r"""Convert tables of numbers (CSV or text) to a recording: columns to topics, units, stamps, names.

    --map FIELD=COLUMNS names the columns of a field by name, by number from 1 (2-13 is a range, 0 are zeros),
    or by a pattern (q_*: the asterisk stands for the joint). A unit or a factor in brackets holds for the
    columns before it, else they are in SI units. With several files a column is FILE.COLUMN, FILE without its
    ending, where its name alone is not unique; the files of one topic have the same times. Fields: time;
    position, velocity, effort (/joint_states); specific_force, angular_rate (/imu/data); NAME/force,
    NAME/torque (/NAME/wrench, what the ground applies to the robot), or NAME/contact (a switch, or a raw
    number); NAME/pose (x y z qx qy qz qw), NAME/orientation (qx qy qz qw). Signs and zeros of single joints
    are parameters (drive_gains, joint_offsets).

    Examples:
      inertial-estimation convert log.csv --map time=t[ms] --map position=q_*[deg] --map velocity=dq_* \
          --map effort=tau_* --output bag
      inertial-estimation convert q.txt tau.txt --rate 1000 --map position=q.1-7 --map effort=tau.1-7 \
          --joints a b c d e f g --output bag
    """
    add(p, "tables", Path, "FILE", "tables of numbers, CSV or text", nargs="+")
    maps = "columns of a field, with their unit in brackets"
    add(p, "--map", [], "FIELD=COLUMNS", maps, dest="maps", required=True)
    add(p, "--joints", (), "JOINT", "joints in the order of the columns (what the asterisk stands for)")
    add(p, "--rate", 0.0, "HZ", "rate of the rows without a time")
    shared(p, "--output --storage --overwrite")


def play(p: Parser) -> None:
    """Publish a rosbag2 recording (mcap or sqlite3) on its topics, with /clock, at its own pace.

    Start the nodes with `use_sim_time:=true`, so that they follow the clock of the recording. It begins when
    no further subscriber has appeared for a second.

    Examples:
      inertial-estimation play BAG --remap /imu:=/imu/data --loop
    """
    shared(p, "bag")
    add(p, "--rate", 1.0, "X", "speed as a multiple of real time", positive=True)
    add(p, "--loop", False, "", "start again at the end")
    add(p, "--subscribers", 0, "N", "wait, at most 60 s, until a topic has N subscribers")
    shared(p, "--remap", help="publish topic A under the name B; repeat it for more")


def view(p: Parser) -> None:
    """Show a recording that replay has written with --rrd, in the viewer Rerun.

    The viewer ends with the command: with a signal, too, no process of it is left.

    Examples:
      inertial-estimation view hyq.rrd
    """
    add(p, "file", Path, "FILE.rrd", "recording for the viewer")
    add(p, "--web", False, "", "serve the viewer for a browser, on a machine without a display")


def identify(p: Parser) -> None:
    r"""Identify inertial parameters and friction from recordings.

    Writes identification.json, report.html, identified.urdf and friction.yaml (a parameter file for the
    nodes) into the output folder. Parameters are those of the sections /**, inertial_ekf (rows,
    friction) and identification of the parameter file.

    Examples:
      inertial-estimation identify BAG --config panda --split 14 --compare --output results/panda
    """
    shared(p, "bags --config --urdf --output --overwrite")
    add(p, "--method", METHODS[-1], "NAME", f"one of {', '.join(METHODS)} ({METHODS[-1]})")
    add(p, "--compare", False, "", "run all methods; the result of --method is written")
    add(p, "--validate", [], "BAG", "recording that validates the result")
    add(p, "--split", float, "S", "fit the first S seconds of each bag and validate with the rest")
    add(p, "--links", (), "LINK", "identify only the bodies of these links, by name or pattern")
    add(p, "--payload", "", "LINK", "identify a load fixed to this link as a body of its own")
    add(p, "--unloaded", [], "BAG", "recording of the robot without the load of --payload")
    shared(p, "--remap --param --no-figures")


def export(p: Parser) -> None:
    r"""Write an estimated robot for simulators and learning, with variants drawn from its uncertainty.

    It is its description (URDF), or a model of yours (--model, MJCF) in which only the inertias of estimated
    links are replaced. With --samples N the folder also has N variants, each of them physically consistent.

    Examples:
      inertial-estimation export results/talos --model talos.xml --output robots --samples 100 --seed 1
    """
    add(p, "results", Path, "DIR", "result folder of identify or replay")
    add(p, "--model", Path, "FILE", "your MJCF, in which the inertias of estimated links are replaced")
    add(p, "--samples", 0, "N", "variants to draw")
    shared(p, "--seed --output --overwrite")


def excite(p: Parser) -> None:
    """Design a motion that identifies a robot: an arm, a leg of a robot that hangs by its trunk, or poses.

    Writes trajectory.csv, trajectory (rosbag2 with a JointTrajectory), design.json and report.html into
    the output folder. The parameter file is that of the command identify and states what is to be
    identified.

    Examples:
      inertial-estimation excite --config panda --objective condition --output results/motion
    """
    from inertial_estimation.identification.excitation.excitation_config import ExcitationConfig
    from inertial_estimation.parameters import iterate_parameters

    shared(p, "--config --urdf --output --overwrite")
    add(p, "--joints", (), "JOINT", "joints that move, by name or pattern; the others are held")
    add(p, "--links", (), "LINK", "links whose parameters are to be identified")
    shared(p, "--seed --jobs --param --no-figures")
    for spec in iterate_parameters(ExcitationConfig):
        p.add_argument(
            f"--{spec.name.replace('_', '-')}",
            dest=spec.name,
            type=type(spec.default),
            choices=spec.choices or None,
            metavar=None if spec.choices else spec.unit.upper() or "N",
            help=f"{spec.description.rstrip('.')} (default {spec.default})",
        )


def calibrate(p: Parser) -> None:
    r"""Joint offsets from flat feet, from a frame on a plane, or from a motion-capture marker.

    flat-feet BAG|CSV  both soles flat on the floor, links with an IMU measured (Yamane, section II)
    plane CSV          a frame held flush on one unknown plane, one posture a row
    marker CSV         positions x1, y1, z1 of a marker on a link, one posture a row

    Writes joint_offsets.yaml (a ROS parameter file: load it after the robot's own), calibration.json
    and report.html into the output folder. Offsets are written only if the samples identify them, and if
    they predict left-out samples better than no offsets do. See docs/calibration.md.

    Examples:
      inertial-estimation calibrate flat-feet BAG --config talos --output results/offsets
    """
    kinds = p.add_subparsers(dest="kind", required=True, metavar="KIND")
    feet = kinds.add_parser("flat-feet", help="both soles flat on the floor")
    plane = kinds.add_parser("plane", help="a frame held flush on an unknown plane")
    marker = kinds.add_parser("marker", help="a motion-capture marker on a link")
    for one in (feet, plane, marker):
        add(one, "source", Path, "SOURCE", "CSV, one posture a row; of flat-feet also a rosbag2")
        shared(one, "--config --urdf --output --overwrite")
        joints = "joints to calibrate, by name or pattern (all; plane: beyond the leg)"
        add(one, "--joints", (), "JOINT", joints)
        shared(one, "--param --no-figures")
    imu_link = "link with an IMU (imu_frame:/imu/data); none: the soles alone"
    add(feet, "--imu-link", [], "LINK[:TOPIC]", imu_link)
    shared(feet, "--remap")
    add(feet, "--interval", 1.8, "S", "time between two postures taken from a bag", positive=True)
    validating = "time between those that validate the result; 0: no validation"
    add(feet, "--held-out-interval", 0.2, "S", validating)
    add(feet, "--use-yaw", False, "", "use the yaw of the IMUs, which share one yaw reference")
    add(marker, "--marker", 1, "N", "number N of the marker in columns xN, yN, zN", low=1)
    for one in (plane, marker):
        frame = "link that is held on the plane, or that carries the marker"
        add(one, "--frame", str, "LINK", frame, required=True)
        fixed = "frame that does not move (the first contact; marker: the base)"
        add(one, "--reference", str, "FRAME", fixed)


def synthesize(p: Parser) -> None:
    r"""Write a synthetic recording with known truth as a rosbag2; joint torques come from inverse dynamics.

    The robot rests, then moves smoothly or along a trajectory of the command excite. At a given time a
    weight is attached to one of its links. With --config the robot has the friction of the parameter
    files, and its readings have their joint offsets and drive gains. The folder of the bag also holds
    truth.json, with the true mass, payload, sensor errors and inertias over time (replay compares with
    them), and truth.urdf, the true robot.

    Examples:
      inertial-estimation synthesize arm --config panda --trajectory trajectory.csv --payload-mass 2 \
          --output bag
    """
    add(p, "robot", str, "", "arm is any robot with a fixed base, with --urdf or --config", choices=ROBOTS)
    shared(p, "--output --storage --overwrite")
    shared(p, "--config --urdf", required=False)
    add(p, "--trajectory", Path, "CSV", "trajectory an arm follows, of the command excite")
    add(p, "--mass-sigma", 0.0, "X", "deviation of the logarithm of the true masses from the description")
    add(p, "--com-sigma", 0.0, "M", "deviation of the true centres of mass from the description")
    add(p, "--payload-mass", float, "KG", "mass of the weight (5.44 kg, 12 lb)")
    add(p, "--payload-link", "", "LINK", "link the weight is attached to (by robot)")
    add(p, "--payload-time", 5.0, "S", "when the weight is attached; negative: never", low=-math.inf)
    add(p, "--duration", 12.0, "S", "length of the recording", positive=True)
    add(p, "--rate", 250.0, "HZ", "rate of the samples", positive=True)
    shared(p, "--noise-free --seed")


def simulate(p: Parser) -> None:
    r"""Simulate a robot that stands on its own estimates and write its sensor readings as a rosbag2.

    Simulation, estimators and controller run in one process. The robot hangs on a hoist, is released,
    stands, and walks if --walk asks for it; an arm swings about its stance (--swing). All other times count
    from the release. The errors of the estimates are printed at the end. The file truth.json in the folder
    of the bag holds the true inertias of all links over time (replay compares with them). The exit code is 1
    if the robot fell; the bag is written nevertheless.

    Examples:
      inertial-estimation simulate --config hyq --walk 100 0.1 1 --inertias trunk_payload --output bag
      inertial-estimation simulate --config go2 --disturbance '{kind: ball, link: base, mass: 2, at: [0, \
          0, 0.1], start: 4}' --output bag
    """
    shared(p, "--config --urdf --output --storage --overwrite")
    add(p, "--duration", 12.0, "S", "time from the release to the end", positive=True)
    add(p, "--hoist", float, "S", "time at rest on the hoist (3 s)")
    add(p, "--disturbance", [], "YAML", "disturbance, as that of the simulator (mass, ball, push)")
    walk = "walk: number of steps (of single feet), length of a step [m], when it begins [s]"
    p.add_argument("--walk", nargs=3, type=float, metavar=("STEPS", "LENGTH", "S"), help=walk)
    add(p, "--swing", float, "RAD", "largest distance of an arm's joints from the stance (0.3 rad)")
    inertias = (
        "inertias the controller uses: those of the URDF or of an estimator (nominal); with "
        "trunk_payload the robot also stands still and tilts as the identification requests"
    )
    trunks = ("nominal", "inertial_ekf", "trunk_payload")
    add(p, "--inertias", "nominal", "", inertias, choices=trunks)
    shared(p, "--noise-free --seed --param")


def experiment(p: Parser) -> None:
    """Run an experiment of the source papers and print its table together with the paper's numbers.

    Writes NAME.json and NAME.html into the output folder. The table marks every bound that is missed; a
    missed bound is a result, so the exit code is 0 nevertheless.

    Examples:
      inertial-estimation experiment foster-elbow --seeds 10 --jobs 4 --output results/experiments
      inertial-estimation experiment all --quick
    """
    add(p, "name", str, "NAME", "name of an experiment, or all", nargs="?")
    add(p, "--list", False, "", "list the experiments")
    add(p, "--seeds", int, "N", "number of seeds (depends on the experiment)", low=1)
    output = Path("results/experiments")
    add(p, "--output", output, "DIR", f"folder for results and figures ({output})")
    add(p, "--quick", False, "", "shortened runs of one seed; their numbers are not results")
    shared(p, "--jobs")


def demo(p: Parser) -> None:
    """Watch Talos take a weight in simulation, with four live nodes over DDS.

    Simulator, tilt observer, inertial filter and whole-body controller run in lockstep. Talos stands,
    and a weight of 12 lb (5.44 kg) is attached to its left forearm. In one run the controller uses the
    inertias of the URDF and the compliant elbow sags; in the other it uses the estimated inertias and
    holds. Both runs take place at the same time, each on its own ROS domain. The exit code is 1 when a run
    ends early.

    Examples:
      inertial-estimation demo
    """
    add(p, "--duration", 4.5, "S", "simulated time of a run, from the release", positive=True)
    add(p, "--no-adaptation", False, "", "only the run without adaptation, in which the elbow sags")
    add(p, "--output", Path("results/demo"), "DIR", "folder for results and figures (results/demo)")


def monitor(p: Parser) -> None:
    """Show live nodes in a table: inputs with rates and ages, tilt, masses with deviations, warnings.

    The nodes are all those in the namespace that publish telemetry or diagnostics. The key q or
    Ctrl-C ends the command. When the output is not a terminal, tables are printed one after the other,
    without colours.

    Examples:
      inertial-estimation monitor
      inertial-estimation monitor --once --namespace /robot1
    """
    add(p, "--namespace", "/", "NS", "show the nodes in this namespace and below (/)")
    add(p, "--once", False, "", "print one table and exit")
    add(p, "--wait", 10.0, "S", "longest time that --once waits for nodes", positive=True)
