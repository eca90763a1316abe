// The page: joins the stream, the state and the elements, and sends what the person says.

import { Problem, get, post, token } from "./api.js";
import { Card } from "./cards.js";
import { button, find, make, write } from "./elements.js";
import { Outbox, newId } from "./outbox.js";
import { State } from "./state.js";
import { Stream } from "./stream.js";

const SESSION = "callboard.session";
const NEAR = 120;
const PATIENCE = 20_000; // milliseconds that the server may take to answer
const PAGES = 8; // of the past that are read for the history of the cards, of 500 events each
const UNSENT = {
  sending: "sending…",
  sent: "sent",
  waiting: "not sent yet; it is tried again by itself",
  failed: "not sent",
};
const TRIES = [
  ["get_current_time", "what time is it in Tokyo and Paris"],
  ["calculate", "what is 12 * (3 + 4) and 365 * 24"],
  ["build_report", "build a report on coffee"],
  ["send_payment", "pay 25 EUR to Ada for lunch"],
  ["check_stock", "check the stock of lamps"],
  ["ask_delivery", "deliver the lamp"],
];

const state = new State();
const shown = new Map(); // the element or card of each item, by its key
const unsent = new Map(); // the element of each message that is not acknowledged, by its id
const answers = new Map(); // what was answered to each request, and under which key it was sent
let outbox = null;
let stream = null;
let sessionId = null;
let drawing = false;
let stale = false;
let ready = false;
let left = 0; // how far the end was below the window when one last looked
let earlier = null; // where the messages before those that are shown are read from
let oldest = null; // the first element that was shown when they came
let memory = 0; // of snapshots: the history of an older one does not matter
let generation = 0; // of connections: what an older one still wants does not matter

const timeline = find("timeline");
const message = find("message");

const act = {
  cancel: (executionId) => post(`/api/executions/${encodeURIComponent(executionId)}/cancel`, { session_id: sessionId }),
  /** Answer a request for what the person has seen of it. The same answer again is the same: it may have arrived. */
  async answer({ id, hash }, answer) {
    const body = { session_id: sessionId, answer, ...(hash ? { arguments_hash: hash } : {}) };
    const text = JSON.stringify(body);
    if (answers.get(id)?.text !== text) answers.set(id, { text, key: newId() });
    try {
      await post(`/api/requests/${encodeURIComponent(id)}/answer`, body, { key: answers.get(id).key, patience: PATIENCE });
      answers.delete(id);
    } catch (problem) {
      if (problem.name === "TimeoutError") throw new Error("The server does not answer. Try again: your answer counts once.");
      if (problem.status === 404 || problem.code === "request_closed") {
        state.forget(id);
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
      shown.clear();
      timeline.replaceChildren();
    }
    for (const item of state.items) render(item);
    renderUnsent();
    find("welcome").hidden = !ready || state.items.length > 0 || unsent.size > 0;
    find("stop").hidden = !state.processing;
    const count = state.requests.size;
    document.title = count ? `(${count}) Callboard` : "Callboard";
    if (follow) stay(0);
    else jumpable();
  });
}

