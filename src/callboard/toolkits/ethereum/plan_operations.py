"""The operations of plans for Ethereum: deploy a contract, send a transaction, call any other tool."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from callboard.toolkits.plans import Group, ToolOperation
from callboard.toolkits.plans.references import REFERENCE

from .abi_tools import FunctionSignature
from .abi_values import Arguments
from .values import Address, ChainId, HexData, Wei

MAX_CODE = 200_000

AddressOrReference = Annotated[str, Field(pattern=f"^(0x[0-9a-fA-F]{{40}}|{REFERENCE})$")]
ContractName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=300,
        description="Name of the contract in its source, or path:name if several files have one of this name",
    ),
]


class PlannedContract(BaseModel):
    """A contract that a group deploys: its source code, or where verified source code is found."""

    model_config = ConfigDict(extra="forbid")

    name: ContractName
    source_code: Annotated[
        str | None, Field(max_length=MAX_CODE, description="Solidity source code; by default it is looked up")
    ] = None
    chain_id: Annotated[ChainId | None, Field(description="Chain of a verified contract to copy")] = None
    address: Annotated[Address | None, Field(description="Address of a verified contract to copy")] = None


class _Transaction(BaseModel):
    model_config = ConfigDict(extra="forbid")

    chain_id: ChainId
    value: Annotated[Wei, Field(description="Amount to send along, in wei")] = "0"
    broadcast: Annotated[
        Literal["wallet", "development_key"],
        Field(description="The person's wallet signs, or the server's key, on development chains alone"),
    ] = "wallet"
    from_address: Annotated[Address | None, Field(description="Account that signs; needed for a wallet")] = None
    confirmations: Annotated[int, Field(ge=1, le=100, description="Blocks to wait for")] = 1

    @model_validator(mode="after")
    def _check_account(self) -> "_Transaction":
        if self.broadcast == "wallet" and self.from_address is None:
            raise ValueError("give from_address, the account of the wallet that signs")
        return self


class DeployOperation(_Transaction):
    """Create a contract."""

    kind: Annotated[Literal["deploy"], Field(description="Create a contract")]
    contract: Annotated[ContractName, Field(description="One of the contracts of the group")]
    arguments: Arguments = []


class SendOperation(_Transaction):
    """Send a transaction: call a function of a contract, or transfer the native currency."""

    kind: Annotated[Literal["send"], Field(description="Send a transaction")]
    to: Annotated[
        AddressOrReference, Field(description="Recipient or contract, or {{group.0.contract_address}} of a deployment")
    ]
    function_signature: Annotated[FunctionSignature | None, Field(description="Function to call, or give data")] = None
    arguments: Arguments = []
    data: Annotated[HexData, Field(description="Calldata, in place of a function")] = "0x"


class CallOperation(ToolOperation):
    """Call a tool that sends nothing, such as get_erc20_balance."""

    kind: Annotated[Literal["call"], Field(description="Call a tool that sends nothing")]


EthereumOperation = Annotated[DeployOperation | SendOperation | CallOperation, Field(discriminator="kind")]


class EthereumGroup(Group[EthereumOperation]):
    """A group of operations, with the contracts that it deploys."""

    contracts: Annotated[
        list[PlannedContract], Field(max_length=20, description="Contracts that the group deploys")
    ] = Field(default=[])
