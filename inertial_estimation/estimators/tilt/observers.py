"""The tilt observers by name; the gains of each are the section of that name in `TiltPipelineConfig`."""

from typing import Any

from inertial_estimation.errors import ConfigurationError, did_you_mean
from inertial_estimation.estimators.tilt.first_stage_observer import FirstStageObserver
from inertial_estimation.estimators.tilt.hua_observer import HuaObserver
from inertial_estimation.estimators.tilt.invariant_ekf import InvariantEkf
from inertial_estimation.estimators.tilt.kalman_observer import KalmanObserver
from inertial_estimation.estimators.tilt.r3s2_observer import R3S2Observer
from inertial_estimation.estimators.tilt.tilt_observer import GravityFallbackConfig, TiltObserver
from inertial_estimation.estimators.tilt.two_stage_observer import TwoStageObserver
from inertial_estimation.signals import Array

OBSERVERS: dict[str, type[TiltObserver[Any]]] = {
    "two_stage": TwoStageObserver,
    "first_stage": FirstStageObserver,
    "kalman": KalmanObserver,
    "r3s2": R3S2Observer,
    "hua": HuaObserver,
    "invariant_ekf": InvariantEkf,
}


def observer_of_section(section: str) -> str:
    """Return the observer whose gains a section of parameters holds; empty for another section."""
    owner = "two_stage" if section == "adaptation" else section
    return owner if owner in OBSERVERS else ""


def make_observer(
    name: str, gains: Any, fallback: GravityFallbackConfig, rows: tuple[Array, Array] | None = None
) -> TiltObserver[Any]:
    """Build an observer.

    Args:
        name: Its name in `OBSERVERS`.
        gains: Its gains, an instance of its own config class.
        fallback: Parameters of the correction without contact.
        rows: Memory for its numbers, as `TiltObserver` takes it; None: its own.

    Raises:
        ConfigurationError: If there is none of that name.
    """
    if name not in OBSERVERS:
        raise ConfigurationError(f"no tilt observer '{name}'{did_you_mean(name, OBSERVERS, 'there are')}")
    return OBSERVERS[name](gains, fallback, rows)
