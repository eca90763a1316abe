/** Notifications of the browser about new requests, if the person asked for them. */
import { browserStorage } from "./storage.ts";

const KEY = "callboard.notify";

const storage = browserStorage("localStorage");

export type NotificationState = "unavailable" | "blocked" | "off" | "on";

export const notifications = {
  get state(): NotificationState {
    if (!("Notification" in globalThis) || !globalThis.isSecureContext) return "unavailable";
    if (Notification.permission === "denied") return "blocked";
    return Notification.permission === "granted" && storage.get(KEY) === "on" ? "on" : "off";
  },

  /** Ask the browser for its permission, if it has not given it, and turn notifications on. */
  async turnOn(): Promise<void> {
    storage.set(KEY, "on");
    if (Notification.permission === "default") await Notification.requestPermission();
  },

  turnOff(): void {
    storage.set(KEY, null);
  },

  /** Show a notification. Several tabs may show it: the one with the same tag replaces it. */
  show(tag: string, title: string, body: string, onClick: () => void): void {
    if (this.state !== "on") return;
    try {
      const made = new Notification(title, { body, tag, icon: "icon.svg" });
      made.addEventListener("click", () => {
        made.close();
        globalThis.focus();
        onClick();
      });
    } catch {
      // a browser of a phone allows it to workers only
    }
  },
};