function render(item) {
  const known = shown.get(item.key);
  if (item.type === "call") {
    if (known) known.update(item);
    else {
      const card = new Card(item, act);
      shown.set(item.key, card);
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
  shown.set(item.key, { text });
}

/** Put an element at the end, or, for an earlier message, before those that were there. */
function put(item, element) {
  timeline.insertBefore(element, item.earlier ? oldest : null);
}

/** What the person wrote stands at the end from the first moment, and says how it stands, until the board has it. */
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

/** What is shown is to be drawn anew, in one go with what takes its place. */
function reset() {
  stale = true;
}

const below = () => document.body.scrollHeight - innerHeight - scrollY;
const atEnd = () => below() <= NEAR;

function jumpable() {
  left = below();
  find("jump").hidden = atEnd();
  const asking = unseen();
  const count = state.requests.size;
  find("waiting").hidden = !asking;
  if (asking) write(find("waiting"), `${count === 1 ? "A question waits" : `${count} questions wait`} for you ${asking.way}`);
}

/** The first card whose question is out of sight. */
const unseen = () => [...state.requests.values()].map((call) => shown.get(call.key)).find((card) => card?.way);

/** Whoever is at the end stays there, also where a turned phone has room for less. */
function stay(distance) {
  for (let round = 0; round < 2; round++) { // what is shown in the first one takes room itself
    scrollBy({ top: below() - distance });
    jumpable();
  }
}

function announce(text) {
  if (text) write(find("announcer"), text);
}

function complain(text) {
  const element = find("error");
  element.hidden = !text;
  write(element, text ?? "");
}

// The connection

function connection(name, delay) {
  const words = { connecting: "connecting…", reconnecting: "reconnecting…", connected: "connected", lost: "not connected" };
  const element = find("connection");
  element.dataset.state = name;
  find("reconnect").hidden = name !== "waiting";
  if (name !== "waiting") {
    write(find("connection-text"), words[name] ?? name);
    return;
  }
  write(find("connection-text"), delay > 1500 ? "connection lost, trying again soon" : "reconnecting…");
}

function take(kind, event) {
  if (kind === "snapshot" || kind === "resync") {
    reset();
    state.begin(event);
    outbox?.seen(event.last_seq ?? 0);
    ready = true;
    more(event.messages_next);
    suggest();
    if (state.unsure.size) settle();
    remember(event.last_seq ?? 0);
  } else if (kind === "deleted") {
    for (const item of [...(outbox?.items ?? [])]) outbox.discard(item.id);
    fresh();
    return;
  } else {
    if (kind === "user_input" && event.data?.message_id) outbox?.arrived(event.data.message_id);
    announce(state.take(kind, event));
    if (event.seq) outbox?.seen(event.seq);
  }
  draw();
}

/** Give the cards their history: what the snapshot does not tell is read from the events before it. */
async function remember(lastSeq) {
  const mine = ++memory;
  let before = lastSeq + 1;
  try {
    for (let page = 0; page < PAGES && state.forgetful && before > 1; page++) {
      const { events, next } = await get("/api/events", { session_id: sessionId, before, limit: 500 });
      if (mine !== memory) return; // there is another snapshot by now
      state.remember(events);
      draw();
      if (next === null) return;
      before = next;
    }
  } catch {
    // a card without its history is a card all the same
  }
}

async function connect(wanted) {
  const mine = ++generation;
  stream?.close();
  ready = false;
  memory++;
  sessionId = wanted ?? `s${newId()}`; // chosen here, so that what is written before the server answers has its place
  localStorage.setItem(SESSION, sessionId);
  if (outbox?.sessionId !== sessionId) {
    outbox = new Outbox(sessionId, { changed: draw, denied: () => ask(() => connect(sessionId)) });
  }
  state.clear();
  more(null);
  reset();
  draw();
  connection("connecting");
  try {
    await post("/api/sessions", { session_id: sessionId }, { patience: PATIENCE });
    if (mine !== generation) return;
    outbox.start();
    complain("");
  } catch (problem) {
    if (mine !== generation) return;
    if (problem.status === 401) {
      ask(() => connect(sessionId));
      return;
    }
    if (problem instanceof Problem && problem.status === 404 && wanted) {
      connect(null); // it is somebody else's
      return;
    }
    connection("lost");
    if (problem instanceof Problem) complain(problem.message);
    setTimeout(() => mine === generation && connect(sessionId), 3000);
    return;
  }
  stream = new Stream(sessionId, {
    take,
    state(name, delay) {
      connection(name, delay);
      if (name === "connected") outbox.hurry();
    },
    fail(problem) {
      connection("lost");
      if (problem.status === 401) ask(() => connect(sessionId));
      else if (problem.status === 404) setTimeout(() => mine === generation && connect(sessionId), 1000);
      else complain(problem.message);
    },
  });
}

function fresh() {
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
    // the events to come will tell
  }
}

function more(place) {
  earlier = place ?? null;
  find("earlier").hidden = earlier === null;
}

async function showEarlier() {
  const mine = generation;
  try {
    const page = await get("/api/messages", { session_id: sessionId, before: earlier });
    if (mine !== generation) return;
    oldest = timeline.firstElementChild;
    state.precede(page.messages);
    more(page.next);
    draw();
  } catch (problem) {
    complain(problem.message);
  }
}

async function suggest() {
  const list = find("suggestions");
  if (state.items.length || list.children.length) return;
  try {
    const { tools } = await get("/api/tools", { session_id: sessionId });
    const names = new Set(tools.map((tool) => tool.name));
    list.replaceChildren(
      ...TRIES.filter(([tool]) => names.has(tool)).map(([, text]) => make("li", {}, button(text, "try", () => say(text)))),
    );
  } catch {
    // they are only suggestions
  }
}

// The token

function ask(then) {
  const dialog = find("token-dialog");
  const input = find("token");
  const error = find("token-error");
  error.hidden = !token.get();
  write(error, "That token was not accepted.");
  token.set("");
  input.value = "";
  find("token-form").onsubmit = () => {
    token.set(input.value.trim());
    then();
  };
  dialog.onclose = () => token.get() || dialog.showModal(); // Escape closes it, whatever one wants
  if (!dialog.open) dialog.showModal();
}

// The person

function say(text) {
  complain("");
  outbox.add(text);
  requestAnimationFrame(() => requestAnimationFrame(() => scrollTo({ top: document.body.scrollHeight })));
}

async function stop() {
  try {
    await post("/api/interrupt", { session_id: sessionId }, { key: newId(), patience: PATIENCE });
  } catch (problem) {
    complain(problem.message);
  }
}

find("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = message.value.trim();
  if (!text) return;
  message.value = "";
  say(text);
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
find("new-session").addEventListener("click", fresh);
find("jump").addEventListener("click", () => scrollTo({ top: document.body.scrollHeight, behavior: "smooth" }));
find("waiting").addEventListener("click", () => unseen()?.focus());
addEventListener("scroll", jumpable, { passive: true });
addEventListener("resize", () => (left <= NEAR ? stay(left) : jumpable()));
addEventListener("pagehide", () => stream?.close());
addEventListener("pageshow", (event) => event.persisted && connect(sessionId));

connect(localStorage.getItem(SESSION));
