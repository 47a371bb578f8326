"""Response of an arm to a weight: elbow angle and published mass over the time since the release."""

from typing import Any, NamedTuple

import numpy as np

from inertial_estimation.errors import RecordingError
from inertial_estimation.recordings.watch_record import LiveRecord
from inertial_estimation.signals import Array, seconds

MEAN_OVER_LAST_S = 0.5  # end of a run, over which means are taken [s]


class PayloadScene(NamedTuple):
    """The scene of a payload response."""

    joint: str  # joint that carries the weight
    home: float  # its home position [rad]
    link: str  # link the weight is attached to
    payload: float  # mass of the weight [kg]
    nominal_mass: float  # mass of the link's body without it [kg]
    time_s: float  # when it is attached, since the release [s]
    duration_s: float  # end of the run, since the release [s]

    def mass(self, t: float) -> float:
        """Return the true mass of the link's body at a time [kg]."""
        return self.nominal_mass + (self.payload if t >= self.time_s else 0.0)


class PayloadResponse(NamedTuple):
    """The response in one run."""

    adaptation: bool  # whether the controller used the estimates
    t: Array  # times of the elbow since the release [s], shape (n,)
    angle: Array  # position of the joint [rad], shape (n,)
    t_mass: Array  # times of the mass since the release [s], shape (m,)
    mass: Array  # published mass of the link's body [kg], shape (m,)

    def numbers(self, scene: PayloadScene) -> dict[str, float]:
        """Return RMSE of the joint since the weight came, and mean errors of joint and mass at the end.

        NaN where messages are missing.
        """
        error = self.angle - scene.home
        held = error[self.t >= scene.time_s]
        end_s = min([scene.duration_s, *self.t_mass[-1:].tolist()])
        mass = _mean(self.mass[self.t_mass >= end_s - MEAN_OVER_LAST_S])
        return {
            "elbow_rmse_rad": _mean(held**2) ** 0.5,
            "elbow_error_at_end_rad": _mean(error[self.t >= scene.duration_s - MEAN_OVER_LAST_S]),
            "largest_elbow_error_rad": float(np.abs(held).max()) if len(held) else np.nan,
            "mass_at_end_kg": mass,
            "mass_error_at_end": mass / scene.mass(scene.duration_s) - 1.0,
        }


def response_from_record(
    record: LiveRecord, scene: PayloadScene, *, adaptation: bool, released_ns: int
) -> PayloadResponse:
    """Extract the response of a run from its messages, from the stamp of the release on [ns].

    Raises:
        RecordingError: If there are no messages of the joint.
    """
    if not record.joints.get(scene.joint):
        raise RecordingError(f"no message with the joint '{scene.joint}' was received")
    masses = [(stamp_ns, inertia.mass) for stamp_ns, inertia in record.inertias.get(scene.link, [])]
    columns: list[Array] = []
    for series in (record.joints[scene.joint], masses):
        stamps, values = zip(*series, strict=True) if series else ((), ())
        t: Any = seconds(np.array(stamps, dtype=np.int64) - released_ns)
        kept = (t >= 0.0) & (t <= scene.duration_s + 1e-9)
        columns += [t[kept], np.array(values, dtype=np.float64)[kept]]
    return PayloadResponse(adaptation, *columns)


def _mean(values: Array) -> float:
    return float(np.mean(values)) if len(values) else float("nan")
