/** The browser's tool system, and the element `<ag-ui-agent>`. All but the element works without an agent. */
export { AgUiAgentReadyEvent } from "../events/ag-ui-agent-ready.ts";
export { AgUiInterruptEvent, type AgUiInterruptDetail } from "../events/ag-ui-interrupt.ts";
export { AgUiMessagesChangedEvent, type AgUiMessagesChangedDetail } from "../events/ag-ui-messages-changed.ts";
export { AgUiRunErrorEvent, type AgUiRunErrorDetail } from "../events/ag-ui-run-error.ts";
export { AgUiRunFinishedEvent, type AgUiRunFinishedDetail } from "../events/ag-ui-run-finished.ts";
export { AgUiRunStartedEvent, type AgUiRunStartedDetail } from "../events/ag-ui-run-started.ts";
export { AgUiStateChangedEvent, type AgUiStateChangedDetail } from "../events/ag-ui-state-changed.ts";
export { AgUiToolCallArgsEvent, type AgUiToolCallArgsDetail } from "../events/ag-ui-tool-call-args.ts";
export { AgUiToolCallEndEvent, type AgUiToolCallEndDetail } from "../events/ag-ui-tool-call-end.ts";
export { AgUiToolCallErrorEvent, type AgUiToolCallErrorDetail } from "../events/ag-ui-tool-call-error.ts";
export { AgUiToolCallPendingEvent, type AgUiToolCallPendingDetail } from "../events/ag-ui-tool-call-pending.ts";
export { AgUiToolCallStartEvent, type AgUiToolCallStartDetail } from "../events/ag-ui-tool-call-start.ts";
export { AgUiToolRegisterEvent, type AgUiToolRegisterDetail } from "../events/ag-ui-tool-register.ts";
export { AgUiToolRetryingEvent, type AgUiToolRetryingDetail } from "../events/ag-ui-tool-retrying.ts";
export { AgUiToolStatusChangedEvent, type AgUiToolStatusChangedDetail } from "../events/ag-ui-tool-status-changed.ts";
export { ToolExecutionCancelledEvent, type ToolExecutionCancelledDetail } from "../events/tool-execution-cancelled.ts";
export { ToolExecutionExecutingEvent, type ToolExecutionExecutingDetail } from "../events/tool-execution-executing.ts";
export { ToolExecutionFailedEvent, type ToolExecutionFailedDetail } from "../events/tool-execution-failed.ts";
export { ToolExecutionRetryingEvent, type ToolExecutionRetryingDetail } from "../events/tool-execution-retrying.ts";
export { ToolExecutionStartedEvent, type ToolExecutionStartedDetail } from "../events/tool-execution-started.ts";
export { ToolExecutionSucceededEvent, type ToolExecutionSucceededDetail } from "../events/tool-execution-succeeded.ts";
export {
  ToolExecutionValidatingEvent,
  type ToolExecutionValidatingDetail,
} from "../events/tool-execution-validating.ts";
export { ToolRegistryChangeEvent, type ToolRegistryChangeDetail } from "../events/tool-registry-change.ts";
export { type AgentRunOptions, AgUiAgent, type InterruptResponses } from "./ag-ui-agent.ts";
export type { AgentRunResult } from "./agent-run.ts";
export type { PendingToolCall } from "./pending-tool-call.ts";
export { BreakerOpen, type BreakerState, type BreakerStatus } from "./breaker.ts";
export type { Clock, Timer } from "./clock.ts";
export {
  CATEGORIES,
  categorizeError,
  type ErrorCategory,
  RegistrationError,
  ToolError,
  type ToolErrorOptions,
  type ToolValidationError,
} from "./errors.ts";
export { helloTool } from "./hello-tool.ts";
export * from "./tool-execution-manager.ts";
export * from "./tool-executor.ts";
export * from "./tool-registry.ts";
export type { Statistics } from "./tool-stats.ts";
export * from "./types.ts";
