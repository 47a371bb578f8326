"""The command lines: what each command takes, and its help.

They import no library, so that help and completion answer at once.
"""

import argparse
from pathlib import Path

from inertial_estimation.commands import options

# Repeated from the libraries that hold them, which a help does not load; a test compares them.
ESTIMATORS = ("tilt_observer", "inertial_ekf", "trunk_payload")
KINDS = ("humanoid", "quadruped", "arm")
MODEL_FORMATS = ("urdf", "mjcf", "sdf")
METHODS = ("least-squares", "bounded-gradient", "nullspace-prior", "ridge", "consistent")
SEARCHES = ("optimiser", "random", "grid")
OBJECTIVES = ("later_readings", "reference", "likelihood", "torque")
ROBOTS = ("arm", "panda", "talos")
PAYLOAD_KG = 5.44  # 12 lb
HOIST_S = 3.0  # [s]


def init(parser: argparse.ArgumentParser) -> None:
    r"""Write the first parameter file of a robot from its URDF, complete and commented.

    The URDF tells whether the robot is a humanoid, a quadruped or an arm, which joints never carry a
    load, where IMU, soles and force sensors are, how it stands, and how large noise and thresholds
    should be. Contact frames that it lacks are placed at the lowest points of the feet. What was found
    is shown; what could not be found is marked by CHECK, also in the file. At the end the file is
    tried: every node's parameters are read, and the robot stands (an arm: holds its posture) in
    simulation for a second.

    Examples:
      inertial-estimation init g1 --output g1.yaml
      inertial-estimation init robot.urdf --imu imu_torso --soles l_sole,r_sole --output my_robot.yaml
      inertial-estimation init package://my_description/urdf/arm.urdf --kind arm --links tool0 --output \
          arm.yaml
    """
    parser.add_argument(
        "urdf",
        help="robot description: a file, package://PACKAGE/FILE, or the name of a robot of "
        "example-robot-data (g1, ur5, anymal)",
    )
    options.file(parser, "--output", "FILE", "parameter file to write; without it nothing is written")
    options.switch(parser, "--overwrite", "replace a file that exists there")
    parser.add_argument("--kind", choices=KINDS, default="", help="kind of the robot (found out)")
    options.text(parser, "--imu", "LINK", "link of the IMU (found by its name)")
    options.names(
        parser, "--soles", "A,B", "contact frames, one a leg, left before right and front before rear"
    )
    options.names(parser, "--links", "A,B", "links to estimate")
    options.names(
        parser, "--lock", "A,B", "joints to lock, also shell patterns, besides those that are found"
    )
    options.names(parser, "--unlock", "A,B", "joints that are not to be locked, though they would be")
    options.switch(parser, "--no-trial", "do not try the file in simulation")


def replay(parser: argparse.ArgumentParser) -> None:
    r"""Run a rosbag2 recording through the same estimators as the nodes, without ROS.

    Writes tables of the estimates (--format csv), a bag of them with their inputs (--format mcap),
    metrics.json and report.html. A simulated or synthetic recording is compared with its
    truth. The command compare shows results side by side.

    Examples:
      inertial-estimation replay BAG --config icub --urdf robot.urdf --reference /vicon/root_link/pose \
          --output results/icub
      inertial-estimation replay BAG --config panda --hold-out 14 --param inertial_ekf.rate=100 --output \
          results/panda --rrd panda.rrd
    """
    options.bag(parser)
    options.robot(parser, "icub, panda", "offsets, friction")
    options.output(parser)
    options.number(parser, "--start", 0.0, "S", "begin S seconds into the bag (0 s)")
    hold_out = "freeze the estimates S seconds after the start of the bag; torque errors are of the rest"
    parser.add_argument("--hold-out", type=float, metavar="S", help=hold_out)
    options.repeated(parser, "--only", "NODE", f"run only this estimator ({', '.join(ESTIMATORS)})")
    _add_reference(parser)
    options.remap(parser)
    options.param(parser)
    form = (
        "write the estimates as tables (csv), as a bag of the nodes' topics with their inputs (mcap), "
        "or both (csv)"
    )
    parser.add_argument("--format", choices=("csv", "mcap", "both"), default="csv", help=form)
    options.no_figures(parser, "report.html")
    options.rrd(parser)


