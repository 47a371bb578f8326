"""The command lines: what each command takes, and its help.

They import no library, so that help and completion answer at once.
"""

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Parser = argparse.ArgumentParser

# Repeated from the libraries that hold them, which a help does not load; a test compares them.
ESTIMATORS = ("tilt_observer", "inertial_ekf", "trunk_payload")
KINDS = ("humanoid", "quadruped", "arm")
MODEL_FORMATS = ("urdf", "mjcf")
METHODS = ("least-squares", "bounded-gradient", "nullspace-prior", "ridge", "consistent")
ROBOTS = ("arm", "panda", "talos")
STORAGES = ("mcap", "sqlite3")
PAYLOAD_KG = 5.44  # 12 lb
HOIST_S = 3.0  # [s]


def number(parser: Parser, option: str, default: float | None, metavar: str, meaning: str) -> None:
    """Declare an option with a number, an integer where its default is one; `metavar` is its unit."""
    kind = float if default is None else type(default)
    parser.add_argument(option, type=kind, default=default, metavar=metavar, help=meaning)


def switch(parser: Parser, option: str, meaning: str) -> None:
    """Declare an option without a value."""
    parser.add_argument(option, action="store_true", help=meaning)


def text(parser: Parser, option: str, metavar: str, meaning: str) -> None:
    """Declare an option with a text, empty by default."""
    parser.add_argument(option, default="", metavar=metavar, help=meaning)


def file(parser: Parser, option: str, metavar: str, meaning: str) -> None:
    """Declare an option with the path of a file, none by default."""
    parser.add_argument(option, type=Path, metavar=metavar, help=meaning)


def names(parser: Parser, option: str, metavar: str, meaning: str) -> None:
    """Declare a list of names, which is given in one piece or piece by piece."""
    parser.add_argument(option, nargs="+", action="extend", default=[], metavar=metavar, help=meaning)


def repeated(parser: Parser, option: str, metavar: str, meaning: str) -> None:
    """Declare an option with one value, which may be repeated."""
    meaning += "; repeat it for more"
    parser.add_argument(option, action="append", default=[], metavar=metavar, help=meaning)


def completed_by(action: argparse.Action, known: Callable[[], Iterable[str]]) -> None:
    """Let the shell complete a value by names and by the files of the working directory."""

    def completer(prefix: str, **_asked: Any) -> list[str]:
        return [*known(), *(str(path) for path in Path().glob(f"{prefix}*") if prefix)]

    action.completer = completer  # type: ignore[attr-defined]


def robot(parser: Parser, examples: str, more: str = "", *, required: bool = True) -> None:
    """Declare ``--config``, with examples of robots and what later files usually hold, and ``--urdf``."""
    later = "repeat it for more files, later ones override earlier ones" + (f" ({more})" if more else "")
    meaning = f"ROS parameter file or the name of a robot ({examples}); {later}"
    config = parser.add_argument(
        "--config", action="append", required=required, default=[], metavar="NAME|FILE", help=meaning
    )
    completed_by(config, robot_names)
    text(parser, "--urdf", "SOURCE", "robot description; overrides the parameter 'urdf'")


def robot_names() -> list[str]:
    """Return the names of the robots whose parameter files come with the package."""
    from inertial_estimation.configuration.config_file import robot_files

    return sorted(robot_files())


def bag(parser: Parser) -> None:
    """Declare the recording that is read."""
    parser.add_argument("bag", type=Path, help="rosbag2 folder, its .mcap or .db3 file, or a .bag of ROS 1")


def bags(parser: Parser) -> None:
    """Declare the recordings that are read, one or more."""
    bags = "rosbag2 folders, .mcap or .db3 files, or .bag files of ROS 1"
    parser.add_argument("bags", nargs="+", metavar="BAG", help=bags)


def reference(parser: Parser, effect: str = "") -> None:
    """Declare ``--reference``, with what it is used for where that is not evident."""
    meaning = f"topic of the true pose or orientation, PoseStamped or QuaternionStamped{effect}"
    parser.add_argument("--reference", metavar="TOPIC", help=meaning)


