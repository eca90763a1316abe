"""The `ethereum` toolkit: contracts, accounts, transactions and gas of Ethereum chains.

`tools` and `workers` take the chains from the environment (`CALLBOARD_ETHEREUM_CHAINS`); `ethereum_toolset` makes them
for chains of your own. It needs the extra of the same name. The server holds no key: a person's wallet signs, except on
development chains.
"""

try:
    import eth_abi as _  # noqa: F401 - the other packages of the extra come with it
except ModuleNotFoundError as error:
    message = 'The ethereum toolkit needs: pip install "callboard[ethereum]"'
    raise ModuleNotFoundError(message, name=error.name) from None

from .chain import Chain
from .client import EthereumClient
from .compiler import CompiledContract, Compiler, Solc
from .contract_folder import ContractFolder
from .contracts import Contract, ContractQuery, ContractSource, Standards
from .etherscan import Etherscan
from .plan_toolset import ethereum_plan_tools
from .rpc import RpcClient
from .rpc_errors import Reverted
from .sender import DevelopmentSender, TransactionRequest
from .signer import DevelopmentSigner, SignedTransaction
from .sourcify import Sourcify
from .toolset import EthereumToolset, ethereum_toolset

__all__ = [
    "Chain",
    "CompiledContract",
    "Compiler",
    "Contract",
    "ContractFolder",
    "ContractQuery",
    "ContractSource",
    "DevelopmentSender",
    "DevelopmentSigner",
    "EthereumClient",
    "EthereumToolset",
    "Etherscan",
    "Reverted",
    "RpcClient",
    "SignedTransaction",
    "Solc",
    "Sourcify",
    "Standards",
    "TransactionRequest",
    "ethereum_plan_tools",
    "ethereum_toolset",
    "tools",
    "workers",
]

_toolset = ethereum_toolset()
tools = tuple(_toolset.tools())
workers = _toolset.workers
