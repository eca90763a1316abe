"""A site that knows nothing of Callboard's server: static files under a strict policy, and an AG-UI agent of its own.

The agent is a plain handler that writes server-sent events by hand, as any other implementation of the protocol could.
"""

import json
import threading
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from scripts import assets

POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'"
)

Event = dict[str, Any]
Script = Callable[[dict[str, Any]], Iterable[Event]]


class ForeignSite:
    """The site, until the end of the `with`. Each run of its agent is answered by the next script."""

    def __init__(self) -> None:
        self.runs: list[dict[str, Any]] = []
        """The inputs of all runs so far."""
        self.pages: dict[str, tuple[str, bytes]] = {
            "/ag-ui-agent.js": ("text/javascript", (assets.BUILT / "ag-ui-agent.js").read_bytes()),
            "/icon.svg": ("image/svg+xml", b'<svg xmlns="http://www.w3.org/2000/svg"/>'),
        }
        self._scripts: list[Script] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def add_page(self, script: str, body: str = "") -> None:
        """Serve a page with one script, which may import from the script of the package."""
        html = (
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>site</title><link rel="icon" href="/icon.svg">'
            f'<script type="module" src="/page.js"></script><body>{body}</body></html>'
        )
        self.pages["/"] = ("text/html", html.encode())
        self.pages["/page.js"] = ("text/javascript", script.encode())

    def answer(self, *scripts: Script) -> None:
        """Answer the next runs."""
        self._scripts += scripts

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                media_type, content = site.pages.get(self.path, ("text/plain", b""))
                self.send_response(200 if self.path in site.pages else 404)
                self.send_header("content-type", f"{media_type}; charset=utf-8")
                self.send_header("content-security-policy", POLICY)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def do_POST(self) -> None:
                run: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["content-length"])))
                script = site._scripts[len(site.runs)]
                site.runs.append(run)
                ids = {"threadId": run["threadId"], "runId": run["runId"]}
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                self._send({"type": "RUN_STARTED", **ids})
                for event in script(run):
                    self._send({**ids, **event} if event["type"] == "RUN_FINISHED" else event)

            def _send(self, event: Event) -> None:
                self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
                self.wfile.flush()

            def log_message(self, format: str, *args: object) -> None:
                pass

        return Handler


FINISHED: Event = {"type": "RUN_FINISHED"}


def says(text: str) -> list[Event]:
    """Return the events of a text of the model, and the end of the run."""
    identity = f"m-{text}"
    return [
        {"type": "TEXT_MESSAGE_START", "messageId": identity, "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": identity, "delta": text},
        {"type": "TEXT_MESSAGE_END", "messageId": identity},
        FINISHED,
    ]


def calls(call_id: str, name: str, arguments: str) -> list[Event]:
    """Return the events of a call."""
    return [
        {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": name},
        {"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": arguments},
        {"type": "TOOL_CALL_END", "toolCallId": call_id},
    ]