def output(parser: Parser, meaning: str = "folder the results are written to", required: bool = True) -> None:
    """Declare ``--output`` and ``--overwrite``; `arguments.check_output` checks them."""
    meaning = f"{meaning}, new or empty"
    parser.add_argument("--output", type=Path, metavar="DIR", required=required, help=meaning)
    switch(parser, "--overwrite", "replace the results of an earlier run in that folder")


def shared_output(parser: Parser, folder: str) -> None:
    """Declare ``--output`` of a command that has a folder for all its results."""
    meaning = f"folder for results and figures ({folder})"
    parser.add_argument("--output", type=Path, default=Path(folder), metavar="DIR", help=meaning)


def output_bag(parser: Parser) -> None:
    """Declare ``--output``, ``--storage`` and ``--overwrite`` of a command that writes a recording."""
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="folder of the new rosbag2")
    parser.add_argument("--storage", choices=STORAGES, default="mcap", help="format of the bag (mcap)")
    switch(parser, "--overwrite", "replace a rosbag2 that exists there")


def sensors(parser: Parser, of_seed: str) -> None:
    """Declare ``--noise-free`` and ``--seed`` of what is random."""
    switch(parser, "--noise-free", "simulate sensors without noise and bias")
    number(parser, "--seed", 0, "N", f"seed of {of_seed} (0)")


def no_figures(parser: Parser, what: str = "report.html") -> None:
    """Declare ``--no-figures`` with what is not written."""
    switch(parser, "--no-figures", f"write no {what}")


def remap(parser: Parser, meaning: str = "read topic B in place of A") -> None:
    """Declare ``--remap`` with what ``A:=B`` does; `arguments.parse_remappings` reads it."""
    repeated(parser, "--remap", "A:=B", meaning)


def jobs(parser: Parser, what: str) -> None:
    """Declare ``--jobs`` with what is repeated."""
    meaning = f"processes that share the {what}; results do not depend on their number (1)"
    number(parser, "--jobs", 1, "N", meaning)


def param(parser: Parser, form: str = "NODE.NAME=VALUE") -> None:
    """Declare ``--param`` with the form of its values."""
    repeated(parser, "--param", form, "override a parameter of the files ('/**' is the section of all nodes)")


def rrd(parser: Parser) -> None:
    """Declare ``--rrd``; `arguments.checked_rrd` checks it."""
    file(parser, "--rrd", "FILE", "also write the moving robot to FILE.rrd, which 'rerun FILE.rrd' shows")


def init(parser: Parser) -> None:
    r"""Write the first parameter file of a robot from its URDF, complete and commented.

    The URDF tells the kind of the robot, where IMU, soles and force sensors are, which joints never carry
    a load, how it stands, and how large noise and thresholds should be. What could not be found is marked
    by CHECK, also in the file. At the end the file is tried: every node's parameters are read, and the
    robot stands (an arm: holds its posture) in simulation for a second.

    Examples:
      inertial-estimation init g1 --output g1.yaml
      inertial-estimation init robot.urdf --imu imu_torso --soles l_sole,r_sole --output my_robot.yaml
      inertial-estimation init package://my_description/urdf/arm.urdf --kind arm --links tool0 --output \
          arm.yaml
    """
    urdf = "robot description: a file, package://PACKAGE/FILE, or a robot of example-robot-data (g1, ur5)"
    parser.add_argument("urdf", help=urdf)
    file(parser, "--output", "FILE", "parameter file to write; without it nothing is written")
    switch(parser, "--overwrite", "replace a file that exists there")
    parser.add_argument("--kind", choices=KINDS, default="", help="kind of the robot (found out)")
    text(parser, "--imu", "LINK", "link of the IMU (found by its name)")
    names(parser, "--soles", "A,B", "contact frames, one a leg, left before right and front before rear")
    names(parser, "--links", "A,B", "links to estimate")
    names(parser, "--lock", "A,B", "joints to lock, also shell patterns, besides those that are found")
    names(parser, "--unlock", "A,B", "joints that are not to be locked, though they would be")
    switch(parser, "--no-trial", "do not try the file in simulation")


