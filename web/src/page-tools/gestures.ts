/**
 * Clicks that browsers require before a page may copy or notify.
 *
 * A handler waits for a click on the card of its call. The browser counts the click for a few seconds, so the handler
 * must act at once.
 */
import { ToolError } from "../tools/errors.ts";

/** What the click allows. */
export type GestureKind = "copy" | "notify";

interface Waiting {
  readonly kind: GestureKind;
  readonly decide: (isAllowed: boolean) => void;
}

export class Gestures extends EventTarget {
  readonly #waiting = new Map<string, Waiting>();

  /** Wait until the person allows it. Throws a `ToolError` if the person refuses, and the reason of the signal. */
  request(toolCallId: string, kind: GestureKind, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = () => {
        this.#waiting.delete(toolCallId);
        signal.removeEventListener("abort", abort);
        this.dispatchEvent(new Event("change"));
      };
      const abort = () => {
        end();
        reject(signal.reason as Error);
      };
      if (signal.aborted) return reject(signal.reason as Error);
      signal.addEventListener("abort", abort);
      const decide = (isAllowed: boolean) => {
        end();
        if (isAllowed) resolve();
        else
          reject(new ToolError("The user refused this in the browser. Nothing was done.", { category: "permanent" }));
      };
      this.#waiting.set(toolCallId, { kind, decide });
      this.dispatchEvent(new Event("change"));
    });
  }

  /** What a call waits for, if anything. */
  waitingFor(toolCallId: string): GestureKind | undefined {
    return this.#waiting.get(toolCallId)?.kind;
  }

  /** Decide for the person who clicked. */
  decide(toolCallId: string, isAllowed: boolean): void {
    this.#waiting.get(toolCallId)?.decide(isAllowed);
  }
}

/** The clicks that the tools of this page wait for. */
export const gestures = /* @__PURE__ */ new Gestures();

/** Whether a browser refused something for want of a click or of a permission. */
export function isNotAllowed(error: unknown): boolean {
  return error instanceof Error && error.name === "NotAllowedError";
}
