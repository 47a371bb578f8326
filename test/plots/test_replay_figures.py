"""Figures carry the data, units on every axis, and survive what real runs contain."""

from pathlib import Path

import numpy as np
import pytest

from inertial_estimation.estimators.payload.payload_events import PayloadEvent
from inertial_estimation.replay.estimate_series import InertialSeries, LinkSeries, TiltSeries
from inertial_estimation.replay.metrics import tilt_errors
from inertial_estimation.replay.payload_series import PayloadSeries
from inertial_estimation.replay.replay_metrics import ReplayResults
from inertial_estimation.signals import Decision, HealthLevel, OrientationSample

pytest.importorskip("matplotlib")
from inertial_estimation.plots.payload_figure import figure_of_trunk
from inertial_estimation.plots.replay_figures import (
    figure_of_bias,
    figure_of_masses,
    figure_of_nis,
    figure_of_tilt,
    write_figures,
)

N = 300
STAMPS = 1_700_000_000_000_000_000 + 10_000_000 * np.arange(N, dtype=np.int64)


def tilt() -> TiltSeries:
    lean = 0.1 * np.sin(0.05 * np.arange(N))
    tilts = np.stack([lean, 0 * lean, np.sqrt(1 - lean**2)], axis=1)
    quaternions = np.stack(
        [0 * lean, -np.sin(0.5 * np.arcsin(lean)), 0 * lean, np.cos(0.5 * np.arcsin(lean))], 1
    )
    contacts = tuple(() if 100 <= k < 120 else ("foot",) for k in range(N))
    bias = np.outer(np.linspace(0, 1, N), [1e-3, 2e-3, -3e-3])
    return TiltSeries(STAMPS, quaternions, tilts, bias, contacts, np.zeros(N), np.ones(N, dtype=bool))


def inertial(links: int = 2) -> InertialSeries:
    mass = np.linspace(2.0, 3.0, N)
    series = tuple(
        LinkSeries(
            f"link{k}", mass + k, np.full(N, 0.1), mass, np.zeros((N, 3)), np.zeros((N, 3, 3)), mass - 2.0
        )
        for k in range(links)
    )
    nis = np.full(N, 6.0)
    nis[50:60] = 100.0
    bounds = np.full(N, 22.0)
    accepted = nis < bounds
    accepted[200:] = False
    decisions = tuple(
        Decision.DISABLED if k >= 200 else Decision.REJECTED if 50 <= k < 60 else Decision.ACCEPTED
        for k in range(N)
    )
    return InertialSeries(STAMPS, series, nis, bounds, accepted, decisions, tuple("abcdef"), np.zeros((N, 6)))


def trunk() -> PayloadSeries:
    mass = np.linspace(61.0, 71.0, N)
    com, sigma = np.outer(mass - 61.0, [-0.01, 0.005, 0.0]), np.full((N, 3), np.inf)
    sigma[150:, :2] = 1e-3
    events = tuple(
        PayloadEvent(int(STAMPS[k]), kind, level, kind)
        for k, kind, level in (
            (100, "loaded", HealthLevel.WARN),
            (200, "refused", HealthLevel.ERROR),
            (250, "loaded", HealthLevel.WARN),
        )
    )
    held = (np.arange(N) > 100) & (np.arange(N) < 200)
    return PayloadSeries(
        *("trunk", STAMPS, mass, np.full(N, 0.1), com, sigma, mass, com, np.zeros((N, 3, 3)), mass - 61.0),
        *(np.full(N, np.nan), ("watching",) * N, ~held, held, events),
    )


def labels(figure: object) -> list[str]:
    return [axis.get_ylabel() for axis in figure.axes]


def lines(axis: object) -> dict[str, np.ndarray]:
    return {line.get_label(): np.asarray(line.get_ydata()) for line in axis.get_lines()}


