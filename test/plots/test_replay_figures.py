"""Figures carry the data, units on every axis, and survive what real runs contain."""

from pathlib import Path

import numpy as np
import pytest

from inertial_estimation.payload.report import PayloadEvent
from inertial_estimation.recordings.truth_file import InertiaStep, TrueInertias
from inertial_estimation.replay.estimate_series import InertialSeries, LinkSeries, PayloadSeries, TiltSeries
from inertial_estimation.replay.metrics import TiltErrors, tilt_errors
from inertial_estimation.replay.replay_metrics import ReplayResults
from inertial_estimation.replay.result_files import FIGURES
from inertial_estimation.replay.time_axis import TimeAxis
from inertial_estimation.replay.torque_errors import TorqueSeries
from inertial_estimation.signals import Decision, LinkInertia, OrientationSample

pytest.importorskip("matplotlib")
from inertial_estimation.plots.inertia_figures import (
    figure_of_coms,
    figure_of_inertias,
    figure_of_masses,
    figure_of_nis,
    figures_of_torques,
)
from inertial_estimation.plots.replay_figures import (
    figure_of_base,
    figure_of_bias,
    figure_of_tilt,
    figure_of_trunk,
    replay_figures,
    write_figures,
)
from inertial_estimation.plots.style import MAX_POINTS, draw_line, new_figure

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
    return tilt_of(STAMPS, quaternions, tilts, bias, contacts)


def tilt_of(
    stamps: np.ndarray, quaternions: np.ndarray, tilts: np.ndarray, bias: np.ndarray, contacts: tuple
) -> TiltSeries:
    n = len(stamps)
    aided, vectors = np.ones(n, dtype=bool), np.zeros((n, 3))
    covariances = np.tile(1e-4 * np.eye(3), (n, 1, 1))
    return TiltSeries(
        stamps, quaternions, tilts, bias, contacts, covariances, aided, vectors, vectors, vectors
    )


def no_tilt() -> TiltSeries:
    return tilt_of(STAMPS[:0], np.zeros((0, 4)), np.zeros((0, 3)), np.zeros((0, 3)), ())


def prior(link: int) -> np.ndarray:
    """Measured are all masses, and of the first link the centre of mass along x and y."""
    sigmas = np.full(10, 0.1)
    sigmas[: 3 if link == 0 else 1] = 1.0
    return sigmas


