// The page: connects the stream, the state and the elements, and sends the person's messages.

import { Problem, get, post, token } from "./api.js";
import { Card } from "./cards.js";
import { button, find, make, write } from "./elements.js";
import { Outbox, newId } from "./outbox.js";
import { State } from "./state.js";
import { Stream } from "./stream.js";

const SESSION = "callboard.session";
const NEAR = 120;
const TIMEOUT = 20_000; // milliseconds that the server may take to respond
const PAGES = 8; // pages of 500 past events that are read for the history of the cards
const CONNECTION = {
  connecting: "connecting…",
  reconnecting: "reconnecting…",
  waiting: "reconnecting…",
  connected: "connected",
  lost: "not connected",
};
const UNSENT = {
  sending: "sending…",
  sent: "sent",
  waiting: "not sent yet, retrying automatically",
  failed: "not sent",
};
const SUGGESTIONS = [
  ["get_current_time", "what time is it in Tokyo and Paris"],
  ["calculate", "what is 12 * (3 + 4) and 365 * 24"],
  ["build_report", "build a report on coffee"],
  ["send_payment", "pay 25 EUR to Ada for lunch"],
  ["check_stock", "check the stock of lamps"],
  ["ask_delivery", "deliver the lamp"],
];

const state = new State();
const elements = new Map(); // the element or card of each item, by its key
const unsent = new Map(); // the element of each unacknowledged message, by its id
const answers = new Map(); // the answer to each request, and its idempotency key
let outbox = null;
let stream = null;
let sessionId = null;
let drawing = false;
let stale = false; // whether the next frame redraws everything
let ready = false;
let distance = 0; // pixels between the window and the end of the page at the last scroll or redraw
let earlier = null; // the cursor of the messages before those on the page
let oldest = null; // the first element before earlier messages were added
let historyGeneration = 0; // increases with each snapshot, so that responses about an older snapshot are dropped
let generation = 0; // increases with each connection, so that responses of an older connection are dropped

const timeline = find("timeline");
const message = find("message");

const actions = {
  cancel: (executionId) => post(`/api/executions/${encodeURIComponent(executionId)}/cancel`, { session_id: sessionId }),
  /** Answer a request as the person has seen it. A repeated answer has the same key, because the first may have arrived. */
  async answer({ id, hash }, answer) {
    const body = { session_id: sessionId, answer, ...(hash ? { arguments_hash: hash } : {}) };
    const text = JSON.stringify(body);
    if (answers.get(id)?.text !== text) answers.set(id, { text, key: newId() });
    try {
      await post(`/api/requests/${encodeURIComponent(id)}/answer`, body, { key: answers.get(id).key, timeout: TIMEOUT });
      answers.delete(id);
    } catch (problem) {
      if (problem.name === "TimeoutError") throw new Error("The server does not respond. Try again: your answer is counted once.");
      if (problem.status === 404 || problem.code === "request_closed") {
        state.close(id);
        draw();
      }
      throw problem;
    }
  },
};

// Drawing

function draw() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    const follow = atEnd();
    if (stale) {
      stale = false;
      elements.clear();
      timeline.replaceChildren();
    }
    for (const item of state.items) render(item);
    renderUnsent();
    find("welcome").hidden = !ready || state.items.length > 0 || unsent.size > 0;
    find("stop").hidden = !state.processing;
    const count = state.requests.size;
    document.title = count ? `(${count}) Callboard` : "Callboard";
    if (follow) keepDistance(0);
    else updateButtons();
  });
}

function render(item) {
  const known = elements.get(item.key);
  if (item.type === "call") {
    if (known) known.update(item);
    else {
      const card = new Card(item, actions);
      elements.set(item.key, card);
      put(item, make("li", { class: "call" }, card.element));
    }
    return;
  }
  if (known) {
    if (known.text.textContent !== item.text) known.text.textContent = item.text;
    known.text.toggleAttribute("data-live", Boolean(item.live));
    return;
  }
  const text = make("p", { class: "text" }, item.text ?? "");
  text.toggleAttribute("data-live", Boolean(item.live));
  const who = { user: "You", model: "Model" }[item.type];
  const kind = item.type === "notice" ? `note ${item.level}` : item.type;
  put(item, make("li", { class: kind }, who ? make("span", { class: "hidden" }, `${who}: `) : null, text));
  elements.set(item.key, { text });
}

