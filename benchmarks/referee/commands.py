"""The commands of the package, run in this process, with their files and output."""

import contextlib
import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.referee.task import SkippedError

ROOT = Path(__file__).resolve().parents[2]


def dataset(name: str) -> Path:
    """Return a file or folder of the data sets; the task is skipped if it is missing."""
    folder = os.environ.get("INERTIAL_ESTIMATION_DATASETS", ROOT.parent / "shared" / "datasets")
    path = Path(folder, name)
    if not path.exists():
        raise SkippedError(f"no recording {name} (INERTIAL_ESTIMATION_DATASETS)")
    return path


def ran(*words: object) -> tuple[int, str]:
    """Run a command; return its exit code and all that it printed."""
    from inertial_estimation.commands.main import main

    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        try:
            code = main([str(word) for word in words])
        except SystemExit as ended:
            code = int(ended.code or 0)
    return code, output.getvalue()


def result(file: str, *words: object) -> Any:
    """Run a command, and return a JSON file that it writes."""
    with tempfile.TemporaryDirectory() as folder:
        code, text = ran(*words, "--output", folder, "--overwrite")
        path = Path(folder, file)
        if (code and words[0] != "check") or not path.exists():
            raise RuntimeError(f"'{' '.join(map(str, words[:2]))}' ended with {code}: {text.strip()[-300:]}")
        return json.loads(path.read_text(encoding="utf-8"))


def identified(*words: object) -> dict[str, Any]:
    """Return the result of `identify` by the method that it chooses."""
    found = result("identification.json", "identify", *words, "--no-figures")
    method: dict[str, Any] = found["methods"][found["chosen"]]
    return method


def reported(bag: Path, *options: object) -> list[dict[str, str]]:
    """Return the errors and warnings of `check`: check, subject, verdict, sentence and remedy of each."""
    found = result("check.json", "check", bag, *options)
    return [one for one in found if one["verdict"] in ("wrong", "warn")]
