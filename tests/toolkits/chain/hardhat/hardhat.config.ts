import type { HardhatUserConfig } from "hardhat/config";

const config: HardhatUserConfig = {};

export default config;
