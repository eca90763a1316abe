/**
 * The id of the conversation that a tab starts next, made here, so that messages can be stored before the server
 * responds. A reload keeps it, and with it the draft. If it has unsent messages, it outlives the tab: the next tab that
 * starts a conversation continues it.
 */
import { newId } from "../api/ids.ts";
import { browserStorage } from "./storage.ts";

const NEXT = "callboard.next-session";
const UNSENT = "callboard.unsent-sessions";

const tab = browserStorage("sessionStorage");
const device = browserStorage("localStorage");

export function nextSessionId(): string {
  const id = tab.get(NEXT) ?? unsentSessions()[0] ?? `s${newId()}`;
  tab.set(NEXT, id);
  return id;
}

/** Remember a conversation that does not exist yet, and has messages. */
export function keepSession(id: string): void {
  store([...unsentSessions().filter((each) => each !== id), id]);
}

/** Forget a conversation that exists now. The tab starts another one next. */
export function forgetSession(id: string): void {
  if (tab.get(NEXT) === id) tab.set(NEXT, null);
  store(unsentSessions().filter((each) => each !== id));
}

/** Forget all conversations that do not exist yet, because the person signs out. */
export function forgetNextSessions(): void {
  tab.set(NEXT, null);
  store([]);
}

function unsentSessions(): string[] {
  return (device.get(UNSENT) ?? "").split(" ").filter((id) => id !== "");
}

function store(ids: readonly string[]): void {
  device.set(UNSENT, ids.length > 0 ? ids.join(" ") : null);
}
