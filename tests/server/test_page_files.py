"""The files of the page: they work under a strict policy, load nothing else, and never turn data into markup."""

import json
import re
import subprocess
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import without
from tests.server.agui.real_client import node
from tests.servers import Unavailable

PAGE = Path(str(resources.files("callboard.server").joinpath("page")))
FILES = {file.name: file.read_text() for file in PAGE.iterdir() if file.is_file()}
SCRIPTS = {name: text for name, text in FILES.items() if name.endswith(".js")}


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_data_never_becomes_markup_or_code(name: str) -> None:
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "srcdoc"):
        assert word not in SCRIPTS[name], word
    assert re.search(r"setAttribute\(\s*[\"'](on|style|href|src)", SCRIPTS[name]) is None


def test_the_page_works_under_a_policy_that_allows_only_its_own_files() -> None:
    html = FILES["index.html"]
    assert re.search(r"<style|\sstyle=|\son[a-z]+=", html) is None
    assert re.findall(r"<script[^>]*>([^<]*)</script>", html) == [""]
    for text in FILES.values():
        code = re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)
        addresses = set(re.findall(r"(?:https?:)?//[a-z][\w.-]*\.[a-z]+", code))
        assert addresses <= {"http://www.w3.org"}  # the name of a namespace


def test_every_referenced_file_exists() -> None:
    named = re.findall(r"(?:src|href)=\"([\w.-]+\.\w+)\"", FILES["index.html"])
    for text in SCRIPTS.values():
        named += re.findall(r"from \"\./([\w.-]+)\"", text)
    assert named
    assert set(named) <= set(FILES)


def test_every_element_that_scripts_look_up_exists() -> None:
    wanted = {name for text in SCRIPTS.values() for name in re.findall(r"find\(\"([\w-]+)\"\)", text)}
    there = set(re.findall(r"\bid=\"([\w-]+)\"", FILES["index.html"]))
    assert wanted
    assert wanted <= there


def in_node(source: str) -> Any:
    """Run a module beside those of the page. Returns the JSON that it prints."""
    try:
        program = node()
    except Unavailable as why:
        without("Node", why)
    done = subprocess.run(
        [program, "--input-type=module", "-e", source],
        cwd=PAGE,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_w4_stream_may_be_split_anywhere() -> None:
    text = 'retry: 1000\n\n:\n\nid: 1\nevent: text\ndata: {"a":"ü"}\n\nevent: text\ndata: {}\r\n\r\n'
    text += "id: 2\n\nid: 3\ndata: x"
    found = in_node(f"""
        const {{ Parser }} = await import("./stream.js");
        const text = {json.dumps(text)};
        const whole = new Parser().push(text);
        const same = [];
        for (let size = 1; size < text.length; size++) {{
          const parser = new Parser();
          const found = [];
          for (let at = 0; at < text.length; at += size) found.push(...parser.push(text.slice(at, at + size)));
          same.push(JSON.stringify(found) === JSON.stringify(whole));
        }}
        console.log(JSON.stringify({{ whole, same: same.every(Boolean) }}));
    """)
    assert found["same"]
    assert found["whole"] == [
        {"id": "1", "event": "text", "data": '{"a":"ü"}'},
        {"event": "text", "data": "{}"},
        {"id": "2", "event": "message"},
    ]


def test_w4_snapshot_and_events_produce_the_same_timeline() -> None:
    late = {"call_id": "late_x1", "tool": "task_result", "arguments": {"execution_id": "x1"}}
    acknowledged = {"status": "started", "execution_id": "x1", "tool": "build"}
    messages: list[dict[str, Any]] = [
        {"role": "user", "text": "build it"},
        {"role": "assistant", "text": "", "calls": [{"call_id": "c1", "tool": "build", "arguments": {"what": "a"}}]},
        {"role": "tool", "call_id": "c1", "tool": "build", "content": acknowledged, "failed": False},
        {"role": "assistant", "text": "It runs.", "calls": [late]},
        {"role": "tool", "call_id": "late_x1", "tool": "task_result", "content": '{"done": true}', "failed": False},
        {"role": "assistant", "text": "It is done.", "calls": []},
    ]
    tool = {"execution_id": "x1", "call_id": "c1", "tool": "build"}
    events: list[tuple[str, dict[str, Any]]] = [
        ("user_input", {"text": "build it"}),
        ("turn_started", {"turn_id": "t1"}),
        ("tool_started", {**tool, "arguments": {"what": "a"}}),
        ("tool_executing", {**tool, "attempt": 1, "maximum": 1}),
        ("text", {"turn_id": "t1", "delta": "It "}),
        ("text", {"turn_id": "t1", "delta": "ru"}),
        ("text", {"turn_id": "t1", "text": "It runs."}),
        ("turn_finished", {"turn_id": "t1"}),
        ("tool_progress", {**tool, "stage": "on", "fraction": 0.5, "message": None}),
        ("tool_result", {**tool, "status": "succeeded", "value": {"done": True}}),
        ("turn_started", {"turn_id": "t2"}),
        ("text", {"turn_id": "t2", "text": "It is done."}),
        ("turn_finished", {"turn_id": "t2"}),
    ]
    found = in_node(f"""
        const {{ State }} = await import("./state.js");
        const told = ({{ type, text, tool, status, value }}) => [type, text ?? tool, status, value];
        const shown = (state) => state.items.map(told);
        const one = new State();
        one.begin({{ messages: {json.dumps(messages)} }});
        const other = new State();
        other.begin({{}});
        for (const [kind, data] of {json.dumps(events)}) other.take(kind, {{ data, at: "2026-01-01T00:00:00Z" }});
        console.log(JSON.stringify([shown(one), shown(other), one.processing, other.processing]));
    """)
    assert found[0] == found[1]
    assert found[0][1] == ["call", "build", "succeeded", {"done": True}]
    assert found[2:] == [False, False]