def _add_reference(parser: argparse.ArgumentParser) -> None:
    """Declare what the estimates are compared with."""
    options.reference(parser)
    trusted = "file with 0 or 1 for each sample of the reference: whether it is trusted"
    options.file(parser, "--trusted", "CSV", trusted)
    settle = "exclude the first S seconds of estimates from the errors of the base"
    options.number(parser, "--settle", 0.0, "S", settle)


def check(parser: argparse.ArgumentParser) -> None:
    """Examine a recording of a robot: what is wrong with its data or its description, and what mends it.

    Some 20 s are enough, standing or moving: streams, stamps and clocks; stuck and saturated sensors;
    joint positions, velocities and efforts; unit, time offset and mounting of the IMU; contact
    wrenches; masses of the description, which link is most likely wrong, and which links the recording
    can inform.

    With --output, report.html and check.json are written; with --fix, a parameter file of what can be
    set. The exit code is 0 if nothing is wrong (warnings allowed), 1 if something is wrong, 2 if the
    recording, the description or the parameter file cannot be used.

    Examples:
      inertial-estimation check BAG --config icub --urdf robot.urdf --output results/check
      inertial-estimation check BAG --config my_robot.yaml --start 5 --duration 20 --fix fixes.yaml
    """
    options.bag(parser)
    options.robot(parser, "icub, panda", "earlier fixes, offsets")
    options.output(parser, required=False)
    options.file(parser, "--fix", "FILE", "write a parameter file (.yaml) of what can be set")
    options.number(parser, "--start", 0.0, "S", "begin S seconds into the bag (0 s)")
    options.number(parser, "--duration", 60.0, "S", "examine S seconds of it (60)")
    options.remap(parser)
    options.param(parser)


def tune(parser: argparse.ArgumentParser) -> None:
    r"""Find better parameters of the estimators from recordings, with a reference or without.

    Without a reference the tilt is judged by the readings that come after it, the inertial filter by
    the likelihood of its innovations. Values are searched on all parts of the recordings but the last,
    and judged on it. Writes tuned.yaml (a parameter file with what has changed), tuning.json and
    report.html. The same command with the same --storage goes on where it was ended, and several
    processes or machines share the work.

    Examples:
      inertial-estimation tune BAG --config icub --urdf robot.urdf --vary filter.velocity_drift \
          filter.freedom=0.05:1:log --output tuned
      inertial-estimation tune BAG --config panda --vary noise.torque noise.joint_acceleration --jobs 4 \
          --storage tuning.log --output tuned
    """
    options.bags(parser)
    options.robot(parser, "icub, panda", "offsets, friction")
    options.output(parser)
    parser.add_argument(
        "--vary",
        nargs="+",
        action="extend",
        required=True,
        metavar="NAME[=LOW:HIGH[:log]|=A,B]",
        help="parameters and their ranges or choices; a name alone is varied by a factor of ten up and down",
    )
    objective = (
        "what is made small: for the tilt later_readings or, with --reference, reference (then the "
        "default); for the filter likelihood (default) or torque; repeat it for both"
    )
    parser.add_argument("--objective", action="append", default=[], choices=OBJECTIVES, help=objective)
    _add_search(parser)
    _add_judgement(parser)
    options.remap(parser)
    options.param(parser)
    options.no_figures(parser, "report.html")


def _add_search(parser: argparse.ArgumentParser) -> None:
    """Declare how values are searched."""
    method = "how values are chosen (optimiser)"
    parser.add_argument("--method", choices=SEARCHES, default=SEARCHES[0], help=method)
    options.number(parser, "--trials", 100, "N", "number of trials (100)")
    options.number(parser, "--seed", 0, "N", "seed of the search (0)")
    options.workers(parser, "trials", "a grid and a random search give the same with any number")
    storage = "journal file, or database (postgresql://USER@HOST/NAME), in which trials are kept and shared"
    options.text(parser, "--storage", "FILE|URL", storage)


