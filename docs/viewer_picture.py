"""Makes docs/images/rerun.png: the commands of docs/viewer.md, and the viewer in a browser without a display.

    python docs/viewer_picture.py [--output FILE]

Needs the extras standalone, sim, tools, robots and view, and Chromium. Takes two minutes.
"""

import argparse
import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from page_commands import ROOT, blocks_of, prepared_folder
from PIL import Image

WIDTH, HEIGHT, BAR = 1600, 1000, 87  # of the picture; of what a window without a display lacks [pixel]
WEB, GRPC = 9190, 9976  # ports
CHROMIUM = ["chromium", "--headless=new", "--no-sandbox", "--use-angle=swiftshader", "--ignore-gpu-blocklist"]
CHROMIUM += ["--enable-unsafe-swiftshader", "--virtual-time-budget=60000"]


def wait_for(port: int) -> None:
    """Wait until a port of this machine is served."""
    for _ in range(600):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.1)


def main() -> None:
    """Make the picture."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "images" / "rerun.png", metavar="FILE")
    output = parser.parse_args().output.resolve()
    (block,) = blocks_of(ROOT / "docs" / "viewer.md")
    _install, *commands, _show = block.code.rstrip().split("\n")
    with tempfile.TemporaryDirectory() as name:
        folder = prepared_folder(Path(name))
        path = f"{folder / '.programs'}:{os.environ['PATH']}"
        subprocess.run(
            ["bash", "-euc", "\n".join(commands)], cwd=folder, env=os.environ | {"PATH": path}, check=True
        )
        viewer = [sys.executable, "-m", "rerun", "--serve-web", f"--web-viewer-port={WEB}", f"--port={GRPC}"]
        with subprocess.Popen([*viewer, "hyq.rrd"], cwd=folder) as served:
            wait_for(GRPC)
            wait_for(WEB)
            url = f"http://127.0.0.1:{WEB}/?url=rerun%2Bhttp://127.0.0.1:{GRPC}/proxy&renderer=webgl"
            size, shot = f"--window-size={WIDTH},{HEIGHT + BAR}", folder / "shot.png"
            try:
                subprocess.run(
                    [*CHROMIUM, f"--user-data-dir={folder}", size, f"--screenshot={shot}", url], check=True
                )
            finally:
                served.terminate()
        Image.open(shot).convert("RGB").crop((0, 0, WIDTH, HEIGHT)).save(output, optimize=True)


if __name__ == "__main__":
    main()
