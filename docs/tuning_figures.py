"""Draws the figure of the page on tuning: docs/images/tuning_gains.png, the tilt error against each gain.

    python -m docs.tuning_figures [--output DIR]

From the root of the project. The iCub recording of the data sets (`INERTIAL_ESTIMATION_DATASETS`) is judged
by its motion capture, a synthetic trot of HyQ by its truth. The rate of the correction is fixed, so that each
gain shows what it does; the other gains are the defaults.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks.tilt_gaits import RATE_HZ
from benchmarks.tuning import icub_run, problem_of, trot_recording, true_error
from inertial_estimation.configuration.config_lookup import load_configs
from inertial_estimation.plots.style import BLACK, COLOURS, GREY, save, tidy
from inertial_estimation.recordings.recording import read_orientations
from inertial_estimation.replay.replay_metrics import ReplayReference
from inertial_estimation.synthetic.synthetic_sensors import GROUND_TRUTH_TOPIC
from inertial_estimation.tuning.recorded_run import RecordedRun

ROOT = Path(__file__).resolve().parents[1]
DEFAULTS = {"two_stage.alpha1": 20.0, "two_stage.alpha2": 100.0, "two_stage.gamma": 1.0}
UNITS = {"two_stage.alpha1": "1/s", "two_stage.alpha2": "1/s^2", "two_stage.gamma": "1/s"}
FACTORS = np.geomspace(1.0 / 16.0, 16.0, 9)
PARTS = 3


def main() -> None:
    """Observe both recordings with many gains, and draw."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "images", help="folder of the figure")
    args = parser.parse_args()
    recording = trot_recording("hyq", "trot", 24.0, RATE_HZ)
    truth = ReplayReference(read_orientations(recording, GROUND_TRUTH_TOPIC))
    cases = {
        "iCub walking,\nmotion capture": icub_run(load_configs(["icub"])),
        "HyQ trotting,\nsimulated": (RecordedRun(recording, load_configs(["hyq"])), truth),
    }
    figure = Figure(figsize=(9.0, 5.2), layout="constrained")
    axes = figure.subplots(len(cases), len(DEFAULTS), sharex="col")
    for row, (title, (run, reference)) in zip(axes, cases.items(), strict=True):
        draw(row, title, run, reference)
    save(figure, args.output / "tuning_gains.png")


def draw(row: Any, title: str, run: RecordedRun, reference: ReplayReference) -> None:
    """Draw error and score of one recording against each gain."""
    (trials,) = problem_of([run], tuple(DEFAULTS), "later_readings")[0].trials
    for number, (axis, (name, default)) in enumerate(zip(row, DEFAULTS.items(), strict=True)):
        sets = [{"adaptation.enabled": False, **DEFAULTS, name: default * factor} for factor in FACTORS]
        errors = np.array([true_error(trials, values, reference) for values in sets])
        scores = np.array([float(np.nanmean(trials.scores(values, PARTS))) for values in sets])
        forecast = np.sqrt(scores - scores.min() + errors.min() ** 2)
        places = default * FACTORS
        axis.plot(places, errors, "o-", ms=3, color=COLOURS[0], label="true error")
        axis.plot(places, forecast, "s--", ms=3, color=COLOURS[1], label="by later readings")
        axis.axvline(default, color=GREY, lw=1.0, ls=(0, (6, 3)), label="default")
        axis.set_xscale("log")
        at_default = float(errors[len(FACTORS) // 2])
        axis.set_ylim(0.0, min(1.1 * max(errors.max(), forecast.max()), 2.2 * at_default))
        tidy(axis, ylabel=f"{title}\ntilt error, rms [deg]" if number == 0 else "")
        axis.set_title(f"{name} [{UNITS[name]}]", loc="left", fontsize=9, color=BLACK)
        if number < len(DEFAULTS) - 1:
            axis.get_legend().remove()


if __name__ == "__main__":
    main()