def replay(parser: Parser) -> None:
    r"""Run a rosbag2 recording through the same estimators as the nodes, without ROS.

    Writes tables of the estimates (--format csv), a bag of them with their inputs (--format mcap),
    metrics.json and report.html. A simulated or synthetic recording is compared with its truth.

    Examples:
      inertial-estimation replay BAG --config icub --urdf robot.urdf --reference /vicon/root_link/pose \
          --output results/icub
      inertial-estimation replay BAG --config panda --hold-out 14 --param inertial_ekf.rate=100 --output \
          results/panda --rrd panda.rrd
    """
    bag(parser)
    robot(parser, "icub, panda", "offsets, friction")
    output(parser)
    number(parser, "--start", 0.0, "S", "begin S seconds into the bag (0 s)")
    hold_out = "freeze the estimates S seconds after the start of the bag; torque errors are of the rest"
    number(parser, "--hold-out", None, "S", hold_out)
    repeated(parser, "--only", "NODE", f"run only this estimator ({', '.join(ESTIMATORS)})")
    reference(parser)
    trusted = "file with 0 or 1 for each sample of the reference: whether it is trusted"
    file(parser, "--trusted", "CSV", trusted)
    settle = "exclude the first S seconds of estimates from the errors of the base"
    number(parser, "--settle", 0.0, "S", settle)
    remap(parser)
    param(parser)
    form = "write the estimates as tables, as a bag of the nodes' topics with their inputs, or both (csv)"
    parser.add_argument("--format", choices=("csv", "mcap", "both"), default="csv", help=form)
    no_figures(parser)
    rrd(parser)


def check(parser: Parser) -> None:
    """Examine a recording of a robot: what is wrong with its data or its description, and what mends it.

    Some 20 s are enough, standing or moving. With --output, report.html and check.json are written; with
    --fix, a parameter file of what can be set. The exit code is 0 if nothing is wrong (warnings allowed),
    1 if something is, 2 if the recording, the description or the parameter file cannot be used.

    Examples:
      inertial-estimation check BAG --config icub --urdf robot.urdf --output results/check
      inertial-estimation check BAG --config my_robot.yaml --start 5 --duration 20 --fix fixes.yaml
    """
    bag(parser)
    robot(parser, "icub, panda", "earlier fixes, offsets")
    output(parser, required=False)
    file(parser, "--fix", "FILE", "write a parameter file (.yaml) of what can be set")
    number(parser, "--start", 0.0, "S", "begin S seconds into the bag (0 s)")
    number(parser, "--duration", 60.0, "S", "examine S seconds of it (60)")
    remap(parser)
    param(parser)


def tune(parser: Parser) -> None:
    r"""Find better parameters of the estimators from recordings, with a reference or without.

    Without a reference the tilt is judged by the readings that come after it, the inertial filter by
    the likelihood of its innovations. Values are searched on all parts of the recordings but the last,
    and judged on it. Writes tuned.yaml, tuning.json and report.html.

    Examples:
      inertial-estimation tune BAG --config icub --urdf robot.urdf --vary filter.velocity_drift \
          filter.freedom=0.05:1 --output tuned
      inertial-estimation tune BAG --config panda --vary noise.torque noise.joint_acceleration --jobs 4 \
          --output tuned
    """
    bags(parser)
    robot(parser, "icub, panda", "offsets, friction")
    output(parser)
    parser.add_argument(
        "--vary",
        nargs="+",
        action="extend",
        required=True,
        metavar="NAME[=LOW:HIGH]",
        help="parameters and their ranges; a name alone is varied by a factor of ten up and down",
    )
    number(parser, "--trials", 100, "N", "number of trials (100)")
    number(parser, "--seed", 0, "N", "seed of the search (0)")
    jobs(parser, "trials")
    number(parser, "--start", 0.0, "S", "begin S seconds into the bags (0 s)")
    number(parser, "--settle", 2.0, "S", "do not score the first S seconds (2 s)")
    reference(parser, ": the tilt is tuned by it, else by later readings")
    trusted = "file with 0 or 1 for each sample of the reference: whether it is trusted; one for each bag"
    parser.add_argument("--trusted", type=Path, action="append", default=[], metavar="CSV", help=trusted)
    remap(parser)
    param(parser)
    no_figures(parser)


