/** The views beside the chat. Each is loaded when it is shown for the first time. */
import type { View } from "../../state/route.ts";
import type { ViewElement } from "../view/view.ts";

type Load = () => Promise<string>;

const LOADERS: Readonly<Record<Exclude<View, "chat">, Load>> = {
  inbox: () => import("../inbox-view/inbox-view.ts").then(() => "callboard-inbox-view"),
  timeline: () => import("../board-view/board-view.ts").then(() => "callboard-board-view"),
  tools: () => import("../catalogue-view/catalogue-view.ts").then(() => "callboard-catalogue-view"),
  operations: () => import("../operations-view/operations-view.ts").then(() => "callboard-operations-view"),
  api: () => import("../api-explorer-view/api-explorer-view.ts").then(() => "callboard-api-explorer-view"),
};

/** Load a view and make its element. Raises a `TypeError` if its script cannot be loaded. */
export async function makeView(view: Exclude<View, "chat">): Promise<ViewElement> {
  return document.createElement(await LOADERS[view]()) as ViewElement;
}
