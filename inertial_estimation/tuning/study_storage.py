"""Where trials are kept: a journal file or a database that processes and machines share.

Every trial notes the process that runs it, and which values it has of those that are laid out before the
first trial. One whose process is gone is run again with the same values, so that a study which was killed
goes on where it was: no trial is lost. Where two processes queue the same values at once, the one that begins
them first keeps them, so that none counts twice.
"""

import os
import socket
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import optuna
from optuna.exceptions import UpdateFinishedTrialError
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, TrialState

from inertial_estimation.errors import ConfigurationError, MissingDependencyError, one_line

PROCESS, ORIGIN = "process", "origin"  # notes of a trial: who runs it; what it is, of the layout or a repeat
PATIENCE_S = 30.0  # with a trial that has not noted its process
OLDEST_S = 3600.0  # of a trial on another machine; an older one is taken for lost
DRIVER = "psycopg"
ENDED = ("Z", "X")  # states of processes of which only the exit code is left
LAID_OUT_VALUES = "fixed_params"  # where Optuna keeps the values of a trial that is laid out


def open_storage(where: str) -> BaseStorage:
    """Open a storage.

    Args:
        where: Path of a journal file, made if it does not exist, or URL of a database
            (``postgresql://USER@HOST/NAME``).

    Raises:
        ConfigurationError: If it cannot be opened.
        MissingDependencyError: If the database needs a driver that is not installed.
    """
    if "://" not in where:
        return JournalStorage(JournalFileBackend(where))
    kind, _colon, rest = where.partition("://")
    url = f"postgresql+{DRIVER}://{rest}" if kind in ("postgresql", "postgres") else where
    try:
        return RDBStorage(url, engine_kwargs={"pool_pre_ping": True})
    except ImportError as error:
        missing = error.name or DRIVER
        raise MissingDependencyError(
            f"the storage '{kind}://' needs the Python package '{missing}' (pip install '{missing}[binary]')"
        ) from error
    except Exception as error:  # whatever SQLAlchemy and its drivers raise
        raise ConfigurationError(
            f"cannot open the storage '{kind}://...': {one_line(error, limit=200)}"
        ) from error


def check_storage(where: str) -> None:
    """Check that a storage can be written, before anything is computed.

    Raises:
        ConfigurationError: If it cannot.
    """
    if "://" not in where:
        folder = Path(where).resolve().parent
        if Path(where).is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
            raise ConfigurationError(
                f"cannot write the journal '{where}', expected a file in an existing folder"
            )
    open_storage(where)


def begin_study(name: str, where: str, layout: Sequence[Mapping[str, Any]]) -> "optuna.Study":
    """Return a study whose first trials are laid out, by this process or by another one.

    Args:
        name: Name of the study.
        where: Its storage, as for `open_storage`.
        layout: Values of the first trials.
    """
    storage = open_storage(where)
    if name in optuna.get_all_study_names(storage):
        study = optuna.load_study(study_name=name, storage=storage)
    else:
        study = optuna.create_study(study_name=name, storage=storage, load_if_exists=True)
    there = {trial.user_attrs.get(ORIGIN) for trial in study.get_trials(deepcopy=False)}
    for number, values in enumerate(layout):
        if f"layout {number}" not in there:
            study.enqueue_trial(dict(values), user_attrs={ORIGIN: f"layout {number}"})
    return study


def own_process() -> str:
    """Return what identifies this process: machine, number and the time at which it began."""
    return f"{socket.gethostname()}:{os.getpid()}:{_started(os.getpid())}"


def recover_lost_trials(study: "optuna.Study") -> None:
    """Let trials whose process is gone run again, with the same values."""
    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        if not _is_lost(trial.user_attrs.get(PROCESS), trial.datetime_start):
            continue
        try:
            study.tell(trial.number, state=TrialState.FAIL)
        except (UpdateFinishedTrialError, ValueError):  # another process has found it, too
            continue
        values = {**trial.system_attrs.get(LAID_OUT_VALUES, {}), **trial.params}  # not all may be drawn yet
        study.enqueue_trial(values, user_attrs={ORIGIN: _origin(trial)})


def is_claimed(study: "optuna.Study") -> bool:
    """Return whether every trial that runs has noted its process; one that has not may have lost it."""
    running = study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
    return all(PROCESS in trial.user_attrs for trial in running)


def is_begun_already(study: "optuna.Study", number: int) -> bool:
    """Return whether an earlier trial has, or has had, the same of the values that are laid out."""
    trials = study.get_trials(deepcopy=False)
    kept = (TrialState.COMPLETE, TrialState.RUNNING)
    origin = _origin(trials[number])
    return any(one.state in kept and _origin(one) == origin for one in trials[:number])


def _origin(trial: FrozenTrial) -> str:
    """Return which of the laid out values a trial has, or the number of the trial that it is or repeats."""
    return str(trial.user_attrs.get(ORIGIN, f"trial {trial.number}"))


def _is_lost(process: Any, began: datetime | None) -> bool:
    age_s = (datetime.now() - began).total_seconds() if began is not None else 0.0
    if not isinstance(process, str):
        return age_s > PATIENCE_S
    host, number, started = process.rsplit(":", 2)
    if host != socket.gethostname():
        return age_s > OLDEST_S
    return _started(int(number)) != started


def _started(process: int) -> str:
    """Return when a process of this machine began, in ticks since the machine did; empty if it has ended.

    One that has ended stays listed until its parent asks for its exit code, which may be never.
    """
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except OSError:
        return ""
    state, *fields = text.rpartition(")")[2].split()
    return "" if state in ENDED else fields[18]