def compare(parser: Parser) -> None:
    """Compare results of replay or identify: values, and what differs in recordings and settings.

    The first folder is what the others are compared with. With --output the table is also written as
    compare.csv, and report.html shows it with the curves of all results and their differences.

    Examples:
      inertial-estimation compare results/shipped results/tuned --output results/compared
      inertial-estimation compare results/a results/b results/c
    """
    folders = "result folders of replay or identify, two or more"
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR", help=folders)
    output(parser, "folder for table and report", required=False)
    no_figures(parser)


def convert(parser: Parser) -> None:
    r"""Convert tables of numbers (CSV or text) to a recording: columns to topics, units, stamps, names.

    --map FIELD=COLUMNS names the columns of a field by name, by number from 1 (2-13 is a range), or by
    a pattern (q_*: the asterisk stands for the joint). A unit or a factor in brackets holds for the columns
    before it, else they are in SI units. With several files a column is FILE.COLUMN, FILE without its ending,
    where its name alone is not unique; the files of one topic have the same times. Fields: time; position,
    velocity, effort (/joint_states); specific_force, angular_rate (/imu/data); NAME/force, NAME/torque
    (/NAME/wrench, what the ground applies to the robot); NAME/pose (x y z qx qy qz qw), NAME/orientation
    (qx qy qz qw). Signs and zeros of single joints are parameters (drive_gains, joint_offsets).

    Examples:
      inertial-estimation convert log.csv --map time=t[ms] --map position=q_*[deg] --map velocity=dq_* \
          --map effort=tau_* --output bag
      inertial-estimation convert q.txt tau.txt --rate 1000 --map position=q.1-7 --map effort=tau.1-7 \
          --joints a b c d e f g --output bag
    """
    parser.add_argument("tables", nargs="+", type=Path, metavar="FILE", help="tables of numbers, CSV or text")
    maps = "columns of a field, with their unit in brackets; repeat it for more fields"
    parser.add_argument(
        "--map", dest="maps", action="append", required=True, metavar="FIELD=COLUMNS", help=maps
    )
    joints = "names of the joints in the order of the columns (default: what the asterisk stands for)"
    names(parser, "--joints", "JOINT", joints)
    number(parser, "--rate", 0.0, "HZ", "rate of the rows without a time")
    output_bag(parser)


def play(parser: Parser) -> None:
    """Publish a rosbag2 recording (mcap or sqlite3) on its topics, with /clock, at its own pace.

    Start the nodes with `use_sim_time:=true`, so that they follow the clock of the recording.

    Examples:
      inertial-estimation play BAG --rate 0.5
      inertial-estimation play BAG --remap /imu:=/imu/data --loop
    """
    bag(parser)
    number(parser, "--rate", 1.0, "X", "speed as a multiple of real time (1)")
    switch(parser, "--loop", "start again at the end")
    number(parser, "--clock-rate", 200.0, "HZ", "rate of /clock (200 Hz); 0: no /clock")
    number(parser, "--wait", 5.0, "S", "longest time to wait for subscribers (5 s)")
    number(parser, "--subscribers", 1, "N", "start once a topic has N subscribers (1)")
    remap(parser, "publish topic A under the name B")


def identify(parser: Parser) -> None:
    r"""Identify inertial parameters and friction from recordings.

    Writes identification.json, report.html, identified.urdf and friction.yaml (a parameter file for the
    nodes) into the output folder. Parameters are those of the sections /**, inertial_ekf (rows,
    friction) and identification of the parameter file.

    Examples:
      inertial-estimation identify BAG --config panda --split 14 --compare --output results/panda
      inertial-estimation identify BAG --config panda --payload panda_link8 --unloaded EMPTY_BAG \
          --output results/tool
    """
    bags(parser)
    robot(parser, "icub, panda", "offsets, known friction")
    output(parser)
    text(parser, "--method", "NAME", f"one of {', '.join(METHODS)}; default {METHODS[-1]}")
    switch(parser, "--compare", "run all methods; the result of --method is written")
    repeated(parser, "--validate", "BAG", "recording that validates the result")
    number(parser, "--split", None, "S", "fit the first S seconds of each bag and validate with the rest")
    names(parser, "--links", "LINK", "identify only the bodies of these links, by name or pattern")
    payload = "identify a load fixed to this link as a body of its own (identification.payload.link)"
    text(parser, "--payload", "LINK", payload)
    repeated(parser, "--unloaded", "BAG", "recording of the robot without the load of --payload")
    remap(parser)
    param(parser, "identification.NAME=VALUE")
    no_figures(parser)


