"""Response of an arm to a weight: elbow angle and estimated mass over the time since the release."""

from dataclasses import dataclass

import numpy as np

from inertial_estimation.errors import RecordingError
from inertial_estimation.recordings.live_record import LiveRecord
from inertial_estimation.signals import Array, seconds

MEAN_OVER_LAST_S = 0.5  # end of a run, over which means are taken [s]


@dataclass(frozen=True)
class PayloadScene:
    """The scene of a payload response.

    Attributes:
        joint: Joint that carries the weight.
        home: Its home position [rad].
        link: Link the weight is attached to.
        payload: Mass of the weight [kg].
        nominal_mass: Mass of the link's body without it [kg].
        time_s: When it is attached, since the release [s].
        duration_s: End of the run, since the release [s].
    """

    joint: str
    home: float
    link: str
    payload: float
    nominal_mass: float
    time_s: float
    duration_s: float

    def mass(self, t: float) -> float:
        """Return the true mass of the link's body at a time [kg]."""
        return self.nominal_mass + (self.payload if t >= self.time_s else 0.0)


@dataclass(frozen=True, eq=False)
class PayloadResponse:
    """The response in one run.

    Attributes:
        adaptation: Whether the controller used the estimates.
        t: Times of the elbow since the release [s], shape (n,).
        angle: Position of the joint [rad], shape (n,).
        t_mass: Times of the mass since the release [s], shape (m,).
        mass: Published mass of the link's body [kg], shape (m,).
    """

    adaptation: bool
    t: Array
    angle: Array
    t_mass: Array
    mass: Array

    def numbers(self, scene: PayloadScene) -> dict[str, float]:
        """Return RMSE of the joint since the weight came, and mean errors of joint and mass at the end.

        NaN where messages are missing.
        """
        error = self.angle - scene.home
        held = error[self.t >= scene.time_s]
        last = error[self.t >= scene.duration_s - MEAN_OVER_LAST_S]
        end_s = min(scene.duration_s, float(self.t_mass[-1])) if len(self.t_mass) else scene.duration_s
        mass = _mean(self.mass[self.t_mass >= end_s - MEAN_OVER_LAST_S])
        return {
            "elbow_rmse_rad": _mean(held**2) ** 0.5,
            "elbow_error_at_end_rad": _mean(last),
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
    elbow, published = (
        _series(series, released_ns, scene.duration_s) for series in (record.joints[scene.joint], masses)
    )
    return PayloadResponse(adaptation, *elbow, *published)


def _series(series: list[tuple[int, float]], released_ns: int, duration_s: float) -> tuple[Array, Array]:
    table = np.array(series, dtype=object).reshape(-1, 2)
    t = seconds(table[:, 0] - released_ns)
    values = table[:, 1].astype(np.float64)
    kept = (t >= 0.0) & (t <= duration_s + 1e-9)
    return t[kept], values[kept]


def _mean(values: Array) -> float:
    return float(np.mean(values)) if len(values) else float("nan")
