// SPDX-License-Identifier: MIT
pragma solidity ^0.8.37;

/// Reverts in every way in which a contract can, and returns values of every kind.
contract Reverter {
    struct Order {
        address buyer;
        uint256[] amounts;
        string note;
    }

    uint256 public count;
    uint256[] private empty;

    error Unauthorized(address caller, uint256 code, string reason);

    event Counted(address indexed by, string indexed label, uint256 count, bytes data);

    function withReason() external pure {
        revert("the shop is closed");
    }

    function withoutReason() external pure {
        revert();
    }

    function withCustomError() external view {
        revert Unauthorized(msg.sender, 7, "no key");
    }

    function withAssert() external view {
        assert(count == type(uint256).max);
    }

    function withOverflow() external view returns (uint256) {
        return count - 1;
    }

    function withDivision() external view returns (uint256) {
        return 1 / count;
    }

    function withIndex() external view returns (uint256) {
        return empty[3];
    }

    function withLongReason() external pure {
        revert(string(new bytes(100_000)));
    }

    function withInvalidOpcode() external pure {
        assembly {
            invalid()
        }
    }

    function increase(string calldata label) external payable returns (uint256) {
        count += 1;
        emit Counted(msg.sender, label, count, hex"c0ffee");
        return count;
    }

    function order() external view returns (Order memory made, bytes32 id, bool open, int256 balance) {
        uint256[] memory amounts = new uint256[](2);
        amounts[0] = type(uint256).max;
        amounts[1] = 1;
        made = Order(address(this), amounts, unicode"grüß dich");
        return (made, bytes32(uint256(1)), true, -5);
    }
}