def _add_judgement(parser: argparse.ArgumentParser) -> None:
    """Declare by what the estimates are judged."""
    options.number(parser, "--start", 0.0, "S", "begin S seconds into the bags (0 s)")
    options.number(parser, "--settle", 2.0, "S", "do not score the first S seconds (2 s)")
    folds = "parts of equal length of each recording, the last of which is only judged on (3)"
    options.number(parser, "--folds", 3, "N", folds)
    options.reference(parser, ": the tilt is tuned by it, or with --objective later_readings only judged")
    trusted = "file with 0 or 1 for each sample of the reference: whether it is trusted; one for each bag"
    parser.add_argument("--trusted", type=Path, action="append", default=[], metavar="CSV", help=trusted)


def compare(parser: argparse.ArgumentParser) -> None:
    """Compare results of replay or identify: values, and what differs in recordings and settings.

    The first folder is what the others are compared with. With --output the table is also written as
    compare.csv, and report.html shows it with the curves of all results and their differences.

    Examples:
      inertial-estimation compare results/shipped results/tuned --output results/compared
      inertial-estimation compare results/a results/b results/c
    """
    folders = "result folders of replay or identify, two or more"
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR", help=folders)
    options.output(parser, "folder for table and report", required=False)
    options.no_figures(parser, "report.html")


def convert(parser: argparse.ArgumentParser) -> None:
    r"""Convert tables of numbers (CSV or text) to a recording: columns to topics, units, stamps, names.

    --map FIELD=COLUMNS names the columns of a field by name, by number from 1 (2-13 is a range), or by
    a pattern (q_*: the asterisk stands for the joint); 0 is a column of zeros. A unit or a factor in
    brackets holds for the columns before it, else they are in SI units. With several files a column is
    FILE.COLUMN, FILE without its ending. Fields: time; position, velocity, effort (/joint_states);
    specific_force, angular_rate (/imu/data); NAME/force, NAME/torque (/NAME/wrench, what the ground
    applies to the robot); NAME/pose (x y z qx qy qz qw), NAME/orientation (qx qy qz qw). Signs and
    zeros of single joints are parameters (drive_gains, joint_offsets).

    Examples:
      inertial-estimation convert log.csv --map time=t[ms] --map position=q_*[deg] --map velocity=dq_* \
          --map effort=tau_* --output bag
      inertial-estimation convert q.txt tau.txt --rate 1000 --map position=q.1-7 --map effort=tau.1-7 \
          --joints a b c d e f g --output bag
    """
    parser.add_argument("tables", nargs="+", type=Path, metavar="FILE", help="tables of numbers, CSV or text")
    parser.add_argument(
        "--map",
        dest="maps",
        action="append",
        required=True,
        metavar="FIELD=COLUMNS",
        help="columns of a field, with their unit in brackets; repeat it for more fields",
    )
    joints = "names of the joints in the order of the columns (default: what the asterisk stands for)"
    options.names(parser, "--joints", "JOINT", joints)
    options.number(parser, "--rate", 0.0, "HZ", "rate of the rows without a time")
    options.output_bag(parser)


def play(parser: argparse.ArgumentParser) -> None:
    """Publish a rosbag2 recording (mcap or sqlite3) on its topics, with /clock, at its own pace.

    Start the nodes with `use_sim_time:=true`, so that they follow the clock of the recording.

    Examples:
      inertial-estimation play BAG --rate 0.5
      inertial-estimation play BAG --remap /imu:=/imu/data --loop
    """
    parser.add_argument("bag", help="folder of the bag, or its .mcap or .db3 file")
    parser.add_argument("--rate", type=float, default=1.0, help="speed as a multiple of real time (1)")
    options.switch(parser, "--loop", "start again at the end")
    options.number(parser, "--clock-rate", 200.0, "HZ", "rate of /clock (200 Hz); 0: no /clock")
    options.number(parser, "--wait", 5.0, "S", "longest time to wait for subscribers (5 s)")
    options.number(parser, "--subscribers", 1, "N", "start once a topic has N subscribers (1)")
    options.remap(parser, "publish topic A under the name B")


