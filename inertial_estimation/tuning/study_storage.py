"""Where trials are kept: a journal file or a database that processes and machines share.

Every trial notes the process that runs it. One whose process is gone is run again with the same values, so
that a study which was killed goes on where it was: no trial is lost, and none counts twice.
"""

import os
import socket
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import optuna
from optuna.exceptions import DuplicatedStudyError, UpdateFinishedTrialError
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState

from inertial_estimation.errors import ConfigurationError, MissingDependencyError, one_line

__all__ = ["begin_study", "check_storage", "open_storage", "own_process", "recover_lost_trials"]

READY, PROCESS = "ready", "process"
PATIENCE_S = 30.0  # with another process that lays out the trials
OLDEST_S = 3600.0  # of a trial on another machine; an older one is taken for lost
DRIVER = "psycopg"


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
    if name in optuna.get_all_study_names(storage):
        study = _laid_out(name, storage)
    else:
        try:
            study = optuna.create_study(storage=storage, study_name=name)
        except DuplicatedStudyError:  # another process was first
            study = _laid_out(name, storage)
    if not study.user_attrs.get(READY):
        for number, values in enumerate(layout):
            study.enqueue_trial(dict(values), user_attrs={"layout": number}, skip_if_exists=True)
        study.set_user_attr(READY, True)
    return study


def _laid_out(name: str, storage: BaseStorage) -> "optuna.Study":
    """Return a study that another process has made, when it is ready or that process seems to be gone."""
    study = optuna.load_study(study_name=name, storage=storage)
    waited_until = time.monotonic() + PATIENCE_S
    while not study.user_attrs.get(READY) and time.monotonic() < waited_until:
        time.sleep(0.2)
    return study


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
        study.enqueue_trial(dict(trial.params), user_attrs={"repeats": trial.number})
        lost += 1
    return lost


def _is_lost(process: Any, began: datetime | None) -> bool:
    age_s = (datetime.now() - began).total_seconds() if began is not None else 0.0
    if not isinstance(process, str):
        return age_s > PATIENCE_S
    host, number, started = process.rsplit(":", 2)
    if host != socket.gethostname():
        return age_s > OLDEST_S
    return _started(int(number)) != started


def _started(process: int) -> str:
    """Return when a process of this machine began, in ticks since the machine did; empty if there is none."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[19]
