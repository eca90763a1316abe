// Doubles of wallets for tests: EIP-1193 providers, announced by EIP-6963 or in window.ethereum.
//
// `installWallets(wallets, chain)` runs before the scripts of the page. `chain(method, params)` answers what a node would
// answer; `fakeChain()` is one that lives in localStorage, so that tabs and reloads share it; `remoteChain(url)` is a real
// one. A test plays the person: `walletDouble.confirm()`, `walletDouble.reject()`, and the chain: `walletDouble.mine()`.

/** Texts that tabs and reloads share. */
const shared = {
  get: (name, otherwise) => JSON.parse(localStorage.getItem(`double.${name}`) ?? "null") ?? otherwise,
  set: (name, value) => localStorage.setItem(`double.${name}`, JSON.stringify(value)),
};
const hex = (number) => `0x${number.toString(16)}`;
const failure = (code, message) => Object.assign(new Error(message), { code });

/** A chain with one block per call of `mine`. */
function fakeChain() {
  const state = () => shared.get("chain", { block: 100, transactions: {} });
  const answers = {
    eth_blockNumber: () => hex(state().block),
    eth_gasPrice: () => hex(20e9),
    eth_getBalance: () => hex(10n ** 18n),
    eth_estimateGas: ([{ data }]) => {
      if (data.startsWith("0xdead")) throw failure(-32000, "execution reverted: not allowed");
      return hex(21000);
    },
    eth_getTransactionCount: ([, tag]) => {
      const sent = Object.values(state().transactions);
      return hex(sent.filter(({ block }) => tag === "pending" || block !== null).length);
    },
    eth_getTransactionByHash: ([hash]) => {
      const found = state().transactions[hash];
      return found ? { hash, nonce: hex(found.nonce) } : null;
    },
    eth_getTransactionReceipt: ([hash]) => {
      const found = state().transactions[hash];
      if (!found || found.block === null) return null;
      const contractAddress = "to" in found ? null : `0x${hash.slice(-40)}`; // also after a failure, as Geth does
      return {
        transactionHash: hash,
        blockNumber: hex(found.block),
        status: found.isFailing ? "0x0" : "0x1",
        contractAddress,
      };
    },
    eth_sendTransaction: ([fields]) => {
      const chain = state();
      const nonce = Object.keys(chain.transactions).length;
      const hash = `0x${(nonce + 1).toString(16).padStart(64, "a")}`;
      chain.transactions[hash] = { ...fields, nonce, block: null, isFailing: false };
      shared.set("chain", chain);
      return hash;
    },
  };
  return (method, params) => {
    if (!(method in answers)) throw failure(-32601, `${method} is not known`);
    return answers[method](params);
  };
}

/** A real chain. The node signs with the keys of its accounts. */
function remoteChain(url) {
  return async (method, params) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body });
    const { result, error } = await response.json();
    if (error !== undefined) throw failure(error.code, error.message);
    return result;
  };
}

/** Add a block to the fake chain, with all transactions that wait. */
function mine(isFailing = false) {
  const chain = shared.get("chain", { block: 100, transactions: {} });
  chain.block++;
  for (const each of Object.values(chain.transactions)) if (each.block === null) Object.assign(each, { block: chain.block, isFailing });
  shared.set("chain", chain);
}

class WalletDouble {
  constructor(options, chain) {
    this.options = { rdns: "org.example.double", accounts: [], chainId: 11155111, knownChains: [1, 11155111], ...options };
    this.chain = chain;
    this.listeners = new Map();
  }

  get state() {
    const { accounts, chainId } = this.options;
    return shared.get(this.options.rdns, { accounts, chainId, isConnected: false });
  }

  change(changes) {
    shared.set(this.options.rdns, { ...this.state, ...changes });
    const { accounts, chainId, isConnected } = this.state;
    if ("chainId" in changes) this.emit("chainChanged", hex(chainId));
    if ("accounts" in changes || "isConnected" in changes) this.emit("accountsChanged", isConnected ? accounts : []);
  }

  on(event, listener) {
    this.listeners.set(event, [...(this.listeners.get(event) ?? []), listener]);
  }

  removeListener(event, listener) {
    this.listeners.set(event, (this.listeners.get(event) ?? []).filter((each) => each !== listener));
  }

  emit(event, value) {
    for (const listener of this.listeners.get(event) ?? []) listener(value);
  }

  async request({ method, params = [] }) {
    walletDouble.record(this.options.rdns, method, params);
    const { accounts, chainId, isConnected } = this.state;
    switch (method) {
      case "eth_chainId":
        return hex(chainId);
      case "eth_accounts":
        return isConnected ? accounts : [];
      case "eth_requestAccounts":
        await this.ask(method);
        this.change({ isConnected: true });
        return accounts;
      case "wallet_requestPermissions":
        await this.ask(method);
        this.change({ accounts: this.options.otherAccounts ?? accounts });
        return [{ parentCapability: "eth_accounts" }];
      case "wallet_switchEthereumChain": {
        const wanted = Number(params[0].chainId);
        if (!this.options.knownChains.includes(wanted)) throw failure(4902, "Unrecognized chain ID");
        await this.ask(method);
        this.change({ chainId: wanted });
        return null;
      }
      case "eth_sendTransaction":
        if (!isConnected || !accounts.includes(params[0].from)) throw failure(4100, "not authorized");
        if (Number(params[0].chainId) !== chainId) throw failure(-32602, "wrong chain");
        await this.ask(method);
        return this.chain(method, params);
      default:
        return this.chain(method, params);
    }
  }

  /** Wait for the person. Questions in `options.obliging` are confirmed at once. */
  async ask(method) {
    if ((this.options.obliging ?? []).includes(method)) return;
    await new Promise((resolve, reject) => walletDouble.questions.push({ method, resolve, reject }));
  }
}

/** The person, and what the wallets were asked. */
const walletDouble = {
  wallets: [],
  /** Questions that wait for the person. */
  questions: [],
  mine,
  record(rdns, method, params) {
    shared.set("log", [...shared.get("log", []), [rdns, method, params]]);
  },
  /** How often a method was called, in all tabs and before all reloads. */
  count: (method) => shared.get("log", []).filter(([, called]) => called === method).length,
  parameters: (method) => shared.get("log", []).findLast(([, called]) => called === method)?.[2],
  confirm() {
    walletDouble.questions.shift().resolve();
  },
  reject(code = 4001, message = "User rejected the request.") {
    walletDouble.questions.shift().reject(failure(code, message));
  },
};

function installWallets(wallets, chain = fakeChain()) {
  window.walletDouble = walletDouble;
  const made = wallets.map((options) => new WalletDouble(options, chain));
  walletDouble.wallets = made;
  const announced = made.filter(({ options }) => !options.isInjected);
  const announce = () => {
    for (const provider of announced) {
      const { rdns, name, icon = "" } = provider.options;
      const detail = Object.freeze({ info: { uuid: `uuid-${rdns}`, rdns, name, icon }, provider });
      window.dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }));
    }
  };
  window.addEventListener("eip6963:requestProvider", announce);
  const injected = made.find(({ options }) => options.isInjected);
  if (injected !== undefined) window.ethereum = injected;
}
