/** The person signs in with a token. */
export class TokenEvent extends Event {
  static readonly type = "callboard-token";
  readonly token: string;
  readonly remember: boolean;

  constructor(token: string, remember: boolean) {
    super(TokenEvent.type, { bubbles: true, composed: true });
    this.token = token;
    this.remember = remember;
  }
}

declare global {
  interface HTMLElementEventMap {
    "callboard-token": TokenEvent;
  }
}
