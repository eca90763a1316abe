"""Sends the transactions of plans, each at most once, and waits for their confirmation.

What identifies a transaction is noted before it is sent: its hash and nonce, if the key for development chains signs,
or that a wallet was asked, and the state of its account then. An operation that runs again asks the chain first.
"""

from collections.abc import Mapping
from typing import Any, cast

from callboard import ToolError
from callboard.toolkits.plans import Step

from .account_tools import delegate_of
from .client import EthereumClient
from .contract_tools import read_code
from .replacement import (
    MAX_BLOCKS,
    ReplacementWatch,
    count_sent,
    is_request,
    transactions_of,
    unknown_transaction,
)
from .sender import DevelopmentSender, TransactionRequest
from .signer import DevelopmentSigner, SignedTransaction
from .tx_status import Follower, TxStatus
from .values import read_hash, read_quantity

WALLET_TOOL = "send_transaction_to_wallet"
MAX_SECONDS = 3_600.0
"""Seconds for which a confirmation is awaited."""
MAX_SIGNATURES = 10
"""Nonces that are tried, if other transactions of the account are faster."""
_NONCE_ERRORS = ("nonce_too_low", "underpriced")
_REJECTED = "The person rejected the transaction in the wallet. Nothing was sent."
_UNKNOWN = (
    "The wallet returned no hash, so it is not known whether the transaction was sent. Execute the plan again to "
    "search the chain for it."
)