def test_all_figures_are_written(tmp_path: Path) -> None:
    reference = [OrientationSample(int(t), q) for t, q in zip(STAMPS, tilt().quaternions_xyzw, strict=True)]
    trusted = np.arange(N) > 50
    errors = tilt_errors(STAMPS, tilt().tilts_B, reference, trusted)
    written = write_figures(tmp_path, ReplayResults(tilt(), inertial(), errors, {}))
    assert [path.name for path in written] == ["tilt.png", "gyro_bias.png", "masses.png", "nis.png"]
    for path in written:
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.stat().st_size > 10_000


def test_axes_have_units() -> None:
    assert labels(figure_of_tilt(tilt(), None)) == ["inclination [deg]"] * 2
    assert labels(figure_of_bias(tilt())) == ["bias [mrad/s]"]
    assert labels(figure_of_masses(inertial())) == ["mass [kg]"] * 2
    assert labels(figure_of_nis(inertial())) == ["NIS [-]"]
    for figure in (figure_of_tilt(tilt(), None), figure_of_masses(inertial())):
        assert figure.axes[-1].get_xlabel() == "time [s]"


def test_curves_are_the_data() -> None:
    drawn = lines(figure_of_tilt(tilt(), None).axes[0])["estimate"]
    np.testing.assert_allclose(np.sin(np.radians(drawn)), tilt().tilts_B[:, 0], atol=1e-12)
    curves = lines(figure_of_masses(inertial()).axes[1])
    np.testing.assert_allclose(curves["estimate, 2 sigma"], inertial().links[1].masses)
    nis = lines(figure_of_nis(inertial()).axes[0])
    assert [len(nis[name]) for name in ("accepted", "rejected", "not learning")] == [190, 10, 100]


def test_the_trunk_is_drawn_with_what_happened_to_it(tmp_path: Path) -> None:
    figure = figure_of_trunk(trunk())
    assert labels(figure) == ["mass [kg]", "x [mm]", "y [mm]", "z [mm]"]
    curves = lines(figure.axes[0])
    np.testing.assert_allclose(curves["identified, 2 sigma"], trunk().masses)
    assert {"published", "loaded", "refused", "asked to hold"} <= set(curves)
    drawn = [np.asarray(line.get_ydata()) for line in figure.axes[2].get_lines()]
    assert any(len(y) == N and np.allclose(y, 1e3 * trunk().coms_L[:, 1]) for y in drawn)
    nothing = TiltSeries(STAMPS[:0], *(np.zeros((0, 3)),) * 3, (), np.zeros(0), np.zeros(0, dtype=bool))
    empty = InertialSeries(STAMPS[:0], (), *(np.zeros(0),) * 3, (), (), np.zeros((0, 0)))
    written = write_figures(tmp_path, ReplayResults(nothing, empty, None, {}, trunk()))
    assert [path.name for path in written] == ["trunk.png"]


def test_untrusted_reference_is_not_drawn() -> None:
    reference = [OrientationSample(int(t), q) for t, q in zip(STAMPS, tilt().quaternions_xyzw, strict=True)]
    trusted = np.arange(N) > 50
    errors = tilt_errors(STAMPS, tilt().tilts_B, reference, trusted)
    axes = figure_of_tilt(tilt(), errors).axes
    assert np.isnan(lines(axes[2])["error"][:51]).all()
    assert np.isfinite(lines(axes[2])["error"][51:]).all()


def test_many_links_and_infinite_gate(tmp_path: Path) -> None:
    series = inertial(9)
    open_gate = InertialSeries(
        **{**{n: getattr(series, n) for n in series.__dataclass_fields__}, "nis_bounds": np.full(N, np.inf)}
    )
    empty = TiltSeries(
        STAMPS[:0],
        np.zeros((0, 4)),
        np.zeros((0, 3)),
        np.zeros((0, 3)),
        (),
        np.zeros(0),
        np.zeros(0, dtype=bool),
    )
    written = write_figures(tmp_path, ReplayResults(empty, open_gate, None, {}))
    assert [path.name for path in written] == ["masses.png", "nis.png"]
