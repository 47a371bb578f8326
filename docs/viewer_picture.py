"""Makes docs/images/rerun.png: the commands of docs/viewer.md, and the viewer in a browser without a display.

    python docs/viewer_picture.py [--output FILE] [--wait S]

Needs the extras standalone, sim, tools, robots and view, websockets, and Chromium.
"""

import argparse
import asyncio
import base64
import contextlib
import json
import os
import socket
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

import rerun_cli
import websockets
from page_commands import ROOT, blocks_of, prepared_folder

WIDTH, HEIGHT = 1600, 1000  # of the picture [pixel]
WEB, GRPC, BROWSER = 9190, 9976, 9222  # ports
CHROMIUM = ["chromium", "--headless=new", "--no-sandbox", "--use-angle=swiftshader", "--ignore-gpu-blocklist"]
CHROMIUM += ["--enable-unsafe-swiftshader", f"--remote-debugging-port={BROWSER}"]


def wait_for(port: int) -> None:
    """Wait until a port of this machine is served."""
    for _ in range(600):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.1)


async def picture(url: str, wait_s: float) -> bytes:
    """Return the PNG of a page, some time after it was opened in the browser."""
    pages = json.load(urllib.request.urlopen(f"http://127.0.0.1:{BROWSER}/json"))
    address = next(page["webSocketDebuggerUrl"] for page in pages if page["type"] == "page")
    async with websockets.connect(address, max_size=None, ping_interval=None) as browser:

        async def call(method: str, **params: Any) -> dict[str, Any]:
            await browser.send(json.dumps({"id": 1, "method": method, "params": params}))
            while "id" not in (answer := json.loads(await browser.recv())):
                pass
            return answer["result"]

        size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        await call("Emulation.setDeviceMetricsOverride", **size)
        await call("Page.navigate", url=url)
        await asyncio.sleep(wait_s)
        return base64.b64decode((await call("Page.captureScreenshot", format="png"))["data"])


def main() -> None:
    """Make the picture."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "images" / "rerun.png", metavar="FILE")
    parser.add_argument(
        "--wait", type=float, default=90.0, metavar="S", help="until the viewer has drawn all"
    )
    args = parser.parse_args()
    output = args.output.resolve()
    (block,) = blocks_of(ROOT / "docs" / "viewer.md")
    _install, *commands, _show = block.code.rstrip().split("\n")
    url = f"http://127.0.0.1:{WEB}/?url=rerun%2Bhttp://127.0.0.1:{GRPC}/proxy&renderer=webgl"
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as programs:
        folder = prepared_folder(Path(name))
        path = {"PATH": f"{folder / '.programs'}:{os.environ['PATH']}"}
        subprocess.run(["bash", "-euc", "\n".join(commands)], cwd=folder, env=os.environ | path, check=True)
        viewer = [
            str(Path(*rerun_cli.__path__) / "rerun"),
            "--serve-web",
        ]  # the launcher would leave it running
        viewer += [f"--web-viewer-port={WEB}", f"--port={GRPC}"]
        for command in ([*viewer, "hyq.rrd"], [*CHROMIUM, f"--user-data-dir={folder / 'profile'}"]):
            process = programs.enter_context(subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL))
            programs.callback(process.terminate)
        for port in (WEB, GRPC, BROWSER):
            wait_for(port)
        output.write_bytes(asyncio.run(picture(url, args.wait)))


if __name__ == "__main__":
    main()
