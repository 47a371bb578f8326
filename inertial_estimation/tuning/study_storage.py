"""Where trials are kept: a journal file or a database that processes and machines share.

Every trial notes the process that runs it. One whose process is gone is run again with the same values, so
that a study which was killed goes on where it was: no trial is lost, and none counts twice.
"""

import os
import socket
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import optuna
from optuna.exceptions import DuplicatedStudyError, UpdateFinishedTrialError
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, TrialState

from inertial_estimation.errors import ConfigurationError, MissingDependencyError, one_line

READY, CLAIM, PROCESS, LAYOUT, REPEATS = "ready", "claim", "process", "layout", "repeats"
CLAIM_S = 1.0  # after which a claim to lay out the trials counts
PATIENCE_S = 30.0  # with a process of another machine that lays out the trials
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


def begin_study(name: str, storage: BaseStorage, layout: Sequence[Mapping[str, Any]]) -> "optuna.Study":
    """Return a study whose first trials are laid out, by this process or by another one.

    Args:
        name: Name of the study.
        storage: Where it is.
        layout: Values of the first trials.
    """
    study, made = _opened(name, storage)
    own, first_seen = own_process(), time.monotonic()
    while not study.user_attrs.get(READY):
        claim = study.user_attrs.get(CLAIM)
        if claim == own:
            _lay_out(study, layout)
        elif made or _is_free(claim, time.monotonic() - first_seen):
            study.set_user_attr(CLAIM, own)
            time.sleep(0.0 if made else CLAIM_S)  # of two that claim it at once, both then see the later one
        else:
            time.sleep(0.2)
    return study


def _opened(name: str, storage: BaseStorage) -> tuple["optuna.Study", bool]:
    """Return a study, and whether this process has made it."""
    if name not in optuna.get_all_study_names(storage):
        try:
            return optuna.create_study(storage=storage, study_name=name), True
        except DuplicatedStudyError:  # another process was first
            pass
    return optuna.load_study(study_name=name, storage=storage), False


def _lay_out(study: "optuna.Study", layout: Sequence[Mapping[str, Any]]) -> None:
    """Queue the trials that are laid out, and are not yet queued by a process that was ended meanwhile."""
    there = {trial.user_attrs.get(LAYOUT) for trial in study.get_trials(deepcopy=False)}
    for number, values in enumerate(layout):
        if number not in there:
            study.enqueue_trial(dict(values), user_attrs={LAYOUT: number})
    study.set_user_attr(READY, True)


def _is_free(claim: Any, waited_s: float) -> bool:
    """Return whether the process that lays out the trials is gone, or never began."""
    if isinstance(claim, str) and claim.rsplit(":", 2)[0] == socket.gethostname():
        return _is_lost(claim, None)
    return waited_s > PATIENCE_S


def own_process() -> str:
    """Return what identifies this process: machine, number and the time at which it began."""
    return f"{socket.gethostname()}:{os.getpid()}:{_started(os.getpid())}"


def recover_lost_trials(study: "optuna.Study") -> int:
    """Let trials whose process is gone run again, with the same values.

    Returns:
        Number of such trials.
    """
    lost = 0
    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        if not _is_lost(trial.user_attrs.get(PROCESS), trial.datetime_start):
            continue
        try:
            study.tell(trial.number, state=TrialState.FAIL)
        except (UpdateFinishedTrialError, ValueError):  # another process has found it, too
            continue
        values = {**trial.system_attrs.get(LAID_OUT_VALUES, {}), **trial.params}  # not all may be drawn yet
        study.enqueue_trial(values, user_attrs={REPEATS: _origin(trial), **_layout_of(trial)})
        lost += 1
    return lost


def is_claimed(study: "optuna.Study") -> bool:
    """Return whether every trial that runs has noted its process; one that has not may have lost it."""
    running = study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
    return all(PROCESS in trial.user_attrs for trial in running)


def distinct(trials: Iterable[FrozenTrial]) -> list[FrozenTrial]:
    """Return trials without those that repeat another one, which two processes may have begun at once."""
    found: dict[Any, FrozenTrial] = {}
    for trial in trials:
        laid_out = trial.user_attrs.get(LAYOUT)
        found.setdefault(("trial", _origin(trial)) if laid_out is None else (LAYOUT, laid_out), trial)
    return list(found.values())


def _origin(trial: FrozenTrial) -> int:
    """Return the number of the trial that a trial repeats, or its own."""
    return int(trial.user_attrs.get(REPEATS, trial.number))


def _layout_of(trial: FrozenTrial) -> dict[str, int]:
    return {LAYOUT: trial.user_attrs[LAYOUT]} if LAYOUT in trial.user_attrs else {}


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
