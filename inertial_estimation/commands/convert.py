"""`inertial-estimation convert`: tables of numbers as a rosbag2."""

import argparse
import math
import sys
from pathlib import Path

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.recordings.recording_writer import check_bag_folder, write_recording
from inertial_estimation.recordings.table_conversion import Conversion, convert_tables
from inertial_estimation.recordings.text_table import read_text_table
from inertial_estimation.signals import seconds


def run(args: argparse.Namespace) -> int:
    """Read the tables, write the recording and print what it holds."""
    if not math.isfinite(args.rate) or args.rate < 0.0:
        raise ConfigurationError(f"--rate is {args.rate:g} Hz, expected a positive number")
    folder = check_bag_folder(args.output, overwrite=args.overwrite)
    tables = [read_text_table(path) for path in args.tables]
    conversion = convert_tables(tables, args.maps, joints=args.joints, rate=args.rate)
    write_recording(conversion.recording, folder, storage=args.storage, overwrite=args.overwrite)
    _print(conversion, folder)
    return 0


def _print(conversion: Conversion, folder: Path) -> None:
    recording = conversion.recording
    for remark in conversion.remarks:
        print(f"warning: {remark}", file=sys.stderr)
    length_s = seconds(recording.end_ns - recording.start_ns)
    print(f"{folder}: {length_s:.3f} s from {seconds(recording.start_ns):.3f} s on")
    for topic, message_type in recording.topics.items():
        count = sum(entry.topic == topic for entry in recording.messages)
        print(f"  {topic:<24} {count:>8} messages  {message_type}")
