"""The built files, as the server serves them."""

from pathlib import Path

import httpx2
import pytest
from starlette.applications import Starlette

from callboard import Runtime
from callboard.server import page_assets
from scripts import assets
from tests.server.conftest import TOOLS, serve

pytestmark = pytest.mark.anyio


async def test_w1_server_serves_the_built_files_of_the_package() -> None:
    async with serve(Runtime(TOOLS)) as served:
        response = await served.get("/ag-ui-agent.js")
        assert response.content == (assets.BUILT / "ag-ui-agent.js").read_bytes()
        assert response.headers["content-type"] == "text/javascript; charset=utf-8"
        assert response.headers["cache-control"] == "no-cache"
        known = {"if-none-match": response.headers["etag"]}
        assert (await served.client.get("/ag-ui-agent.js", headers=known)).status_code == 304
        assert (await served.get("/build.json")).status_code == 404


async def test_w1_only_files_with_a_hash_in_their_names_are_cached_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("static/index.html", "static/app.js", "static/chunks/shared-ABC.js", "static/build.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    monkeypatch.setattr(page_assets.resources, "files", {"callboard.server": tmp_path}.__getitem__)
    app = Starlette(routes=page_assets.page_routes())
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://board") as client:
        found = {path: await client.get(path) for path in ("/", "/app.js", "/chunks/shared-ABC.js")}
        assert (await client.get("/build.json")).status_code == 404
    assert ["immutable" in response.headers["cache-control"] for response in found.values()] == [False, False, True]
