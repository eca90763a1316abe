"""The web server of the shop: a page of another origin that shows the chat, under a strict policy.

Run `python shop.py` in this folder, then the command that it prints in another terminal, and open the shop.
"""

import argparse
import http.server
from contextlib import suppress
from pathlib import Path

HERE = Path(__file__).parent
TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css"}


def shop(callboard: str, port: int = 0) -> http.server.ThreadingHTTPServer:
    """Make the server of the shop, whose pages may load scripts and data from one other server only."""
    policy = f"default-src 'none'; script-src {callboard}; connect-src {callboard}; style-src 'self'; img-src 'self'"

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = HERE / (self.path.strip("/") or "index.html")
            found = path.parent == HERE and path.suffix in TYPES and path.exists()
            text = path.read_text() if found else ""
            text = text.replace('src="/chat.js"', f'src="{callboard}/chat.js"')
            text = text.replace("    <callboard-chat>\n", f'    <callboard-chat server="{callboard}">\n')
            self.send_response(200 if found else 204)
            self.send_header("content-type", TYPES.get(path.suffix, "text/plain"))
            self.send_header("content-security-policy", policy)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name in the base class)
            pass

    return http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--callboard", default="http://127.0.0.1:8000", help="the address of callboard serve")
    options = parser.parse_args()
    with shop(options.callboard, options.port) as server:
        origin = f"http://127.0.0.1:{server.server_port}"
        print(f"The shop is at {origin}. Start the chat: CALLBOARD_ORIGINS={origin} callboard serve", flush=True)
        with suppress(KeyboardInterrupt):
            server.serve_forever()


if __name__ == "__main__":
    main()
