/** Names of well-known networks. */

export interface Network {
  readonly id: bigint;
  /** The name, or null if the network is not known here. */
  readonly name: string | null;
  /** The symbol of its coin, which has 18 decimals, or null if it is not known here. */
  readonly symbol: string | null;
  /** Whether its coins have no value. */
  readonly isTest: boolean;
}

const KNOWN: readonly (readonly [id: bigint, name: string, symbol: string, isTest?: boolean])[] = [
  [1n, "Ethereum", "ETH"],
  [10n, "OP Mainnet", "ETH"],
  [56n, "BNB Smart Chain", "BNB"],
  [100n, "Gnosis", "xDAI"],
  [137n, "Polygon", "POL"],
  [1337n, "Development chain", "ETH", true],
  [8453n, "Base", "ETH"],
  [17000n, "Holesky", "ETH", true],
  [31337n, "Development chain", "ETH", true],
  [42161n, "Arbitrum One", "ETH"],
  [59144n, "Linea", "ETH"],
  [84532n, "Base Sepolia", "ETH", true],
  [560048n, "Hoodi", "ETH", true],
  [11155111n, "Sepolia", "ETH", true],
];

/** The network with an id. */
export function networkOf(id: bigint): Network {
  const [, name = null, symbol = null, isTest = false] = KNOWN.find(([known]) => known === id) ?? [];
  return { id, name, symbol, isTest };
}