def inertial(links: int = 2) -> InertialSeries:
    mass = np.linspace(2.0, 3.0, N)
    series = tuple(
        LinkSeries(
            *(f"link{k}", mass + k, np.full(N, 0.1), mass, np.zeros((N, 3)), np.zeros((N, 3, 3)), mass - 2.0),
            *(np.outer(mass, [1.0, 2.0, 3.0]), np.zeros((N, 3, 3)), np.full((N, 10), 0.1), prior(k)),
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
    found = ((100, "loaded"), (200, "refused"), (250, "loaded"))
    events = tuple(PayloadEvent(int(STAMPS[k]), kind, kind) for k, kind in found)
    held = (np.arange(N) > 100) & (np.arange(N) < 200)
    return PayloadSeries(
        *("trunk", STAMPS, mass, np.full(N, 0.1), com, sigma, mass, com, np.zeros((N, 3, 3)), mass - 61.0),
        *(np.full(N, np.nan), ("watching",) * N, ~held, held, events),
    )


def labels(figure: object) -> list[str]:
    return [axis.get_ylabel() for axis in figure.axes]


def lines(axis: object) -> dict[str, np.ndarray]:
    return {line.get_label(): np.asarray(line.get_ydata()) for line in axis.get_lines()}


def held_out(second: float = 2.0) -> TimeAxis:
    """The recording starts 0.5 s before the first estimate; the hold-out begins later."""
    origin = int(STAMPS[0]) - 500_000_000
    return TimeAxis(origin, origin, int(STAMPS[-1]), origin + round(second * 1e9))


TIME = held_out()


def against_reference() -> TiltErrors:
    reference = [OrientationSample(int(t), q) for t, q in zip(STAMPS, tilt().quaternions_xyzw, strict=True)]
    return tilt_errors(STAMPS, tilt().tilts_B, reference, np.arange(N) > 50)


def test_all_figures_are_written(tmp_path: Path) -> None:
    results = ReplayResults(tilt(), inertial(), TIME, {}, against_reference())
    written = write_figures(tmp_path, replay_figures(results))
    names = ["tilt", "base_state", "gyro_bias", "masses", "coms", "inertias", "nis"]
    assert [path.stem for path in written] == names
    assert {path.name for path in written} <= set(FIGURES)
    for path in written:
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.stat().st_size > 10_000


def test_axes_have_units_and_one_time() -> None:
    figures = {
        figure_of_tilt(tilt(), None, TIME): ["inclination [deg]", "inclination [deg]", ""],
        figure_of_base(tilt(), None, TIME): ["yaw [deg]", "position [m]", "velocity [m/s]"],
        figure_of_bias(tilt(), TIME): ["bias [mrad/s]"],
        figure_of_masses(inertial(), TIME): ["mass [kg]"] * 2,
        figure_of_coms(inertial(), TIME): ["change from start [mm]"] * 2,
        figure_of_inertias(inertial(), TIME): ["change from start [kg m²]"] * 2,
        figure_of_nis(inertial(), TIME): ["NIS [-]", ""],
        figure_of_trunk(trunk(), TIME): ["mass [kg]", "x [mm]", "y [mm]", "z [mm]"],
    }
    for figure, expected in figures.items():
        assert labels(figure) == expected
        assert figure.axes[-1].get_xlabel() == "time since the start of the recording [s]"
        for axis in figure.axes:
            assert axis.get_xlim() == pytest.approx((0.0, 0.5 + 0.01 * (N - 1)))
            marks = [line for line in axis.get_lines() if list(line.get_xdata()) == [2.0, 2.0]]
            assert len(marks) == 1  # the hold-out


def test_curves_are_the_data() -> None:
    line = next(
        line
        for line in figure_of_tilt(tilt(), None, TIME).axes[0].get_lines()
        if line.get_label() == "estimate"
    )
    np.testing.assert_allclose(np.sin(np.radians(line.get_ydata())), tilt().tilts_B[:, 0], atol=1e-12)
    np.testing.assert_allclose(line.get_xdata(), 0.5 + 0.01 * np.arange(N), atol=1e-9)
    curves = lines(figure_of_masses(inertial(), TIME).axes[1])
    np.testing.assert_allclose(curves["estimate, 2 sigma"], inertial().links[1].masses)
    nis = lines(figure_of_nis(inertial(), TIME).axes[0])
    assert [len(nis[name]) for name in ("accepted", "rejected", "not learning")] == [190, 10, 100]


def test_every_peak_of_a_long_line_is_drawn() -> None:
    _figure, (axis,) = new_figure(1)
    t = np.arange(100_000.0)
    values = np.zeros(len(t))
    values[[12_345, 67_890]] = 1.0, -2.0
    draw_line(axis, t, values)
    drawn = axis.get_lines()[0].get_ydata()
    assert len(drawn) <= MAX_POINTS
    assert (drawn.max(), drawn.min()) == (1.0, -2.0)


def test_what_was_not_measured_is_drawn_as_such() -> None:
    first, second = figure_of_coms(inertial(), TIME).axes
    texts = [text.get_text() for text in first.get_legend().get_texts()]
    assert [text.split()[0] for text in texts] == ["x", "y", "z"]
    assert ["not measured" in text for text in texts] == [False, False, True]
    assert all("not measured" in text.get_text() for text in second.get_legend().get_texts())
    axes = figure_of_trunk(trunk(), TIME).axes
    assert "identified, 2 sigma" not in lines(axes[3])  # the height of the centre of mass
    assert np.isfinite(lines(axes[3])["URDF, not measured"]).all()
    assert axes[3].get_title(loc="left").endswith("not measured")


def test_the_trunk_is_drawn_with_what_happened_to_it(tmp_path: Path) -> None:
    figure = figure_of_trunk(trunk(), TIME)
    curves = lines(figure.axes[0])
    np.testing.assert_allclose(curves["identified, 2 sigma"], trunk().masses)
    assert {"published", "loaded", "refused", "asked to hold"} <= set(curves)
    drawn = [np.asarray(line.get_ydata()) for line in figure.axes[2].get_lines()]
    assert any(len(y) == N and np.allclose(y[150:], 1e3 * trunk().coms_L[150:, 1]) for y in drawn)
    empty = InertialSeries(STAMPS[:0], (), *(np.zeros(0),) * 3, (), (), np.zeros((0, 0)))
    results = ReplayResults(no_tilt(), empty, TIME, {}, payload=trunk())
    assert list(replay_figures(results)) == ["trunk.png"]


def test_the_truth_is_drawn_from_when_it_holds() -> None:
    steps = [
        InertiaStep(at, LinkInertia("link0", mass, np.zeros(3), np.eye(3))) for at, mass in ((0, 2), (1.5, 7))
    ]
    axis = figure_of_masses(inertial(), TIME, TrueInertias({"link0": steps})).axes[0]
    true = lines(axis)["truth 7.000 kg"]
    assert (true[99], true[101]) == (2.0, 7.0)  # at 0.5 + 0.99 and 0.5 + 1.01 s
    assert axis.get_ylim()[1] > 7.0


def test_untrusted_reference_is_not_drawn() -> None:
    axes = figure_of_tilt(tilt(), against_reference(), TIME).axes
    assert np.isnan(lines(axes[2])["error"][:51]).all()
    assert np.isfinite(lines(axes[2])["error"][51:]).all()


def test_forces_and_phases_are_drawn_under_the_tilt() -> None:
    forces = {"foot": (STAMPS, np.linspace(0.0, 100.0, N))}
    axes = figure_of_tilt(tilt(), None, TIME, forces).axes
    np.testing.assert_allclose(lines(axes[2])["foot"], forces["foot"][1])
    assert [text.get_text() for text in axes[3].get_yticklabels()] == ["foot"]
    bars = axes[3].collections[0].get_paths()
    assert len(bars) == 2  # before and after the flight
    assert bars[0].vertices[:, 0].max() == pytest.approx(0.5 + 1.0)


def test_predicted_torques_are_measured_minus_innovation() -> None:
    measured = np.column_stack([np.full(N, np.nan), np.linspace(0.0, 10.0, N)])
    series = TorqueSeries(STAMPS, ("base_force_x", "elbow"), measured, np.full((N, 2), 0.5))
    (figure,) = figures_of_torques(series, TIME)
    residual, elbow = (lines(axis) for axis in figure.axes)
    assert np.all(residual["measured minus\npredicted"] == 0.5)
    np.testing.assert_allclose(elbow["predicted"], measured[:, 1] - 0.5)
    assert "rms error after the hold-out 0.5 Nm" in figure.axes[1].get_title(loc="left")


def test_many_links_and_infinite_gate() -> None:
    series = inertial(9)
    open_gate = InertialSeries(
        **{**{n: getattr(series, n) for n in series.__dataclass_fields__}, "nis_bounds": np.full(N, np.inf)}
    )
    figures = replay_figures(ReplayResults(no_tilt(), open_gate, TIME, {}))
    assert list(figures) == ["masses.png", "coms.png", "inertias.png", "nis.png"]
