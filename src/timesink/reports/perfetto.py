"""Serves one trace file on 127.0.0.1 for ui.perfetto.dev, which fetches it from the browser.

Nothing leaves the machine: the page runs in the user's browser and reads the file from here. Its
content security policy allows 127.0.0.1:9001 only, hence the fixed port.
"""

from __future__ import annotations

import shutil
import sys
import webbrowser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

from timesink.errors import BadUsage

ORIGIN = "https://ui.perfetto.dev"
HOST = "127.0.0.1"


def serve(path: Path, *, port: int = 9001, open_browser: bool = False, once: bool = False) -> None:
    """Serve until interrupted; ``once``: until the file has been fetched one time."""
    name = "trace.json.gz" if _gzipped(path) else "trace.json"
    try:
        server = ThreadingHTTPServer((HOST, port), handler(path, name, once=once))
    except OSError as error:
        raise BadUsage(
            f"Port {port} of {HOST} cannot be used: {error.strerror}.",
            "End the other `timesink view`; ui.perfetto.dev may only read from port 9001. "
            "Or use --offline.",
        ) from error
    link = f"{ORIGIN}/#!/?url=http://{HOST}:{server.server_address[1]}/{quote(name)}"
    print(f"{path.name} in Perfetto: {link}\nServing on {HOST} only; end with Ctrl-C.", flush=True)
    if open_browser:
        webbrowser.open(link)
    try:
        server.serve_forever(poll_interval=0.1)
    except KeyboardInterrupt:
        print("", file=sys.stderr)
    finally:
        server.server_close()


def _gzipped(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def handler(path: Path, name: str, *, once: bool) -> type[BaseHTTPRequestHandler]:
    """A request handler that knows this one file under this one name."""

    class OneFile(BaseHTTPRequestHandler):
        def do_OPTIONS(self) -> None:
            self._answer(204 if self._asked() else 404)

        def do_HEAD(self) -> None:
            self._answer(200 if self._asked() else 404)

        def do_GET(self) -> None:
            if not self._asked():
                self._answer(404)
                return
            self._answer(200)
            with path.open("rb") as file:
                shutil.copyfileobj(file, self.wfile)
            if once:
                from threading import Thread

                Thread(target=self.server.shutdown).start()

        def _asked(self) -> bool:
            # A foreign name for this host (DNS rebinding) is not answered.
            host = (self.headers.get("Host") or "").partition(":")[0]
            return host in (HOST, "localhost") and self.path.partition("?")[0] == f"/{quote(name)}"

        def _answer(self, status: int) -> None:
            self.send_response(status)
            # Only Perfetto's page may read the file; other pages in the browser may not.
            self.send_header("Access-Control-Allow-Origin", ORIGIN)
            self.send_header("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS")
            self.send_header("Access-Control-Allow-Private-Network", "true")
            self.send_header("Cache-Control", "no-store")
            self.send_header("Vary", "Origin")
            size = path.stat().st_size if status == 200 else 0
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("Content-Length", str(size))
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: the terminal shows the link."""

    return OneFile
