"""Why the parameter files of the Go2 and the UR10 are as they are: cross-validation within the fitted part.

The rest of the recording takes no part in it. Errors of `consistent` on the fitted part after the first 50,
60 and 75 % of it, fitted on what precedes; chirps and trajectories are extrapolated, as in the benchmark.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.real_robots.joint_recordings import JointRecording, identified_before
from inertial_estimation.configuration.config_lookup import load_configs
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.offline.identification_setup import identification_config
from inertial_estimation.parameters import replace_value
from inertial_estimation.recordings.recording import BagRecording, MemoryRecording
from inertial_estimation.signals import NANOSECONDS

SHARES = (0.5, 0.6, 0.75)
LOADED = ("coulomb", "viscous", "armature", "coulomb_load")
FOUR = ("coulomb", "viscous", "offset", "armature")
VARIANTS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "go2": {
        "friction does not change along the range": {"friction.terms": FOUR},
        "friction grows with the load, too": {"friction.terms": (*FOUR, "coulomb_slope", "coulomb_load")},
        "friction shared by left and right": {"symmetric_friction": (*FOUR, "coulomb_slope")},
        "no symmetry": {"symmetry": ()},
        "positions differentiated twice": {"smoothing.differentiate": "position"},
        "weights one over the residual": {"weighting": "residual"},
        "sign over 0.02 rad/s": {"friction.smoothing_speed": 0.02},
        "sign over 0.1 rad/s": {"friction.smoothing_speed": 0.1},
    },
    "ur10": {
        "friction does not grow with the load": {"friction.terms": ("coulomb", "viscous", "armature")},
        "efforts taken as not smoothed": {"inputs.effort_window": 0.0},
        "efforts taken as smoothed over 0.3 s": {"inputs.effort_window": 0.3},
        "efforts taken as smoothed over 0.5 s": {"inputs.effort_window": 0.5},
        "priors of 50 %, 10 cm": {
            "methods.mass_deviation": 0.5,
            "methods.com_deviation": 0.1,
            "methods.radii_deviation": 0.5,
        },
        "priors of 10 %, 2 cm": {
            "methods.mass_deviation": 0.1,
            "methods.com_deviation": 0.02,
            "methods.radii_deviation": 0.1,
        },
        "offsets of the torques, too": {"friction.terms": (*LOADED, "offset")},
        "friction changes along the range, too": {"friction.terms": (*LOADED, "coulomb_slope")},
        "weights one over the residual": {"weighting": "residual"},
    },
}


def report(name: str, recording: JointRecording, datasets: Path) -> None:
    """Print the errors of the shipped settings and of the variants."""
    shipped = identification_config(load_configs([recording.config]))
    print(f"\n{recording.robot}: cross-validation within 0-{recording.split_s:g} s [%]")
    with BagRecording(datasets / recording.bag) as bag:
        entries = list(bag.entries(["/joint_states"]))
        last_ns = entries[0].log_ns + round(recording.split_s * NANOSECONDS)
        fitted = MemoryRecording(tuple(e for e in entries if e.log_ns < last_ns), bag.topics)
    for said, changes in {"shipped": {}, **VARIANTS[name]}.items():
        config = shipped
        for parameter, value in changes.items():
            config = replace_value(config, parameter, value)
        errors = [_error(config, fitted, share * recording.split_s) for share in SHARES]
        print(f"  {said:<42} {'  '.join(f'{100 * error:6.2f}' for error in errors)}", flush=True)


def _error(config: IdentificationConfig, recording: MemoryRecording, split_s: float) -> float:
    run = identified_before(split_s, recording, read_urdf(config.robot.urdf), config, "consistent")
    return run.result.relative_error_validation
