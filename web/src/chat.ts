/** The element `<callboard-chat>` for any page, with one script tag. */
export { ChatElement } from "./elements/chat/chat.ts";
export { SessionChangeEvent } from "./events/session-change-event.ts";
export { WaitingChangeEvent } from "./events/waiting-change-event.ts";
export { type Texts, translate } from "./texts.ts";
