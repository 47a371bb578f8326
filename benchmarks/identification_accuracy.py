"""Torque error of every identification method on the Panda's recording, held out from 14 s on, by two judges.

One is the tool's own: residuals of the smoothed rows. The other shares no code with it: inverse dynamics of
the identified description and the friction, on joint states through a 10 Hz zero-phase Butterworth filter, as
a replay is judged. Its band is wider, so its errors are larger.

Run: python -m benchmarks.identification_accuracy [--split 14]
"""

import argparse
import os
from pathlib import Path

from inertial_estimation.configuration.config_lookup import load_configs
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.identification.identifier import Identifier
from inertial_estimation.identification.methods import METHODS
from inertial_estimation.models.body_reference import robot_with_bodies
from inertial_estimation.offline.identification_run import block_stream, run_identification
from inertial_estimation.offline.identification_setup import identification_config, identification_topics
from inertial_estimation.recordings.recording import BagRecording
from inertial_estimation.replay.torque_prediction import prediction_error

ROOT = Path(__file__).parents[1]
DATASETS = Path(os.environ.get("INERTIAL_ESTIMATION_DATASETS", ROOT / "../shared/datasets"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bag", nargs="?", default=DATASETS / "panda_gaz2019" / "exciting_trajectory")
    parser.add_argument("--split", type=float, default=14.0, metavar="S")
    args = parser.parse_args()
    config = identification_config(load_configs(["panda"]))
    urdf = read_urdf(config.robot.urdf)
    identifier = Identifier(config, urdf)
    topics = identification_topics(config, {})
    with BagRecording(args.bag) as recording:
        streams = [block_stream(recording, topics, identifier, config)]
        run = run_identification(
            identifier, streams, [], methods=list(METHODS), chosen="ridge", split_s=args.split, progress=None
        )
        readings = [entry.sample for entry in recording.entries([topics.joints])]
        begin_ns = readings[0].stamp_ns + round(1e9 * args.split)
    held_out = [reading for reading in readings if reading.stamp_ns >= begin_ns]
    print("relative torque error [%]   fitted   held out   held out, 10 Hz Butterworth   bodies")
    for name, result in run.report.methods.items():
        values = [body.inertia.vector for body in result.bodies]
        robot = robot_with_bodies(identifier.robot, identifier.parameters.bodies, values)
        judged = prediction_error(
            robot,
            held_out,
            result.friction,
            joints=robot.joint_names,
            coulomb=config.coulomb_law,
            config=config.robot,
        )
        errors = f"{100 * result.relative_error:8.2f} {100 * result.relative_error_validation:10.2f}"
        bad = sum(bool(body.violations) for body in result.bodies)
        print(
            f"{name:<25} {errors} {100 * judged:18.2f} {'':>15} {f'{bad} impossible' if bad else 'possible'}"
        )


if __name__ == "__main__":
    main()