def export(parser: Parser) -> None:
    r"""Write an estimated robot for simulators and learning, with variants drawn from its uncertainty.

    FORMAT URDF is its description with the estimated inertias; MJCF is converted from it, or is
    a model of yours (--model) in which only the inertias of estimated links are replaced. With --samples N
    the folder also has N variants, each of them physically consistent.

    Examples:
      inertial-estimation export found --output robots --samples 20
      inertial-estimation export results/talos --format mjcf --model talos.xml --output robots --samples \
          100 --seed 1
    """
    parser.add_argument("results", type=Path, metavar="DIR", help="result folder of identify or replay")
    parser.add_argument("--format", choices=MODEL_FORMATS, default="urdf", help="format to write (urdf)")
    model = "your MJCF of the robot, in which the inertias of the estimated links are replaced"
    file(parser, "--model", "FILE", model)
    number(parser, "--samples", 0, "N", "variants to draw (0)")
    number(parser, "--seed", 0, "N", "seed of the variants (0)")
    output(parser)


def excite(parser: Parser) -> None:
    """Design a motion that identifies a robot: an arm, a leg of a robot that hangs by its trunk, or poses.

    Writes trajectory.csv, trajectory (rosbag2 with a JointTrajectory), design.json and design.png into
    the output folder. The parameter file is that of the command identify and states what is to be
    identified.

    Examples:
      inertial-estimation excite --config panda --objective condition --output results/motion
      inertial-estimation excite --config hyq --leg lf --output results/leg
    """
    from inertial_estimation.identification.excitation.excitation_config import ExcitationConfig
    from inertial_estimation.parameters import iterate_parameters

    robot(parser, "panda, hyq")
    output(parser)
    text(parser, "--leg", "PREFIX", "prefix of the leg that moves while the trunk is held, for instance lf")
    names(parser, "--joints", "JOINT", "joints that move, by name or pattern; the others are held")
    names(parser, "--links", "LINK", "links whose parameters are to be identified")
    number(parser, "--seed", 0, "N", "seed of the random motions; the same seed gives the same motion (0)")
    number(parser, "--compare-random", 0, "N", "compare the result with N random motions (0)")
    jobs(parser, "random motions to compare with")
    param(parser, "identification.NAME=VALUE")
    no_figures(parser, "figure")
    for spec in iterate_parameters(ExcitationConfig):
        parser.add_argument(
            f"--{spec.name.replace('_', '-')}",
            dest=spec.name,
            type=type(spec.default),
            choices=spec.choices or None,
            metavar=None if spec.choices else spec.unit.upper() or "N",
            help=f"{spec.description.rstrip('.')} (default {spec.default})",
        )


