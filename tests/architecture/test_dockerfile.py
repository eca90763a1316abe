"""The image of the server: what its Dockerfile promises, checked without Docker (D1).

With `--slow` and `CALLBOARD_TEST_DOCKER` set, the image is also built and started. `hadolint` checks the file where it
is installed.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import time
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

from callboard.server.app import ENDPOINTS

ROOT = Path(__file__).parents[2]
DOCKERFILE = ROOT / "Dockerfile"
SECRET = re.compile(r"(key|token|password|secret|credential)", re.IGNORECASE)


class Instruction(NamedTuple):
    name: str
    value: str


def instructions() -> list[Instruction]:
    """Return the instructions of the Dockerfile, with continued lines joined and arguments filled in."""
    text = re.sub(r"^#.*\n", "", DOCKERFILE.read_text(), flags=re.MULTILINE)
    found = [Instruction(*line.split(maxsplit=1)) for line in re.sub(r"\\\n\s*", "", text).splitlines() if line.strip()]
    given = dict(each.value.split("=", 1) for each in found if each.name == "ARG")
    return [
        each._replace(value=re.sub(r"\$\{(\w+)\}", lambda name: given.get(name[1], name[0]), each.value))
        for each in found
    ]


def values(name: str) -> list[str]:
    return [each.value for each in instructions() if each.name == name]


def last_stage() -> list[Instruction]:
    found = instructions()
    return found[max(index for index, each in enumerate(found) if each.name == "FROM") :]


def copied() -> list[str]:
    """Return the paths of the repository that the image copies, in order."""
    plain = [value for value in values("COPY") if not value.startswith("--from")]
    return [path for value in plain for path in value.split()[:-1]]


def ignored(path: str) -> bool:
    """Whether `.dockerignore` leaves a file out of the build. The last pattern that matches it or a parent decides."""
    result = False
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        if line and not line.startswith("#"):
            pattern = re.escape(line.removeprefix("!")).replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*")
            if any(re.fullmatch(pattern, str(each)) for each in (path, *Path(path).parents[:-1])):
                result = not line.startswith("!")
    return result


def test_d1_image_is_made_in_stages_from_pinned_images() -> None:
    stages = {value.split()[-1] for value in values("FROM") if " AS " in value}
    images = [value.split()[0] for value in values("FROM")]
    assert len(images) == 3
    for image in images:
        assert re.fullmatch(r"python:3\.\d+-slim-\w+", image), image
    assert set(re.findall(r"--from=(\w+)", " ".join(values("COPY")))) == stages


def test_d1_image_runs_without_privileges() -> None:
    names = [each.name for each in last_stage()]
    assert names.count("USER") == 1
    [user] = [each.value for each in last_stage() if each.name == "USER"]
    assert int(user) >= 10_000, "a number, so that an orchestrator can tell that it is not root"
    assert f"--uid {user}" in " ".join(values("RUN"))
    assert "RUN" not in names[names.index("USER") :]


def test_d1_image_contains_no_secret() -> None:
    for value in (*values("ARG"), *values("ENV")):
        for name in re.findall(r"(\w+)=", value):
            assert not SECRET.search(name), name
    assert not {".", "./", "*"} & set(copied()), "only named files are copied"
    for name in (".env", ".git/config", "callboard.db", "web/.env.local", ".venv/bin/python", "src/callboard/.env"):
        assert ignored(name), name


def test_d1_files_that_the_image_copies_exist_and_are_not_ignored() -> None:
    paths = copied()
    assert paths.index("src") == max(map(paths.index, ("pyproject.toml", "web", "src"))), "what changes most is last"
    for path in paths:
        assert (ROOT / path).exists(), path
        inside = f"{path}/package.json" if path == "web" else f"{path}/callboard/py.typed" if path == "src" else path
        assert not ignored(inside), inside
    assert ignored("web/node_modules/lit/package.json")
    assert ignored("src/callboard/server/static/build.json"), "the page is built from the sources"


def test_d1_image_has_extras_that_exist() -> None:
    [extras] = [value.removeprefix("EXTRAS=") for value in values("ARG") if value.startswith("EXTRAS=")]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    assert {"server", "cli", "sql"} <= set(extras.split(","))


def test_d1_versions_of_the_image_are_those_of_the_tests(tmp_path: Path) -> None:
    [script] = re.findall(r"sed -n '([^']+)' dev\.txt", " ".join(values("RUN")))
    command = ["sed", "-n", script, str(ROOT / "requirements/dev.txt")]
    versions = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert {"pydantic", "anyio", "starlette", "uvicorn", "sqlalchemy"} <= {line.partition("==")[0] for line in versions}
    assert [line for line in versions if not re.fullmatch(r"[\w.-]+==[\w.!+]+", line)] == []


def test_d1_image_serves_with_a_store_in_its_volume_and_a_health_check() -> None:
    stage = {each.name: each.value for each in last_stage()}
    environment = dict(part.split("=", 1) for part in shlex.split(stage["ENV"].replace("$PATH", "")))
    [volume] = json.loads(stage["VOLUME"])
    assert environment["CALLBOARD_STORE"].startswith(f"sqlite:///{volume}/")
    assert (json.loads(stage["ENTRYPOINT"]), json.loads(stage["CMD"])) == (["callboard"], ["serve"])
    assert stage["EXPOSE"] == environment["CALLBOARD_PORT"]
    program = json.loads(stage["HEALTHCHECK"].partition("CMD ")[2])
    compile(program[-1], "HEALTHCHECK", "exec")
    [path] = re.findall(r"\}(/\w+)'", program[-1])
    assert path in {each.path for each in ENDPOINTS}


def test_d1_compose_file_of_the_documentation_uses_the_entry_point_of_the_image() -> None:
    [text] = re.findall(r"^```yaml\n(.*?)^```", (ROOT / "docs/scaling.md").read_text(), re.MULTILINE | re.DOTALL)
    services = dict(re.findall(r"^  (\w+):\n    image: shop-callboard\n    command: (\[.*?\])", text, re.MULTILINE))
    commands = {name: json.loads(command) for name, command in services.items()}
    assert {name: command[0] for name, command in commands.items()} == {"gateway": "serve", "worker": "worker"}
    [port] = values("EXPOSE")
    assert f'ports: ["{port}:{port}"]' in text
    assert commands["worker"][-2:] == ["--port", port], "for the health check"


def test_d1_hadolint_finds_nothing() -> None:
    program = shutil.which("hadolint")
    if program is None:
        pytest.skip("hadolint is not installed")
    done = subprocess.run([program, str(DOCKERFILE)], capture_output=True, text=True, check=False)
    assert done.stdout == ""


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("CALLBOARD_TEST_DOCKER"), reason="CALLBOARD_TEST_DOCKER is not set")
def test_d1_image_is_built_and_becomes_healthy() -> None:
    def docker(*arguments: str) -> str:
        done = subprocess.run(["docker", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    docker("build", "--tag", "callboard-test", ".")
    volume = docker("volume", "create")
    try:
        docker("run", "--rm", "--volume", f"{volume}:/data", "callboard-test", "keys", "create", "--user", "ann")
        container = docker("run", "--detach", "--rm", "--volume", f"{volume}:/data", "callboard-test")
        try:
            deadline = time.monotonic() + 60
            while docker("inspect", "--format", "{{.State.Health.Status}}", container) != "healthy":
                assert time.monotonic() < deadline, docker("logs", container)
                time.sleep(1)
        finally:
            docker("stop", container)
    finally:
        docker("volume", "rm", "--force", volume)
