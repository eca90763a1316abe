import type { ToolDefinition } from "../tools/types.ts";

export interface AgUiToolRegisterDetail {
  readonly tool: ToolDefinition;
}

/**
 * Asks the agents of a document to register a tool: `document.dispatchEvent(new AgUiToolRegisterEvent({ tool }))`.
 *
 * An agent that registers it prevents the default, so `dispatchEvent` returns false. Where it returns true there is no
 * agent yet: dispatch the event again on `ag-ui-agent-ready`. A script that does not import this class can dispatch a
 * `CustomEvent` with the same type and detail, and `cancelable: true`.
 */
export class AgUiToolRegisterEvent extends CustomEvent<AgUiToolRegisterDetail> {
  static readonly type = "ag-ui-tool-register";

  constructor(detail: AgUiToolRegisterDetail) {
    super(AgUiToolRegisterEvent.type, { detail, bubbles: true, composed: true, cancelable: true });
  }
}

declare global {
  interface GlobalEventHandlersEventMap {
    "ag-ui-tool-register": AgUiToolRegisterEvent;
  }
}