def calibrate(parser: Parser) -> None:
    r"""Joint offsets from flat feet, from a frame on a plane, or from a motion-capture marker.

    flat-feet BAG|CSV  both soles flat on the floor, links with an IMU measured (Yamane, section II)
    plane CSV          a frame held flush on one unknown plane, one posture a row
    marker CSV         positions x1, y1, z1 of a marker on a link, one posture a row

    Writes joint_offsets.yaml (a ROS parameter file: load it after the robot's own), calibration.json
    and figures into the output folder. Offsets are written only if the samples identify them, and if
    they predict left-out samples better than no offsets do. See docs/calibration.md.

    Examples:
      inertial-estimation calibrate flat-feet BAG --config talos --output results/offsets
      inertial-estimation calibrate plane postures.csv --config talos --frame gripper_left_base_link \
          --output results/arm
    """
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="KIND")
    feet = kinds.add_parser("flat-feet", help="both soles flat on the floor")
    plane = kinds.add_parser("plane", help="a frame held flush on an unknown plane")
    marker = kinds.add_parser("marker", help="a motion-capture marker on a link")
    for one in (feet, plane, marker):
        source = "rosbag2 folder or file, or CSV" if one is feet else "CSV, one posture a row"
        one.add_argument("source", type=Path, help=source)
        robot(one, "talos", "known offsets")
        output(one)
        joints = "joints to calibrate, by name or pattern (plane: those beyond the leg; otherwise all)"
        names(one, "--joints", "JOINT", joints)
        param(one, "calibration.NAME=VALUE")
        switch(one, "--write-combinations", "also write offsets of which only a combination is identified")
        no_figures(one, "figures")
    imu_link = "link whose orientation is measured (repeatable; imu_frame:/imu/data); 'none': the soles alone"
    feet.add_argument("--imu-link", action="append", metavar="LINK[:TOPIC]", help=imu_link)
    remap(feet)
    number(feet, "--interval", 1.8, "S", "time between two postures taken from a bag (1.8 s)")
    validating = "time between those that validate the result (0.2 s; 0: no validation)"
    number(feet, "--held-out-interval", 0.2, "S", validating)
    switch(feet, "--use-yaw", "use the yaw of the IMUs, which share one yaw reference")
    axis = "axis of the frame normal to the plane: x, -x, y, ... (determined from the data)"
    text(plane, "--axis", "AXIS", axis)
    number(marker, "--marker", 1, "N", "number N of the marker in columns xN, yN, zN (1)")
    for one in (plane, marker):
        frame = "link that is held on the plane, or that carries the marker"
        one.add_argument("--frame", required=True, help=frame)
        fixed = "frame that does not move (plane: the first contact; marker: the base link)"
        one.add_argument("--reference", metavar="FRAME", help=fixed)
        priors = "use the priors of the parameters instead of choosing them by leave-one-out"
        switch(one, "--fixed-priors", priors)
        exact = "choose priors under the assumption that the joint placements of the description are exact"
        switch(one, "--exact-description", exact)


def synthesize(parser: Parser) -> None:
    r"""Write a synthetic recording with known truth as a rosbag2; joint torques come from inverse dynamics.

    The robot rests, then moves smoothly or along a trajectory of the command excite. At a given time a
    weight is attached to one of its links. With --config the robot has the friction of the parameter
    files, and its readings have their joint offsets and drive gains. The folder of the bag also holds
    truth.json, with the true mass, payload, sensor errors and inertias over time (replay compares with
    them), and truth.urdf, the true robot.

    Examples:
      inertial-estimation synthesize talos --output bag
      inertial-estimation synthesize arm --config panda --trajectory trajectory.csv --payload-mass 2 \
          --output bag
    """
    kind = "the robot; arm is any robot with a fixed base, with --urdf or --config"
    parser.add_argument("robot", choices=ROBOTS, help=kind)
    output_bag(parser)
    robot(parser, "panda", "friction, joint offsets", required=False)
    file(parser, "--trajectory", "CSV", "trajectory an arm follows, as the command excite writes it")
    masses = "standard deviation of the logarithm of the true masses over those of the description (0)"
    number(parser, "--mass-sigma", 0.0, "X", masses)
    com_sigma = "standard deviation of the true centres of mass from those of the description (0 m)"
    number(parser, "--com-sigma", 0.0, "M", com_sigma)
    number(parser, "--payload-mass", PAYLOAD_KG, "KG", f"mass of the weight ({PAYLOAD_KG:g} kg)")
    text(parser, "--payload-link", "LINK", "link the weight is attached to (by robot)")
    number(parser, "--payload-time", 5.0, "S", "when the weight is attached (5 s); negative: never")
    number(parser, "--duration", 12.0, "S", "length of the recording (12 s)")
    number(parser, "--rate", 250.0, "HZ", "rate of the samples (250 Hz)")
    sensors(parser, "motion, noise and true robot")
    number(parser, "--delay", 0.0, "S", "delay of the stamps of joint states and wrenches (0 s)")
    number(parser, "--dropped", 0.0, "SHARE", "share of the messages that are lost (0)")