/** Put an element at the end, or, for an earlier message, before those that were there. */
function put(item, element) {
  timeline.insertBefore(element, item.earlier ? oldest : null);
}

/** Draw unsent messages with their state at the end of the page, until the board has them. */
function renderUnsent() {
  const items = (outbox?.items ?? []).filter((item) => item.state !== "kept");
  for (const [id, { element }] of unsent) {
    if (!items.some((item) => item.id === id)) {
      element.remove();
      unsent.delete(id);
    }
  }
  for (const item of items) {
    if (!unsent.has(item.id)) {
      const note = make("span", { class: "sent", role: "status" });
      const again = button("Try now", "quiet", () => outbox.retry(item.id));
      const remove = button("Remove", "quiet", () => outbox.discard(item.id));
      const element = make("li", { class: "user unsent" }, make("span", { class: "hidden" }, "You: "), make("p", { class: "text" }, item.text));
      element.append(make("div", { class: "delivery" }, note, again, remove));
      find("outbox").append(element);
      unsent.set(item.id, { element, note, again, remove });
    }
    const { element, note, again, remove } = unsent.get(item.id);
    element.dataset.state = item.state;
    write(note, item.state === "failed" ? `${UNSENT.failed}: ${item.problem}` : UNSENT[item.state]);
    again.hidden = !["waiting", "failed"].includes(item.state);
    remove.hidden = item.state !== "failed";
  }
}

const below = () => document.body.scrollHeight - innerHeight - scrollY;
const atEnd = () => below() <= NEAR;

function updateButtons() {
  distance = below();
  find("jump").hidden = atEnd();
  const unseen = unseenRequest();
  const count = state.requests.size;
  find("waiting").hidden = !unseen;
  if (unseen) write(find("waiting"), `${count === 1 ? "A question is" : `${count} questions are`} waiting for you ${unseen.direction}`);
}

/** The first card whose question is outside the window. */
const unseenRequest = () => [...state.requests.values()].map((call) => elements.get(call.key)).find((card) => card?.direction);

/** Keep a distance to the end of the page, also when the window changes its size. */
function keepDistance(wanted) {
  for (let round = 0; round < 2; round++) { // the first round may show buttons that take space
    scrollBy({ top: below() - wanted });
    updateButtons();
  }
}

function showError(text) {
  const element = find("error");
  element.hidden = !text;
  write(element, text ?? "");
}

// The connection

function showConnection(name, delay = 0) {
  find("connection").dataset.state = name;
  find("reconnect").hidden = name !== "waiting";
  write(find("connection-text"), delay > 1500 ? "connection lost, retrying soon" : CONNECTION[name]);
}

function take(kind, event) {
  if (kind === "snapshot" || kind === "resync") {
    stale = true;
    state.begin(event);
    outbox?.seen(event.last_seq ?? 0);
    ready = true;
    setEarlier(event.messages_next);
    loadSuggestions();
    if (state.uncertain.size) settle();
    loadHistory(event.last_seq ?? 0);
  } else if (kind === "deleted") {
    for (const item of [...(outbox?.items ?? [])]) outbox.discard(item.id);
    startNewSession();
    return;
  } else {
    if (kind === "user_input" && event.data?.message_id) outbox?.arrived(event.data.message_id);
    const announcement = state.take(kind, event);
    if (announcement) write(find("announcer"), announcement);
    if (event.seq) outbox?.seen(event.seq);
  }
  draw();
}

/** Add the history of the cards from the events before the snapshot. */
async function loadHistory(lastSeq) {
  const mine = ++historyGeneration;
  let before = lastSeq + 1;
  try {
    for (let page = 0; page < PAGES && state.lacksHistory && before > 1; page++) {
      const { events, next } = await get("/api/events", { session_id: sessionId, before, limit: 500 });
      if (mine !== historyGeneration) return; // a newer snapshot has arrived
      state.addHistory(events);
      draw();
      if (next === null) return;
      before = next;
    }
  } catch {
    // the history of a card is optional
  }
}

