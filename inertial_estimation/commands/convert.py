"""The command `convert`: tables of numbers to a recording."""

import argparse

from inertial_estimation.commands.terminal import print_warnings
from inertial_estimation.recordings.bag_writer import check_bag_folder, write_recording
from inertial_estimation.recordings.table_conversion import convert_tables
from inertial_estimation.recordings.tables import read_table
from inertial_estimation.signals import seconds


def run(args: argparse.Namespace) -> int:
    """Read the tables, write the recording and print its contents."""
    folder = check_bag_folder(args.output, overwrite=args.overwrite)
    tables = [read_table(path) for path in args.tables]
    recording, remarks = convert_tables(tables, args.maps, joints=args.joints, rate=args.rate)
    write_recording(recording, folder, storage=args.storage, overwrite=args.overwrite)
    print_warnings(remarks)
    length_s = seconds(recording.end_ns - recording.start_ns)
    print(f"{folder}: {length_s:.3f} s from {seconds(recording.start_ns):.3f} s on")
    for topic, message_type in recording.topics.items():
        count = sum(entry.topic == topic for entry in recording.messages)
        print(f"  {topic:<24} {count:>8} messages  {message_type}")
    return 0
