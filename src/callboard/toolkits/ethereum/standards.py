"""The interfaces of common token standards, which are known without a look-up. No I/O."""

from functools import cache

from .abi import Abi
from .signature import parse_signature

_ERC20 = """
function name() view returns (string)
function symbol() view returns (string)
function decimals() view returns (uint8)
function totalSupply() view returns (uint256)
function balanceOf(address account) view returns (uint256)
function allowance(address owner, address spender) view returns (uint256)
function transfer(address to, uint256 value) returns (bool)
function approve(address spender, uint256 value) returns (bool)
function transferFrom(address from, address to, uint256 value) returns (bool)
event Transfer(address indexed from, address indexed to, uint256 value)
event Approval(address indexed owner, address indexed spender, uint256 value)
error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)
error ERC20InvalidSender(address sender)
error ERC20InvalidReceiver(address receiver)
error ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed)
error ERC20InvalidApprover(address approver)
error ERC20InvalidSpender(address spender)
"""
_ERC721 = """
function name() view returns (string)
function symbol() view returns (string)
function tokenURI(uint256 tokenId) view returns (string)
function balanceOf(address owner) view returns (uint256)
function ownerOf(uint256 tokenId) view returns (address)
function getApproved(uint256 tokenId) view returns (address)
function isApprovedForAll(address owner, address operator) view returns (bool)
function approve(address to, uint256 tokenId)
function setApprovalForAll(address operator, bool approved)
function transferFrom(address from, address to, uint256 tokenId)
function safeTransferFrom(address from, address to, uint256 tokenId)
function safeTransferFrom(address from, address to, uint256 tokenId, bytes data)
function supportsInterface(bytes4 interfaceId) view returns (bool)
event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)
event Approval(address indexed owner, address indexed approved, uint256 indexed tokenId)
event ApprovalForAll(address indexed owner, address indexed operator, bool approved)
"""
_ERC1155 = """
function uri(uint256 id) view returns (string)
function balanceOf(address account, uint256 id) view returns (uint256)
function balanceOfBatch(address[] accounts, uint256[] ids) view returns (uint256[])
function isApprovedForAll(address account, address operator) view returns (bool)
function setApprovalForAll(address operator, bool approved)
function safeTransferFrom(address from, address to, uint256 id, uint256 value, bytes data)
function safeBatchTransferFrom(address from, address to, uint256[] ids, uint256[] values, bytes data)
function supportsInterface(bytes4 interfaceId) view returns (bool)
event TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value)
event TransferBatch(address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values)
event ApprovalForAll(address indexed account, address indexed operator, bool approved)
event URI(string value, uint256 indexed id)
"""
_ERC4626 = """
function asset() view returns (address)
function totalAssets() view returns (uint256)
function convertToShares(uint256 assets) view returns (uint256)
function convertToAssets(uint256 shares) view returns (uint256)
function previewDeposit(uint256 assets) view returns (uint256)
function previewRedeem(uint256 shares) view returns (uint256)
function maxDeposit(address receiver) view returns (uint256)
function maxRedeem(address owner) view returns (uint256)
function deposit(uint256 assets, address receiver) returns (uint256)
function mint(uint256 shares, address receiver) returns (uint256)
function withdraw(uint256 assets, address receiver, address owner) returns (uint256)
function redeem(uint256 shares, address receiver, address owner) returns (uint256)
event Deposit(address indexed sender, address indexed owner, uint256 assets, uint256 shares)
event Withdraw(address indexed sender, address indexed receiver, address indexed owner, uint256 assets, uint256 shares)
"""
_WETH = """
function deposit() payable
function withdraw(uint256 amount)
event Deposit(address indexed account, uint256 amount)
event Withdrawal(address indexed account, uint256 amount)
"""
_OWNABLE = """
function owner() view returns (address)
function transferOwnership(address newOwner)
function renounceOwnership()
event OwnershipTransferred(address indexed previousOwner, address indexed newOwner)
error OwnableUnauthorizedAccount(address account)
error OwnableInvalidOwner(address owner)
"""

_TEXTS = {
    "ERC-20": _ERC20,
    "ERC-721": _ERC721,
    "ERC-1155": _ERC1155,
    "ERC-4626": _ERC20 + _ERC4626,
    "WETH9": _ERC20 + _WETH,
    "Ownable": _OWNABLE,
}
NAMES = tuple(_TEXTS)


@cache
def standard_abi(name: str) -> Abi:
    """Return the interface of a standard, by its name in `NAMES`."""
    lines = [line for line in _TEXTS[name].splitlines() if line]
    return Abi(parse_signature(line, line.partition(" ")[0]) for line in lines)  # pyright: ignore[reportArgumentType]


@cache
def all_standards() -> Abi:
    """Return the entries of all standards together."""
    return Abi(entry for name in NAMES for entry in standard_abi(name).entries)
