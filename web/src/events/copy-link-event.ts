/** The person asks for the address of a call. */
export class CopyLinkEvent extends Event {
  static readonly type = "callboard-copy-link";
  readonly executionId: string;
  /** Whether the address was copied. The listener sets it. */
  copied: Promise<boolean> = Promise.resolve(false);

  constructor(executionId: string) {
    super(CopyLinkEvent.type, { bubbles: true, composed: true });
    this.executionId = executionId;
  }
}

declare global {
  interface HTMLElementEventMap {
    "callboard-copy-link": CopyLinkEvent;
  }
}