def identify(parser: argparse.ArgumentParser) -> None:
    r"""Identify inertial parameters and friction from recordings.

    Writes identification.json, report.html, identified.urdf and friction.yaml (a parameter file for the
    nodes) into the output folder. Parameters are those of the sections /**, inertial_ekf (rows,
    friction) and identification of the parameter file.

    Examples:
      inertial-estimation identify BAG --config panda --split 14 --compare --output results/panda
      inertial-estimation identify BAG --config panda --payload panda_link8 --unloaded EMPTY_BAG \
          --output results/tool
    """
    options.bags(parser)
    options.robot(parser, "icub, panda", "offsets, known friction")
    options.output(parser)
    parser.add_argument("--method", default="", help=f"one of {', '.join(METHODS)}; default {METHODS[-1]}")
    options.switch(parser, "--compare", "run all methods; the result of --method is written")
    options.repeated(parser, "--validate", "BAG", "recording that validates the result")
    split = "fit the first S seconds of each bag and validate with the rest"
    parser.add_argument("--split", type=float, metavar="S", help=split)
    options.names(parser, "--links", "LINK", "identify only the bodies of these links, by name or pattern")
    payload = "identify a load fixed to this link as a body of its own (identification.payload.link)"
    options.text(parser, "--payload", "LINK", payload)
    options.repeated(parser, "--unloaded", "BAG", "recording of the robot without the load of --payload")
    options.remap(parser)
    options.param(parser, "identification.NAME=VALUE")
    options.no_figures(parser, "report.html")


def export(parser: argparse.ArgumentParser) -> None:
    r"""Write an estimated robot for simulators and learning, with variants drawn from its uncertainty.

    DIR is a result folder of identify or replay. FORMAT URDF is its description with the estimated
    inertias; MJCF and SDF are converted from it, or are a model of yours (--model) in which only the
    inertias of estimated links are replaced. With --samples N the folder also has N variants, each of
    them physically consistent.

    Examples:
      inertial-estimation export found --output robots --samples 20
      inertial-estimation export results/talos --format mjcf --model talos.xml --output robots --samples \
          100 --seed 1
    """
    parser.add_argument("results", type=Path, metavar="DIR", help="result folder of identify or replay")
    parser.add_argument(
        "--format", choices=MODEL_FORMATS, default="urdf", help="format to write, default urdf"
    )
    model = "your MJCF or SDF of the robot, in which the inertias of the estimated links are replaced"
    options.file(parser, "--model", "FILE", model)
    options.number(parser, "--samples", 0, "N", "variants to draw, default 0")
    parser.add_argument("--seed", type=int, default=0, help="the same seed draws the same variants")
    options.output(parser)


def excite(parser: argparse.ArgumentParser) -> None:
    """Design a motion that identifies a robot: an arm, a leg of a robot that hangs by its trunk, or poses.

    Writes trajectory.csv, trajectory (rosbag2 with a JointTrajectory), design.json and design.png into
    the output folder. The parameter file is the same as for the command identify and states what is to
    be identified.

    Examples:
      inertial-estimation excite --config panda --objective condition --output results/motion
      inertial-estimation excite --config hyq --leg lf --output results/leg
    """
    from inertial_estimation.identification.excitation.excitation_config import ExcitationConfig
    from inertial_estimation.parameters import iterate_parameters

    options.robot(parser, "panda, hyq")
    options.output(parser)
    leg = "prefix of the leg that moves while the trunk is held, for instance lf"
    options.text(parser, "--leg", "PREFIX", leg)
    options.names(parser, "--joints", "JOINT", "joints that move, by name or pattern; the others are held")
    options.names(parser, "--links", "LINK", "links whose parameters are to be identified")
    seed = "seed of the random motions; the same seed gives the same motion (0)"
    parser.add_argument("--seed", type=int, default=0, help=seed)
    options.number(parser, "--compare-random", 0, "N", "compare the result with N random motions (0)")
    options.workers(parser, "random motions to compare with")
    options.param(parser, "identification.NAME=VALUE")
    options.no_figures(parser, "figure")
    for spec in iterate_parameters(ExcitationConfig):
        parser.add_argument(
            f"--{spec.name.replace('_', '-')}",
            dest=spec.name,
            type=type(spec.default),
            choices=spec.choices or None,
            metavar=None if spec.choices else spec.unit.upper() or "N",
            help=f"{spec.description.rstrip('.')} (default {spec.default})",
        )


