import type { ConnectionState } from "../api/board-stream.ts";

/** The connection of a conversation, for the person. */
export interface Connection {
  readonly state: ConnectionState;
  /** Milliseconds until the next attempt, while it waits. */
  readonly delay: number;
  /** Milliseconds for which the server had been silent when this state began. */
  readonly silence: number;
}

/** What a controller tells its element besides a new state. */
export interface SessionListener {
  /** The conversation has another id, or exists now. */
  onSession(sessionId: string, exists: boolean): void;
  /** The server requires a token. `wasRefused` if it refused one. */
  onDenied(wasRefused: boolean): void;
  /** A text for screen readers. */
  onAnnouncement(text: string): void;
}
