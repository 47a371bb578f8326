"""The commands of the package, run in this process, and what they write and say."""

import contextlib
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any


def ran(*words: object) -> tuple[int, str]:
    """Run a command; return its exit code and all that it printed."""
    from inertial_estimation.commands.main import main

    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            code = main([str(word) for word in words])
        except SystemExit as ended:
            code = int(ended.code or 0)
    return code, said.getvalue()


def result(file: str, folder: Path, *words: object) -> dict[str, Any]:
    """Run a command with a folder for its results, and return a JSON file that it writes there."""
    code, said = ran(*words, "--output", folder, "--overwrite")
    path = folder / file
    if not path.exists():
        raise RuntimeError(f"'{' '.join(map(str, words[:2]))}' ended with {code}: {said.strip()[-300:]}")
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def checked(bag: Path, folder: Path, *options: object) -> list[dict[str, Any]]:
    """Return the results of `check` on a recording: check, subject, verdict and sentence of each."""
    content = result("check.json", folder, "check", bag, *options)
    return list(content["results"] if isinstance(content, dict) else content)


def written(recording: Any, bag: Path, leave_out: Sequence[str] = ()) -> Path:
    """Write a recording as a bag, without the topics whose names contain some texts."""
    from inertial_estimation.recordings.bag_writer import write_recording

    kept = {topic: kind for topic, kind in recording.topics.items() if not any(p in topic for p in leave_out)}
    messages = tuple(entry for entry in recording.messages if entry.topic in kept)
    write_recording(replace(recording, messages=messages, topics=kept), bag, overwrite=True)
    return bag
