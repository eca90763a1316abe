// Compiles Solidity files: reads {"path": "source"} from the standard input, and writes solc's output.
const solc = require("solc");

let text = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (piece) => (text += piece));
process.stdin.on("end", () => {
  const sources = Object.fromEntries(Object.entries(JSON.parse(text)).map(([path, content]) => [path, { content }]));
  const settings = {
    optimizer: { enabled: true, runs: 200 },
    evmVersion: "cancun",
    outputSelection: { "*": { "*": ["abi", "evm.bytecode.object"] } },
  };
  process.stdout.write(solc.compile(JSON.stringify({ language: "Solidity", sources, settings })));
});
