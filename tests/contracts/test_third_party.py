"""A store of another package runs the contract as its documentation says, and a faulty store fails it (E7)."""

import subprocess
import sys
from pathlib import Path

STORE = '''
import pytest

from callboard.adapters.stores.memory import MemoryStore
from callboard.testing.store_contract import StoreContract


class ThirdPartyStore:
    """A store of another package, without a base class of Callboard."""

    def __init__(self):
        self._contents = MemoryStore()

    def __getattr__(self, name):
        return getattr(self._contents, name)

    async def events(self, session_id, after, limit, **options):
        page = await self._contents.events(session_id, after, limit, **options)
        return page._replace(lines={lines})


class TestThirdPartyStore(StoreContract):
    @pytest.fixture
    async def store(self):
        store = ThirdPartyStore()
        await store.open(lambda *_: None)
        yield store
        await store.close()
'''


def run_contract(folder: Path, lines: str, *options: str) -> subprocess.CompletedProcess[str]:
    file = folder / "test_store.py"
    file.write_text(STORE.format(lines=lines))
    common = ["-q", "-p", "no:cacheprovider", "-W", "error", "--rootdir", str(folder)]
    command = [sys.executable, "-m", "pytest", *common, *options, str(file)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_e7_store_of_another_package_runs_the_contract(tmp_path: Path) -> None:
    done = run_contract(tmp_path, "page.lines")
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout


def test_e7_faulty_store_fails_the_contract_with_what_it_returned(tmp_path: Path) -> None:
    done = run_contract(tmp_path, "page.lines[1:]", "-k", "test_b1")
    assert done.returncode == 1
    assert "test_b1_numbers_begin_at_one_and_have_no_gaps" in done.stdout
    assert "Right contains one more item" in done.stdout, "assertions of the suite are explained"
