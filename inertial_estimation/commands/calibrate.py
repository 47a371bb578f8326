"""The command `calibrate`: joint offsets from flat feet, a plane or a marker."""

import argparse
import math
import sys
from collections.abc import Mapping

from inertial_estimation.calibration.calibrate import calibrate
from inertial_estimation.calibration.flat_feet import FlatFeetProblem, ImuOrientations
from inertial_estimation.calibration.problem import CalibrationConfig, CalibrationProblem
from inertial_estimation.calibration.single_frame import MarkerProblem, PlaneProblem
from inertial_estimation.commands.terminal import (
    print_page,
    print_warnings,
    progress_bar,
    recording_with_warnings,
    result_folder_with_report,
)
from inertial_estimation.configuration.config_file import load_configs, parse_overrides
from inertial_estimation.configuration.node_configs import checked_overrides
from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.files.outputs import check_output_folder, write_json
from inertial_estimation.offline.calibration_setup import (
    CalibrationSetup,
    calibration_setup,
    orientations,
    write_offsets,
)
from inertial_estimation.offline.postures import (
    QUATERNION,
    VERTICAL,
    PostureTable,
    read_bag_postures,
    read_postures,
)
from inertial_estimation.parameters import build_config
from inertial_estimation.plots.calibration_report import calibration_page

OWN = "calibration"  # name in --param for the parameters of the calibration itself
NO_IMU = "none"
OFFSETS, REPORT = "joint_offsets.yaml", "calibration.json"


def run(args: argparse.Namespace) -> int:
    """Read postures, calibrate, write the files and print a summary."""
    given = [text for text in args.param if text.startswith(f"{OWN}.")]
    own = {name: value for _section, name, value in parse_overrides(given)}
    shared = checked_overrides([text for text in args.param if text not in given], ())
    folder = check_output_folder(args.output, overwrite=args.overwrite)
    config = build_config(CalibrationConfig, own, where="--param")
    setup = calibration_setup(load_configs(args.config).overridden(shared), urdf=args.urdf)
    kinds = {"flat-feet": _flat_feet, "plane": _plane, "marker": _marker}
    problem, table = kinds[args.kind](args, setup, config)
    one_by_one = args.kind != "flat-feet"  # whose postures are many
    with progress_bar("calibrate", math.nan) as show:
        report = calibrate(
            problem, table.held_out, one_by_one=one_by_one, progress=lambda what: show(0.0, what)
        )
    for reason, count in table.dropped.items():
        print(f"{count} postures left out: {reason}", file=sys.stderr)
    print_warnings(report.warnings)
    page, drawn = calibration_page(report, setup.known_offsets), not args.no_figures
    with result_folder_with_report(folder, (OFFSETS, REPORT), page, drawn=drawn) as partial:
        write_offsets(partial / OFFSETS, report, setup.known_offsets)
        write_json(partial / REPORT, {**report.values(), "known_offsets_rad": setup.known_offsets})
    print_page(page, folder)
    return 0


def _flat_feet(
    args: argparse.Namespace, setup: CalibrationSetup, config: CalibrationConfig
) -> tuple[CalibrationProblem, PostureTable]:
    is_bag, remap = args.source.suffix.lower() != ".csv", dict(args.remap)
    imus = _imu_topics(args.imu_link, setup, remap, is_bag=is_bag)
    if len(setup.contacts) < 2:
        raise ConfigurationError(
            f"flat feet need at least two contacts; 'contacts' has {listing(setup.config.contacts)}"
        )
    frames = [*(contact.frame for contact in setup.contacts), *imus]
    chain = setup.chain(setup.robot.base_link, frames, args.joints)
    if is_bag:
        with recording_with_warnings(args.source) as recording:
            table = read_bag_postures(
                recording,
                setup.robot,
                setup.config,
                joint_topic=remap.get("/joint_states", "/joint_states"),
                imu_topics=imus,
                interval_s=args.interval,
                held_out_interval_s=args.held_out_interval or None,
                joints=chain.moving,
            )
    else:
        columns = [f"{link}/{name}" for link in imus for name in (*QUATERNION, *VERTICAL)]
        table = read_postures(args.source, setup.robot, chain.moving, measured=columns)
    table = setup.corrected(table)
    measured = [orientations(table, link, args.use_yaw, str(args.source)) for link in imus]
    readings = [ImuOrientations(R_WI, args.use_yaw) for R_WI in measured]
    return FlatFeetProblem(chain, table.q, config, setup.soles, readings), table


def _imu_topics(
    given: list[str], setup: CalibrationSetup, remap: Mapping[str, str], *, is_bag: bool
) -> dict[str, str]:
    """Return the topics of the IMUs, by link."""
    texts = given or [setup.config.imu_frame or ""]
    if texts == [NO_IMU]:
        return {}
    if texts == [""]:
        raise ConfigurationError(
            "no IMU link: no imu_frame, and neither --imu-link LINK[:TOPIC] nor --imu-link none"
        )
    topics: dict[str, str] = {}
    for text in texts:
        link, _, topic = text.partition(":")
        setup.robot.frame_id(link)
        topic = "/" + (topic or "imu/data").lstrip("/")
        topics[link] = remap.get(topic, topic)
    if is_bag and len(set(topics.values())) < len(topics):
        raise ConfigurationError(
            f"several IMU links share a topic ({listing(topics.values())}); give each its own, LINK:TOPIC"
        )
    return topics


def _plane(
    args: argparse.Namespace, setup: CalibrationSetup, config: CalibrationConfig
) -> tuple[CalibrationProblem, PostureTable]:
    reference = args.reference or setup.ground
    joints = args.joints or setup.beyond_base(reference, args.frame)
    chain = setup.chain(reference, [args.frame], joints)
    table = setup.corrected(read_postures(args.source, setup.robot, chain.moving))
    return PlaneProblem(chain, table.q, config), table


def _marker(
    args: argparse.Namespace, setup: CalibrationSetup, config: CalibrationConfig
) -> tuple[CalibrationProblem, PostureTable]:
    chain = setup.chain(args.reference or setup.robot.base_link, [args.frame], args.joints)
    columns = [f"{axis}{args.marker}" for axis in "xyz"]
    table = setup.corrected(read_postures(args.source, setup.robot, chain.moving, measured=columns))
    positions_C = table.stacked(columns, str(args.source))
    return MarkerProblem(chain, table.q, config, positions_C), table