async function connect(wanted) {
  const mine = ++generation;
  stream?.close();
  ready = false;
  historyGeneration++;
  sessionId = wanted ?? `s${newId()}`; // chosen here, so that messages can be stored before the server responds
  localStorage.setItem(SESSION, sessionId);
  if (outbox?.sessionId !== sessionId) {
    outbox = new Outbox(sessionId, { changed: draw, denied: () => askForToken(() => connect(sessionId)) });
  }
  state.clear();
  setEarlier(null);
  stale = true;
  draw();
  showConnection("connecting");
  try {
    await post("/api/sessions", { session_id: sessionId }, { timeout: TIMEOUT });
    if (mine !== generation) return;
    outbox.start();
    showError("");
  } catch (problem) {
    if (mine !== generation) return;
    if (problem.status === 401) {
      askForToken(() => connect(sessionId));
      return;
    }
    if (problem instanceof Problem && problem.status === 404 && wanted) {
      connect(null); // it belongs to another user
      return;
    }
    showConnection("lost");
    if (problem instanceof Problem) showError(problem.message);
    setTimeout(() => mine === generation && connect(sessionId), 3000);
    return;
  }
  stream = new Stream(sessionId, {
    take,
    state(name, delay) {
      showConnection(name, delay);
      if (name === "connected") outbox.hurry();
    },
    fail(problem) {
      showConnection("lost");
      if (problem.status === 401) askForToken(() => connect(sessionId));
      else if (problem.status === 404) setTimeout(() => mine === generation && connect(sessionId), 1000);
      else showError(problem.message);
    },
  });
}

function startNewSession() {
  localStorage.removeItem(SESSION);
  connect(null);
  message.focus();
}

async function settle() {
  try {
    const { executions } = await get("/api/executions", { session_id: sessionId, limit: 1000 });
    state.settle(executions);
    draw();
  } catch {
    // later events will update the calls
  }
}

function setEarlier(place) {
  earlier = place ?? null;
  find("earlier").hidden = earlier === null;
}

async function showEarlier() {
  const mine = historyGeneration;
  find("earlier").disabled = true;
  try {
    const page = await get("/api/messages", { session_id: sessionId, before: earlier });
    if (mine !== historyGeneration) return;
    oldest = timeline.firstElementChild;
    state.prepend(page.messages);
    setEarlier(page.next);
    draw();
    if (state.uncertain.size) settle();
  } catch (problem) {
    showError(problem.message);
  } finally {
    find("earlier").disabled = false;
  }
}

async function loadSuggestions() {
  const list = find("suggestions");
  if (state.items.length || list.children.length) return;
  try {
    const { tools } = await get("/api/tools", { session_id: sessionId });
    const names = new Set(tools.map((tool) => tool.name));
    list.replaceChildren(
      ...SUGGESTIONS.filter(([tool]) => names.has(tool)).map(([, text]) => make("li", {}, button(text, "try", () => sendMessage(text)))),
    );
  } catch {
    // suggestions are optional
  }
}

// The token

function askForToken(then) {
  const dialog = find("token-dialog");
  const input = find("token");
  const error = find("token-error");
  error.hidden = !token.get();
  write(error, "The server did not accept this token.");
  token.set("");
  input.value = "";
  find("token-form").onsubmit = () => {
    token.set(input.value.trim());
    then();
  };
  dialog.onclose = () => token.get() || dialog.showModal(); // Escape closes it in any case
  if (!dialog.open) dialog.showModal();
}

// The person

function sendMessage(text) {
  showError("");
  outbox.add(text);
  requestAnimationFrame(() => requestAnimationFrame(() => scrollTo({ top: document.body.scrollHeight })));
}

async function stop() {
  try {
    await post("/api/interrupt", { session_id: sessionId }, { key: newId(), timeout: TIMEOUT });
  } catch (problem) {
    showError(problem.message);
  }
}

find("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = message.value.trim();
  if (!text) return;
  message.value = "";
  sendMessage(text);
});
message.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    find("composer").requestSubmit();
  } else if (event.key === "Escape" && state.processing) stop();
});
find("stop").addEventListener("click", stop);
find("reconnect").addEventListener("click", () => stream?.retry());
find("earlier").addEventListener("click", showEarlier);
find("new-session").addEventListener("click", startNewSession);
find("jump").addEventListener("click", () => scrollTo({ top: document.body.scrollHeight, behavior: "smooth" }));
find("waiting").addEventListener("click", () => unseenRequest()?.focus());
addEventListener("scroll", updateButtons, { passive: true });
addEventListener("resize", () => (distance <= NEAR ? keepDistance(distance) : updateButtons()));
addEventListener("pagehide", () => stream?.close());
addEventListener("pageshow", (event) => event.persisted && connect(sessionId));

connect(localStorage.getItem(SESSION));
