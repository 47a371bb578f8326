"""The command `view`: a recording of ``replay --rrd`` in the viewer."""

import argparse
import importlib.util
import os
from pathlib import Path

from inertial_estimation.errors import MissingDependencyError
from inertial_estimation.files.text_file import resolved_path


def run(args: argparse.Namespace) -> int:
    """Replace this process by the viewer, so that signals end it; its own launcher would leave it running."""
    package = importlib.util.find_spec("rerun_cli")
    if package is None or package.origin is None:
        raise MissingDependencyError("view needs the extra 'view': pip install 'inertial_estimation[view]'")
    file = resolved_path(args.file)
    file.open("rb").close()  # the viewer would start without it
    viewer = str(Path(package.origin).with_name("rerun"))
    os.execv(viewer, [viewer, *(["--web-viewer"] if args.web else []), str(file)])
