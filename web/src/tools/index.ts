/** The browser's tool system: definitions, registry, executors, manager. It needs no server. */
export { ToolExecutionCancelledEvent } from "../events/tool-execution-cancelled.ts";
export { ToolExecutionExecutingEvent } from "../events/tool-execution-executing.ts";
export { ToolExecutionFailedEvent } from "../events/tool-execution-failed.ts";
export { ToolExecutionRetryingEvent } from "../events/tool-execution-retrying.ts";
export { ToolExecutionStartedEvent } from "../events/tool-execution-started.ts";
export { ToolExecutionSucceededEvent } from "../events/tool-execution-succeeded.ts";
export { ToolExecutionValidatingEvent } from "../events/tool-execution-validating.ts";
export { ToolRegistryChangeEvent } from "../events/tool-registry-change.ts";
export { BreakerOpen, type BreakerState } from "./breaker.ts";
export type { Clock, Timer } from "./clock.ts";
export * from "./errors.ts";
export { helloTool } from "./hello-tool.ts";
export * from "./tool-execution-manager.ts";
export * from "./tool-executor.ts";
export * from "./tool-registry.ts";
export type { Statistics } from "./tool-stats.ts";
export * from "./types.ts";