def calibrate(parser: argparse.ArgumentParser) -> None:
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
    _add_flat_feet(kinds.add_parser("flat-feet", help="both soles flat on the floor"))
    plane = kinds.add_parser("plane", help="a frame held flush on an unknown plane")
    _common(plane, "CSV, one posture a row")
    axis = "axis of the frame normal to the plane: x, -x, y, ... (determined from the data)"
    options.text(plane, "--axis", "AXIS", axis)
    marker = kinds.add_parser("marker", help="a motion-capture marker on a link")
    _common(marker, "CSV, one posture a row")
    options.number(marker, "--marker", 1, "N", "number N of the marker in columns xN, yN, zN (1)")
    for command in (plane, marker):
        _add_frames_and_priors(command)


def _add_flat_feet(feet: argparse.ArgumentParser) -> None:
    _common(feet, "rosbag2 folder or file, or CSV")
    imu_link = "link whose orientation is measured (repeatable; imu_frame:/imu/data); 'none': the soles alone"
    feet.add_argument("--imu-link", action="append", metavar="LINK[:TOPIC]", help=imu_link)
    options.remap(feet)
    options.number(feet, "--interval", 1.8, "S", "time between two postures taken from a bag (1.8 s)")
    held_out_interval = (
        "time between all postures taken from a bag; those that are not fitted validate the result "
        "(0.2 s; 0: no validation)"
    )
    options.number(feet, "--held-out-interval", 0.2, "S", held_out_interval)
    distance = "length d in Yamane's cost; without it rows are weighted by noise"
    feet.add_argument("--distance", type=float, metavar="M", help=distance)
    options.switch(feet, "--use-yaw", "use the yaw of the IMUs, which share one yaw reference")


def _add_frames_and_priors(command: argparse.ArgumentParser) -> None:
    frame = "link that is held on the plane, or that carries the marker"
    command.add_argument("--frame", required=True, help=frame)
    reference = "frame that does not move (plane: the first contact; marker: the base link)"
    command.add_argument("--reference", metavar="FRAME", help=reference)
    fixed_priors = "use the priors of the parameters instead of choosing them by leave-one-out"
    options.switch(command, "--fixed-priors", fixed_priors)
    exact_description = (
        "choose priors under the assumption that the joint placements of the description are exact"
    )
    options.switch(command, "--exact-description", exact_description)


def _common(parser: argparse.ArgumentParser, source: str) -> None:
    parser.add_argument("source", type=Path, help=source)
    options.robot(parser, "talos", "known offsets")
    options.output(parser)
    joints = "joints to calibrate, by name or pattern (plane: those beyond the leg; otherwise all)"
    options.names(parser, "--joints", "JOINT", joints)
    options.param(parser, "calibration.NAME=VALUE")
    write_combinations = "also write offsets of which only a combination is identified"
    options.switch(parser, "--write-combinations", write_combinations)
    options.no_figures(parser)


