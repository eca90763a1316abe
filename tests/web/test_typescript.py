"""The unit tests of `web/`, which are written in TypeScript and run by Node's own test runner."""

import os
import re
import subprocess
from pathlib import Path

from scripts import assets
from tests.conftest import without
from tests.installation import cache
from tests.servers import Unavailable

WEB = Path(__file__).parents[2] / "web"
MAX_LINES = 400


def test_w2_the_unit_tests_of_typescript_pass() -> None:
    try:
        node = assets.prepared_node()
    except assets.BuildError as error:
        without("Node", Unavailable(str(error)))
    tests = sorted(str(path.relative_to(WEB)) for path in (WEB / "src").rglob("*.test.ts"))
    assert tests
    environment = {**os.environ, "NODE_COMPILE_CACHE": str(cache() / "compiled")}  # each file has a process of its own
    done = subprocess.run(
        [node, "--test", *tests], cwd=WEB, env=environment, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_w2_every_class_has_unit_tests_beside_it_and_files_are_small() -> None:
    files = [path for path in (WEB / "src").rglob("*.ts") if not path.name.endswith(".test.ts")]
    assert {path.name for path in files if len(path.read_text().splitlines()) > MAX_LINES} == set()
    elsewhere = {"elements", "events", "testing"}  # elements run in a browser
    in_node = [path for path in files if not elsewhere & set(path.parts)]
    with_classes = [path for path in in_node if re.search(r"\nexport (abstract )?class ", path.read_text())]
    assert with_classes
    assert [path.name for path in with_classes if not path.with_suffix(".test.ts").exists()] == []


def test_w4_state_and_stream_of_the_page_have_unit_tests() -> None:
    named = {
        "api/sse-parser.test.ts": "a stream may be split anywhere",
        "api/board-stream.test.ts": "a stream resumes after its last event and repeats none",
        "state/reducer.test.ts": "a snapshot and events produce the same timeline, in any batches",
    }
    for file, name in named.items():
        assert f'test("{name}"' in (WEB / "src" / file).read_text()
