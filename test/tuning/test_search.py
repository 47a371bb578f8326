"""Searches on a storage that processes share: complete, repeatable, unharmed by a killed process."""

import itertools
import subprocess
import sys
import textwrap

import numpy as np
import pytest

pytest.importorskip("optuna")

from inertial_estimation.errors import ConfigurationError, MeasurementError
from inertial_estimation.tuning import study_storage
from inertial_estimation.tuning.search import Search, importances, run_trials, trials_of
from inertial_estimation.tuning.study_storage import check_storage
from inertial_estimation.tuning.variation import Variation

X = Variation("node", "x", 1.0, 0.1, 10.0, log=True)
Y = Variation("node", "y", 0.0, -2.0, 2.0)
KIND = Variation("node", "kind", "a", choices=("a", "b"))


def bowl(values, _report=None):
    """Least at x = 3, y = 0.5; two blocks."""
    square = np.log(values["x"] / 3.0) ** 2 + (values["y"] - 0.5) ** 2
    return np.array([square - 0.1, square + 0.1])


def search(tmp_path, method, trials=30, *, name="study", variations=(X, Y), **options):
    return Search(name, variations, method, trials, 3, str(tmp_path / "journal.log"), **options)


def values_of(trials):
    return sorted(tuple(sorted(trial.values.items())) for trial in trials)


def test_the_optimiser_finds_the_least_score(tmp_path):
    wanted = search(tmp_path, "optimiser", 32)
    assert run_trials(wanted, bowl) == 32
    found = trials_of(wanted)
    assert len(found) == 32
    assert found[0].values == {"x": 1.0, "y": 0.0}, "the values in effect come first"
    best = min(found, key=lambda trial: trial.score)
    assert best.values["x"] == pytest.approx(3.0, rel=0.4)
    assert best.values["y"] == pytest.approx(0.5, abs=0.4)
    assert best.score == pytest.approx(best.scores.mean())
    assert set(importances(wanted)) == {"x", "y"}


def test_a_grid_has_every_combination(tmp_path):
    wanted = search(tmp_path, "grid", 19, variations=(X, Y, KIND))
    run_trials(wanted, bowl)
    found = [tuple(trial.values.values()) for trial in trials_of(wanted)]
    assert found[0] == (1.0, 0.0, "a")
    xs, ys = (0.1, 1.0, 10.0), (-2.0, 0.0, 2.0)
    expected = {(x, y, kind) for x, y, kind in itertools.product(xs, ys, ("a", "b"))}
    rounded = {(round(x, 9), round(y, 9), kind) for x, y, kind in found}
    assert rounded == expected


def test_a_random_search_is_the_same_in_two_processes_and_in_one(tmp_path):
    alone, shared = (search(tmp_path, "random", 14, name=name) for name in ("alone", "shared"))
    run_trials(alone, bowl)
    turns: list = []

    def first(values, report=None):
        """In the middle of the first process's trials the second one takes some."""
        if len(turns) == 5:
            turns.append(None)
            turns.append(run_trials(shared, bowl, worker=1))
        turns.append(None)
        return bowl(values)

    run_trials(shared, first)
    assert values_of(trials_of(shared)) == values_of(trials_of(alone))
    assert len(trials_of(shared)) == 14


def test_parameters_that_do_not_run_are_told_apart(tmp_path):
    def failing(values, _report=None):
        if values["x"] > 2.0:
            raise MeasurementError("too stiff")
        return bowl(values)

    wanted = search(tmp_path, "random", 12)
    run_trials(wanted, failing)
    found = trials_of(wanted)
    failed = [trial for trial in found if trial.failure]
    assert {trial.failure for trial in failed} == {"too stiff"}
    assert all(trial.values["x"] > 2.0 for trial in failed)
    assert all(trial.complete != bool(trial.failure) for trial in found)


def test_a_trial_that_is_clearly_worse_is_stopped(tmp_path):
    blocks = []

    def long(values, report):
        scores = 10.0 * bowl(values)[0] + 0.1 * np.random.default_rng(0).normal(size=9)
        for block, score in enumerate(scores):
            report(block, score)
            blocks.append(block)
        return scores

    wanted = search(tmp_path, "random", 8, stops=True)
    run_trials(wanted, long)
    found = trials_of(wanted)
    assert len(found) == 8
    stopped = [trial for trial in found if not trial.complete]
    assert len(stopped) > 1
    best = min(found, key=lambda trial: trial.score)
    assert best.complete
    assert len(blocks) < 0.95 * 8 * 9


def test_a_killed_search_goes_on_and_loses_no_trial(tmp_path):
    wanted = search(tmp_path, "random", 12)
    code = f"""
        import os
        import numpy as np
        from inertial_estimation.tuning.search import Search, run_trials
        from inertial_estimation.tuning.variation import Variation
        done = []
        def score(values, report=None):
            done.append(values)
            if len(done) == 7:
                os.kill(os.getpid(), 9)
            return np.array([values["x"], values["y"]])
        variations = (
            Variation("node", "x", 1.0, 0.1, 10.0, log=True), Variation("node", "y", 0.0, -2.0, 2.0)
        )
        run_trials(Search("study", variations, "random", 12, 3, {wanted.storage!r}), score)
    """
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, timeout=120, check=False
    )
    assert ended.returncode == -9, ended.stderr.decode()
    before = values_of(trials_of(wanted))
    assert len(before) == 6
    assert run_trials(wanted, bowl) == 6
    after = values_of(trials_of(wanted))
    assert len(after) == len(set(after)) == 12
    assert set(before) < set(after)
    alone = search(tmp_path, "random", 12, name="alone")
    run_trials(alone, bowl)
    assert values_of(trials_of(alone)) == after


def test_a_trial_whose_process_was_killed_before_it_began_runs_with_its_own_values(tmp_path, monkeypatch):
    alone, wanted = (search(tmp_path, "random", 6, name=name) for name in ("alone", "study"))
    run_trials(alone, bowl)
    study = study_storage.begin_study(wanted.study, wanted.storage, wanted.layout())
    lost = study.ask()  # neither values nor process
    assert not lost.params
    monkeypatch.setattr(study_storage, "PATIENCE_S", 1.0)
    assert run_trials(wanted, bowl) == 6
    assert values_of(trials_of(wanted)) == values_of(trials_of(alone))


def test_a_storage_that_cannot_be_opened_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match="cannot open the storage 'sqlite://"):
        check_storage(f"sqlite:///{tmp_path}/nowhere/trials.db")
    with pytest.raises(ConfigurationError, match="cannot write the journal"):
        check_storage(str(tmp_path))