def synthesize(parser: argparse.ArgumentParser) -> None:
    r"""Write a synthetic recording with known truth as a rosbag2; joint torques come from inverse dynamics.

    The robot rests, then moves smoothly or along a trajectory of the command excite. At a given time a
    weight is attached to one of its links. With --config the robot has the friction of the parameter
    files, and its readings have their joint offsets and drive gains. With --mass-sigma and --com-sigma
    its inertias differ from its description at random. Noise, bias, delay and losses of the sensors
    come from a seeded generator: the same seed writes the same recording. The folder of the bag also
    holds truth.json, with the true mass, payload, sensor errors and inertias over time (replay compares
    with them), and truth.urdf, the true robot.

    Examples:
      inertial-estimation synthesize talos --output bag
      inertial-estimation synthesize arm --config panda --trajectory trajectory.csv --payload-mass 2 \
          --output bag
    """
    robot = "the robot; arm is any robot with a fixed base, with --urdf or --config"
    parser.add_argument("robot", choices=ROBOTS, help=robot)
    options.output_bag(parser)
    options.text(parser, "--urdf", "SOURCE", "robot description in place of the robot's own")
    config = (
        "ROS parameter file or the name of a robot, for its description, friction and joint offsets; "
        "repeat it for more files"
    )
    parser.add_argument("--config", action="append", default=[], help=config)
    options.file(parser, "--trajectory", "CSV", "trajectory an arm follows, as the command excite writes it")
    masses = "standard deviation of the logarithm of the true masses over those of the description (0)"
    parser.add_argument("--mass-sigma", type=float, default=0.0, help=masses)
    com_sigma = "standard deviation of the true centres of mass from those of the description (0 m)"
    options.number(parser, "--com-sigma", 0.0, "M", com_sigma)
    options.number(parser, "--payload-mass", PAYLOAD_KG, "KG", f"mass of the weight ({PAYLOAD_KG:g} kg)")
    options.text(parser, "--payload-link", "LINK", "link the weight is attached to (by robot)")
    options.number(parser, "--payload-time", 5.0, "S", "when the weight is attached (5 s); negative: never")
    _add_recording(parser)


def _add_recording(parser: argparse.ArgumentParser) -> None:
    """Declare rate, length and sensor errors of the recording."""
    options.number(parser, "--duration", 12.0, "S", "length of the recording (12 s)")
    options.number(parser, "--rate", 250.0, "HZ", "rate of the samples (250 Hz)")
    options.sensors(parser, "motion, noise and true robot")
    options.number(parser, "--delay", 0.0, "S", "delay of the stamps of joint states and wrenches (0 s)")
    options.number(parser, "--dropped", 0.0, "SHARE", "share of the messages that are lost (0)")


def simulate(parser: argparse.ArgumentParser) -> None:
    r"""Simulate a robot that stands on its own estimates and write its sensor readings as a rosbag2.

    Simulation, estimators and controller run in one process. The robot of a parameter file hangs on a
    hoist, is released, stands, and walks if --walk asks for it. All other times count from the release.
    The disturbances are those of the simulator, as YAML: '{kind: ball, link: trunk, mass: 5, at: [-0.3,
    0.1, 0.1], start: 4}'. An arm swings smoothly about its stance (--swing). The errors of the
    estimates are printed at the end. The file truth.json in the folder of the bag holds the true
    inertias of all links over time (replay compares with them), and those of the disturbed links at the
    end. The command replay runs the estimators on the bag, also with other parameters than those of the
    simulation. The exit code is 1 if the robot fell; the bag is written nevertheless.

    Examples:
      inertial-estimation simulate --config go2 --output bag
      inertial-estimation simulate --config hyq --walk 100 0.1 1 --inertias trunk_payload --output bag \
          --rrd walk.rrd
      inertial-estimation simulate --config go2 --disturbance '{kind: ball, link: base, mass: 2, at: [0, \
          0, 0.1], start: 4}' --output bag
    """
    options.robot(parser, "hyq, go2, talos")
    options.output_bag(parser)
    options.number(parser, "--duration", 12.0, "S", "time from the release to the end (12 s)")
    options.number(parser, "--hoist", HOIST_S, "S", f"time at rest on the hoist ({HOIST_S:g} s)")
    disturbance = (
        "disturbance of the robot, for instance '{kind: ball, link: trunk, mass: 5, start: 4}'; the "
        "kinds are mass, ball, push and impact; repeat it for more"
    )
    options.repeated(parser, "--disturbance", "YAML", disturbance)
    options.file(parser, "--disturbances", "FILE", "YAML file with a list of further disturbances")
    walk = "walk: number of steps (of single feet), length of a step [m], when it begins [s]"
    parser.add_argument("--walk", nargs=3, type=float, metavar=("STEPS", "LENGTH", "S"), help=walk)
    swing = "largest distance of an arm's joints from the stance; 0 holds it (0.3 rad)"
    parser.add_argument("--swing", type=float, default=None, metavar="RAD", help=swing)
    inertias = (
        "inertias the controller uses: those of the URDF or of an estimator (nominal); with "
        "trunk_payload the robot also stands still and tilts as the identification requests"
    )
    trunks = ("nominal", "inertial_ekf", "trunk_payload")
    parser.add_argument("--inertias", choices=trunks, default="nominal", help=inertias)
    options.sensors(parser, "the sensor noise")
    options.param(parser)
    options.rrd(parser)