def simulate(parser: Parser) -> None:
    r"""Simulate a robot that stands on its own estimates and write its sensor readings as a rosbag2.

    Simulation, estimators and controller run in one process. The robot hangs on a hoist, is released,
    stands, and walks if --walk asks for it; an arm swings about its stance (--swing). All other times count
    from the release. The errors of the estimates are printed at the end. The file truth.json in the folder
    of the bag holds the true inertias of all links over time (replay compares with them). The exit code is 1
    if the robot fell; the bag is written nevertheless.

    Examples:
      inertial-estimation simulate --config go2 --output bag
      inertial-estimation simulate --config hyq --walk 100 0.1 1 --inertias trunk_payload --output bag \
          --rrd walk.rrd
      inertial-estimation simulate --config go2 --disturbance '{kind: ball, link: base, mass: 2, at: [0, \
          0, 0.1], start: 4}' --output bag
    """
    robot(parser, "hyq, go2, talos")
    output_bag(parser)
    number(parser, "--duration", 12.0, "S", "time from the release to the end (12 s)")
    number(parser, "--hoist", HOIST_S, "S", f"time at rest on the hoist ({HOIST_S:g} s)")
    disturbance = "disturbance of the robot, as that of the simulator (kinds mass, ball, push and impact)"
    repeated(parser, "--disturbance", "YAML", disturbance)
    walk = "walk: number of steps (of single feet), length of a step [m], when it begins [s]"
    parser.add_argument("--walk", nargs=3, type=float, metavar=("STEPS", "LENGTH", "S"), help=walk)
    swing = "largest distance of an arm's joints from the stance; 0 holds it (0.3 rad)"
    number(parser, "--swing", None, "RAD", swing)
    inertias = (
        "inertias the controller uses: those of the URDF or of an estimator (nominal); with "
        "trunk_payload the robot also stands still and tilts as the identification requests"
    )
    trunks = ("nominal", "inertial_ekf", "trunk_payload")
    parser.add_argument("--inertias", choices=trunks, default="nominal", help=inertias)
    sensors(parser, "the sensor noise")
    param(parser)
    rrd(parser)


def experiment(parser: Parser) -> None:
    """Run an experiment of the source papers and print its table together with the paper's numbers.

    Writes NAME.json and NAME.png into the output folder. The table marks every bound that is missed; a
    missed bound is a result, so the exit code is 0 nevertheless.

    Examples:
      inertial-estimation experiment --list
      inertial-estimation experiment foster-elbow --seeds 10 --jobs 4 --output results/experiments
      inertial-estimation experiment all --quick
    """
    parser.add_argument("name", nargs="?", metavar="NAME", help="name of an experiment, or all")
    switch(parser, "--list", "list the experiments")
    parser.add_argument("--seeds", type=int, metavar="N", help="number of seeds (depends on the experiment)")
    shared_output(parser, "results/experiments")
    quick = "shortened runs of one seed that exercise every part; their numbers are not results"
    switch(parser, "--quick", quick)
    jobs(parser, "runs of an experiment")


def demo(parser: Parser) -> None:
    """Watch Talos take a weight in simulation, with four live nodes over DDS.

    Simulator, tilt observer, inertial filter and whole-body controller run in lockstep. Talos stands,
    and a weight of 12 lb (5.44 kg) is attached to its left forearm. In one run the controller uses the
    inertias of the URDF and the compliant elbow sags; in the other it uses the estimated inertias and
    holds. Both runs take place at the same time, each on its own ROS domain, or one after the other on
    that of ROS_DOMAIN_ID. The exit code is 1 when a run ends early, or another program publishes on its
    topics.

    Examples:
      inertial-estimation demo
      inertial-estimation demo --duration 8 --no-adaptation
    """
    number(parser, "--duration", 4.5, "S", "simulated time of a run, from the release (4.5 s)")
    switch(parser, "--no-adaptation", "only the run without adaptation, in which the elbow sags")
    shared_output(parser, "results/demo")


def monitor(parser: Parser) -> None:
    """Show live nodes in a table: inputs with rates and ages, tilt, masses with deviations, warnings.

    The nodes are all those in the namespace that publish telemetry or diagnostics. The key q, or
    Ctrl-C, ends the command. When the output is not a terminal, tables are printed one after the
    other without colours.

    Examples:
      inertial-estimation monitor
      inertial-estimation monitor --once --namespace /robot1
    """
    namespace = "show the nodes in this namespace and below (/)"
    parser.add_argument("--namespace", default="/", metavar="NS", help=namespace)
    switch(parser, "--once", "print one table and exit")
    number(parser, "--wait", 10.0, "S", "longest time that --once waits for nodes (10 s)")
