"""The test suite that every store must pass. Run it over a store of your own with pytest:

```python
import pytest

from callboard.testing.store_contract import StoreContract


class TestMyStore(StoreContract):
    @pytest.fixture
    async def store(self):
        store = MyStore()
        await store.open(lambda *_: None)
        yield store
        await store.close()
```

The fixture `store` gives an empty, open store for each test. A store that several processes can use at once also passes
`SharedStoreContract`, whose fixture `open_store` opens one more store on the same, initially empty, database:
`async with open_store() as store`, or `open_store(woken)` with the callback of `Store.open`.

The suite needs pytest, and runs on AnyIO's pytest plugin, which comes with Callboard.
"""

from pkgutil import iter_modules

import pytest

pytest.register_assert_rewrite(*(module.name for module in iter_modules(__path__, f"{__name__}.")))

from .changes import ChangeContract  # noqa: E402
from .conversations import ConversationContract  # noqa: E402
from .documents import DocumentContract  # noqa: E402
from .events import EventLogContract  # noqa: E402
from .executions import ExecutionContract  # noqa: E402
from .idempotency import IdempotencyContract  # noqa: E402
from .keys import KeyContract  # noqa: E402
from .memory import MemoryContract  # noqa: E402
from .owners import OwnerContract  # noqa: E402
from .queues import QueueContract  # noqa: E402
from .requests import RequestContract  # noqa: E402
from .session_list import SessionListContract  # noqa: E402
from .sessions import SessionContract  # noqa: E402
from .shared import SharedStoreContract  # noqa: E402
from .transcript import TranscriptContract  # noqa: E402
from .user_documents import UserDocumentContract  # noqa: E402

__all__ = ["SharedStoreContract", "StoreContract"]


class StoreContract(
    SessionContract,
    SessionListContract,
    EventLogContract,
    ExecutionContract,
    ConversationContract,
    RequestContract,
    TranscriptContract,
    ChangeContract,
    DocumentContract,
    IdempotencyContract,
    KeyContract,
    MemoryContract,
    UserDocumentContract,
    OwnerContract,
    QueueContract,
):
    """The promises of every store, for the fixture `store`."""