def experiment(parser: argparse.ArgumentParser) -> None:
    """Run an experiment of the source papers and print its table together with the paper's numbers.

    Writes NAME.json and NAME.png into the output folder. The table marks every bound that is missed; a
    missed bound is a result, so the exit code is 0 nevertheless. `experiment --list` lists the
    experiments.

    Examples:
      inertial-estimation experiment --list
      inertial-estimation experiment foster-elbow --seeds 10 --jobs 4 --output results/experiments
      inertial-estimation experiment all --quick
    """
    name = parser.add_argument("name", nargs="?", metavar="NAME", help="name of an experiment, or all")
    options.completed_by(name, _experiment_names)
    options.switch(parser, "--list", "list the experiments")
    parser.add_argument("--seeds", type=int, metavar="N", help="number of seeds (depends on the experiment)")
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("results/experiments"),
        metavar="DIR",
        help="folder for JSON and figures (results/experiments)",
    )
    quick = "shortened runs of one seed that exercise every part; their numbers are not results"
    options.switch(parser, "--quick", quick)
    options.workers(parser, "runs of an experiment")


def _experiment_names() -> list[str]:
    from inertial_estimation.experiments.registry import ALL, EXPERIMENTS

    return [*(experiment.name for experiment in EXPERIMENTS), ALL]


def demo(parser: argparse.ArgumentParser) -> None:
    """Watch Talos take a weight in simulation, with four live nodes over DDS.

    Simulator, tilt observer, inertial filter and whole-body controller run in lockstep. Talos stands,
    and a weight of 12 lb (5.44 kg) is attached to its left forearm. In one run the controller uses the
    inertias of the URDF and the compliant elbow sags; in the other it uses the estimated inertias and
    holds. Both runs take place at the same time, each on its own ROS domain, or one after the other on
    that of ROS_DOMAIN_ID. The exit code is 1 when a run ends early, or another program publishes on its
    topics. The progress is shown as a live table on a terminal, and as a line every two seconds in a
    pipe. Figure and numbers of both runs are written to the output folder.

    Examples:
      inertial-estimation demo
      inertial-estimation demo --duration 8 --no-adaptation
      inertial-estimation demo --viewer
    """
    options.number(parser, "--duration", 4.5, "S", "simulated time of a run, from the release (4.5 s)")
    options.switch(parser, "--no-adaptation", "only the run without adaptation, in which the elbow sags")
    viewer = "show the robot in real time, one run after the other; needs a display"
    options.switch(parser, "--viewer", viewer)
    output = "folder figure and numbers are written to (results/demo)"
    parser.add_argument("--output", type=Path, default=Path("results/demo"), metavar="DIR", help=output)
    options.switch(parser, "--no-live", "print only the last table")
    options.rrd(parser)


def monitor(parser: argparse.ArgumentParser) -> None:
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
    options.switch(parser, "--once", "print one table and exit")
    options.number(parser, "--period", 0.5, "S", "time between two tables (0.5 s)")
    options.number(parser, "--wait", 10.0, "S", "longest time that --once waits for nodes (10 s)")