class Broadcast:
    """Sends the transaction of one operation."""

    def __init__(self, client: EthereumClient, step: Step, chain_id: int) -> None:
        self._client = client
        self._step = step
        self._rpc = client.rpc(chain_id)

    # With the key for development chains

    async def by_key(self, request: TransactionRequest) -> str:
        """Sign and send a transaction, and return its hash. Raises `ToolError`."""
        key = self._client.development_key
        sender = DevelopmentSender(self._rpc, None if key is None else DevelopmentSigner(key))
        await sender.check_chain()
        is_refused = False
        for _ in range(MAX_SIGNATURES):
            async with self._rpc.sending:
                signed = _noted(self._step.journal)
                if signed is None or is_refused or await self._is_replaced(signed):
                    signed = await sender.prepare(request)
                    await self._step.note({"hash": signed.hash, "nonce": signed.nonce, "raw": signed.raw})
                try:
                    await sender.broadcast(signed)
                    return signed.hash
                except ToolError as error:
                    if await self._is_known(signed.hash):
                        return signed.hash
                    if not _names(error, _NONCE_ERRORS):
                        if not error.may_retry:  # the node refuses it, so it will never be mined
                            self._step.forget()
                        raise
                    is_refused = True  # another process used the nonce in the same moment
        raise ToolError("Other transactions of the account use every nonce. Try again later.", category="transient")

    async def _is_replaced(self, signed: SignedTransaction) -> bool:
        """Whether a noted transaction can no longer be mined, since another one of the account has its nonce."""
        if await self._is_known(signed.hash):
            return False
        key = self._client.development_key
        return key is None or await count_sent(self._rpc, DevelopmentSigner(key).address, "latest") > signed.nonce

    async def _is_known(self, transaction_hash: str) -> bool:
        return await self._rpc.call("eth_getTransactionByHash", transaction_hash) is not None

    # With the person's wallet

    async def by_wallet(self, fields: Mapping[str, Any], request: TransactionRequest) -> str:
        """Ask the wallet to send a transaction, and return its hash. Raises `ToolError` if the person rejects it.

        `fields` are the arguments of the tool that asks.
        """
        step, account = self._step, str(request.from_address)
        journal = step.journal
        if journal is not None and "hash" in journal:
            return str(journal["hash"])
        if journal is not None and journal.get("by") != step.ctx.execution_id:
            await step.report("searching", "whether the wallet sent the transaction that an earlier call asked for")
            journal = None
            if (found := await self._find_sent(step.journal or {}, account, request)) is not None:
                await step.note({"hash": found})
                return found
        if journal is None:
            head = read_quantity(await self._rpc.call("eth_blockNumber"), "a block number")
            sent = await count_sent(self._rpc, account, "pending")
            await step.note({"by": step.ctx.execution_id, "block": head, "sent": sent})
        await step.report("broadcast", "waiting for the wallet")
        outcome: Any = await step.ctx.call(WALLET_TOOL, dict(fields), key=step.key)
        transaction_hash = outcome.get("transaction_hash")
        if transaction_hash is None:
            if outcome.get("status") != "rejected":  # it may be sent, so the note stays for the search of the next call
                raise ToolError(_UNKNOWN, category="interrupted")
            step.forget()
            raise ToolError(_REJECTED, category="permission")
        await step.note({**(step.journal or {}), "hash": transaction_hash})
        return str(transaction_hash)

    async def _find_sent(self, journal: Mapping[str, Any], account: str, request: TransactionRequest) -> str | None:
        """Return the hash of the transaction if the wallet sent it. Raises `ToolError` if that cannot be known."""
        code = await read_code(self._client, self._rpc.chain.id, account, "latest")
        if code and delegate_of(code) is None:
            raise ToolError(
                f"It is not known whether the wallet sent this transaction: {account} is a contract, whose "
                "transactions other accounts send. Check its history, and make a new plan for what is missing.",
                category="interrupted",
            )
        before, first = int(journal["sent"]), int(journal["block"])
        mined, all_sent = [await count_sent(self._rpc, account, tag) for tag in ("latest", "pending")]
        if all_sent <= before:
            return None
        if all_sent > mined:
            message = f"Transactions of {account} are not mined yet. Execute the plan again when they are."
            raise ToolError(message, category="transient")
        head = read_quantity(await self._rpc.call("eth_blockNumber"), "a block number")
        if head - first > MAX_BLOCKS:
            raise ToolError(
                f"It is not known whether the wallet sent this transaction: {account} has sent others since block "
                f"{first}. Check its history, and make a new plan for what is missing.",
                category="interrupted",
            )
        for number in range(first, head + 1):
            for each in await transactions_of(self._rpc, number, account):
                if not is_request(each, request) or read_quantity(each.get("nonce"), "a nonce") < before:
                    continue
                if (found := read_hash(each.get("hash"))) not in self._hashes_of_others():
                    return found
        return None

    def _hashes_of_others(self) -> set[object]:
        """The transactions of other operations of the plan, which may be equal to this one."""
        found: set[object] = set()
        for each in self._step.others:
            kept, name = (each.result, "transaction_hash") if each.is_done else (each.journal, "hash")
            if isinstance(kept, dict):
                found.add(cast("dict[str, Any]", kept).get(name))
        return found

    # Confirmation

    async def confirm(self, transaction_hash: str, confirmations: int, request: TransactionRequest) -> TxStatus:
        """Wait until a transaction is confirmed, or the one with which the wallet replaced it to pay another fee.

        Raises `ToolError` if it is reverted, cancelled in the wallet, or takes too long.
        """
        step, clock, journal = self._step, self._client.clock, self._step.journal or {}
        watch, replacement = None, None
        if "raw" not in journal:  # a transaction of the key is replaced, if necessary, when it is sent
            watch = ReplacementWatch(self._rpc, clock, request, journal, self._hashes_of_others)
        follower = Follower(self._rpc, transaction_hash, confirmations)
        deadline, reported = clock.monotonic() + MAX_SECONDS, -1
        while True:
            try:
                await follower.look()
                if watch is not None:
                    replacement = await watch.look(follower, transaction_hash)
                    await self._note_nonce(watch.nonce)
            except ToolError as error:
                if not error.may_retry:
                    raise
            if watch is not None and replacement is not None:
                follower, watch = Follower(self._rpc, replacement.hash, confirmations), None
                if replacement.is_same:
                    transaction_hash = replacement.hash
                    await step.note({"hash": transaction_hash})
                continue
            if follower.confirmations != reported:
                reported = follower.confirmations
                counted = f"{min(reported, confirmations)} of {confirmations} confirmations"
                await step.report("confirm", f"{transaction_hash}: {counted}")
            if follower.is_final:
                break
            if (left := deadline - clock.monotonic()) <= 0:
                if watch is not None and not follower.is_known:
                    raise unknown_transaction(transaction_hash, str(request.from_address))
                raise ToolError(
                    f"The transaction {transaction_hash} is not confirmed yet. Execute the plan again to wait on.",
                    category="timeout",
                )
            await clock.sleep(min(self._rpc.chain.poll_seconds, left))
        if replacement is not None and not replacement.is_same:
            step.forget()
            raise ToolError(
                f"The transaction {transaction_hash} was cancelled in the wallet: {replacement.hash} was mined in its "
                "place, and does something else. Execute the plan again to ask the wallet again.",
                category="permission",
            )
        status = follower.status(timed_out=False)
        if status.status == "reverted":
            step.forget()
            raise ToolError(f"The transaction {transaction_hash} was reverted.", category="execution")
        return status

    async def _note_nonce(self, nonce: int | None) -> None:
        """Note the nonce of a transaction that is not mined yet, by which its replacement is recognized."""
        journal = self._step.journal or {}
        if nonce is not None and journal.get("nonce") != nonce:
            await self._step.note({**journal, "nonce": nonce})


def _noted(journal: Mapping[str, Any] | None) -> SignedTransaction | None:
    if journal is None or "raw" not in journal:
        return None
    return SignedTransaction(hash=str(journal["hash"]), nonce=int(journal["nonce"]), raw=str(journal["raw"]))


def _names(error: ToolError, names: tuple[str, ...]) -> bool:
    details: Any = error.details
    return isinstance(details, dict) and cast("dict[str, Any]", details).get("error") in names
