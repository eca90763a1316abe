import type { Interrupt } from "@ag-ui/client";

export interface AgUiInterruptDetail {
  readonly interrupts: readonly Interrupt[];
}

/** A run waits for people. Answer with `AgUiAgent.resume`. */
export class AgUiInterruptEvent extends CustomEvent<AgUiInterruptDetail> {
  static readonly type = "ag-ui-interrupt";

  constructor(detail: AgUiInterruptDetail) {
    super(AgUiInterruptEvent.type, { detail, bubbles: true, composed: true });
  }
}

declare global {
  interface GlobalEventHandlersEventMap {
    "ag-ui-interrupt": AgUiInterruptEvent;
  }
}
