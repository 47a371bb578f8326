"""Results of a replay."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from inertial_estimation.diagnosis.finding import Finding
from inertial_estimation.payload.estimate import PayloadEstimate
from inertial_estimation.signals import (
    BaseEstimate,
    ContactLoad,
    Health,
    InertialEstimate,
    JointReading,
    WrenchSample,
)


@dataclass
class ReplayRun:
    """Results of a replay.

    Attributes:
        base: Base estimates in order.
        inertial: Inertial estimates in order.
        payload: Estimates of the trunk and its payload in order.
        efforts: Joint readings, kept only when the inertial pipeline ran, for the torque error.
        wrenches: Wrenches that were read, by contact.
        tilt_tick_ns: Time of one step of the tilt pipeline, per tick that made one [ns].
        inertial_tick_ns: Time of one step of the inertial pipeline, per tick that made one [ns].
        payload_tick_ns: Time of one step of the trunk payload pipeline, per tick that made one [ns].
        data_s: Length of what was replayed [s].
        wall_s: How long it took, reading the recording included [s].
        health: Last health report of the pipelines about their inputs.
        reports: Every second of the recording, the health of each pipeline: stamp [ns], node, parts.
        contact_loads: The contacts of the tilt pipeline at 10 Hz of the stamps: stamp [ns] of the estimate
            and its contacts.
        checks: Verdicts on the data, where they were checked.
        start_ns: Stamp of the start of the recording [ns].
        begin_ns: Stamp from which on it was replayed [ns].
        end_ns: Stamp of its end [ns].
        clock_offset_ns: Stamp minus log time where the two are of different clocks, else zero [ns].
    """

    base: list[BaseEstimate] = field(default_factory=list)
    inertial: list[InertialEstimate] = field(default_factory=list)
    payload: list[PayloadEstimate] = field(default_factory=list)
    efforts: Sequence[JointReading] = ()
    wrenches: dict[str, Sequence[WrenchSample]] = field(default_factory=dict)
    tilt_tick_ns: list[float] = field(default_factory=list)
    inertial_tick_ns: list[float] = field(default_factory=list)
    payload_tick_ns: list[float] = field(default_factory=list)
    data_s: float = 0.0
    wall_s: float = 0.0
    health: list[Health] = field(default_factory=list)
    reports: list[tuple[int, str, list[Health]]] = field(default_factory=list)
    contact_loads: list[tuple[int, tuple[ContactLoad, ...]]] = field(default_factory=list)
    checks: list[Finding] = field(default_factory=list)
    start_ns: int = 0
    begin_ns: int = 0
    end_ns: int = 0
    clock_offset_ns: int = 0

    @property
    def realtime_factor(self) -> float:
        """Seconds of recording per second of wall clock."""
        return self.data_s / self.wall_s if self.wall_s > 0.0 else 0.0
