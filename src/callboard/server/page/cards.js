// The card of a call: what was called with what, how far it is, what came of it, and what it asks.

import { button, make, write } from "./elements.js";
import { answerForm, json, title } from "./forms.js";

const WORDS = {
  pending: "is queued",
  validating: "begins",
  executing: "runs",
  retrying: "is tried again",
  waiting: "waits for you",
  succeeded: "done",
  failed: "failed",
  cancelled: "cancelled",
};
const ENDED = new Set(["succeeded", "failed", "cancelled"]);
const LONG = 400;

export class Card {
  /** `act` has `cancel(executionId)` and `answer(requestId, answer)`, both of which may throw a `Problem`. */
  constructor(call, act) {
    this.act = act;
    this.name = make("strong", {}, call.tool);
    this.status = make("span", { class: "status" });
    this.cancel = button("Cancel", "quiet", () => this.#cancel(call));
    this.cancel.setAttribute("aria-label", `Cancel ${call.tool}`);
    this.bar = make("progress", { max: "1", "aria-label": `Progress of ${call.tool}` });
    this.said = make("p", { class: "said" });
    this.troubles = make("ul", { class: "troubles" });
    this.partials = make("ul", { class: "partials" });
    this.asked = make("div", { class: "asked" });
    this.result = make("div", { class: "result" });
    this.problem = make("p", { class: "notice error", role: "alert" });
    this.problem.hidden = true;
    this.element = make(
      "article",
      { class: "card", "aria-label": `Call of ${call.tool}` },
      make("header", {}, this.name, this.status, this.cancel),
      facts(call.arguments),
      this.bar,
      this.said,
      this.troubles,
      this.partials,
      this.asked,
      this.result,
      this.problem,
    );
    this.update(call);
  }

  update(call) {
    const ended = ENDED.has(call.status);
    this.element.dataset.status = call.status;
    const attempt = call.attempt > 1 || call.errors.length ? ` (attempt ${call.attempt} of ${call.maximum})` : "";
    const spent = ended && call.seconds !== null && call.seconds !== undefined ? ` ${within(call.seconds)}` : "";
    write(this.status, (WORDS[call.status] ?? call.status) + attempt + spent);
    this.cancel.hidden = ended || !call.executionId;
    this.#progress(call, ended);
    this.#list(this.troubles, call.errors, (error) => `${error.category}: ${error.message}`);
    this.#list(this.partials, call.partials, short);
    this.#ask(call);
    this.#end(call, ended);
  }

  #progress(call, ended) {
    const running = ["executing", "retrying", "pending", "validating"].includes(call.status);
    this.bar.hidden = ended || !running;
    if (call.fraction === null || call.fraction === undefined) this.bar.removeAttribute("value");
    else this.bar.value = call.fraction;
    const percent = call.fraction === null || call.fraction === undefined ? "" : ` ${Math.floor(call.fraction * 100)}%`;
    const retry = call.status === "retrying" && call.retryIn ? `Next attempt in ${seconds(call.retryIn)}.` : "";
    const stage = call.stage ? `${title(call.stage)}${percent}${call.message ? `: ${call.message}` : ""}` : "";
    write(this.said, ended ? "" : retry || stage);
    this.said.hidden = !this.said.textContent;
  }

  #list(element, values, told) {
    while (element.children.length < values.length) {
      element.append(make("li", {}, told(values[element.children.length])));
    }
    element.hidden = !values.length;
  }

  #end(call, ended) {
    if (!ended || this.shown === call.status) return;
    this.shown = call.status;
    if (call.error && call.status !== "succeeded") {
      this.result.replaceChildren(make("p", { class: "blame" }, call.error.message ?? String(call.error)));
    } else if (call.value !== undefined && call.value !== null) this.result.replaceChildren(facts(call.value, true));
  }

  // What a person is asked

  #ask(call) {
    const id = call.request?.id ?? null;
    if (this.requestId === id) return;
    this.requestId = id;
    this.problem.hidden = true;
    if (id === null) {
      const hadFocus = this.held || this.asked.contains(document.activeElement);
      this.asked.replaceChildren();
      if (hadFocus) document.getElementById("message")?.focus();
      return;
    }
    const approval = call.request.schema?.properties?.approved !== undefined;
    this.asked.replaceChildren(...(approval ? this.#approval(call) : this.#question(call)));
  }

  #approval(call) {
    const request = call.request;
    const more = make("div", { class: "more" });
    const send = (answer) => this.#answer(request.id, answer);
    const choose = (form, label, kind, answer) => {
      const given = make("form", {}, form.element);
      given.append(make("button", { type: "submit", class: kind }, label), button("Back", "quiet", () => more.replaceChildren()));
      given.addEventListener("submit", (event) => {
        event.preventDefault();
        this.#try(() => send(answer(form.read())));
      });
      more.replaceChildren(given);
      given.querySelector("textarea, input")?.focus();
    };
    const reason = () => answerForm({ type: "object", properties: { reason: { type: "string", description: "The model is told, and may try otherwise." } } });
    return [
      make("p", { class: "question" }, "May this run?"),
      make(
        "div",
        { class: "choices", role: "group", "aria-label": `Answer to ${call.tool}` },
        button("Approve", "yes", () => send({ approved: true })),
        button("Reject…", "stop", () => choose(reason(), "Reject", "stop", (given) => ({ approved: false, ...given }))),
        button("Edit…", "quiet", () =>
          choose(json("Arguments (JSON)", request.payload), "Approve with these", "yes", (given) => ({ approved: true, arguments: given })),
        ),
      ),
      more,
    ];
  }

  #question(call) {
    const form = answerForm(call.request.schema);
    const given = make("form", {}, form.element, make("button", { type: "submit", class: "send" }, "Answer"));
    given.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#try(() => this.#answer(call.request.id, form.read()));
    });
    return [make("p", { class: "question" }, "What is your answer?"), given];
  }

  #try(action) {
    try {
      action();
    } catch (error) {
      this.#tell(error.message);
    }
  }

  #tell(text) {
    this.problem.hidden = !text;
    write(this.problem, text);
  }

  async #answer(requestId, answer) {
    this.#busy(true);
    try {
      await this.act.answer(requestId, answer);
      this.#tell("");
    } catch (problem) {
      const wrong = (problem.errors ?? []).map((each) => `${each.path || each.pointer || "answer"}: ${each.message ?? each.detail}`);
      this.#tell(wrong.length ? wrong.join(" ") : problem.message);
    } finally {
      this.#busy(false);
    }
  }

  async #cancel(call) {
    this.cancel.disabled = true;
    try {
      await this.act.cancel(call.executionId);
    } catch (problem) {
      this.#tell(problem.message);
    } finally {
      this.cancel.disabled = false;
    }
  }

  /** A button that is disabled loses the focus, which goes back to it, or on if nothing is asked any more. */
  #busy(busy) {
    if (busy) this.held = this.asked.contains(document.activeElement) ? document.activeElement : null;
    for (const each of this.asked.querySelectorAll("button")) each.disabled = busy;
    if (busy) return;
    if (this.held?.isConnected) this.held.focus({ preventScroll: true });
    this.held = null;
  }

  /** Where one has to scroll to see what it asks; nowhere if it is in sight. */
  get way() {
    const place = this.asked.getBoundingClientRect();
    if (place.bottom <= 80) return "↑";
    return place.top >= innerHeight - 120 ? "↓" : "";
  }

  /** Bring what it asks to the person. */
  focus() {
    this.element.scrollIntoView({ block: "center", behavior: "smooth" });
    this.asked.querySelector("button, input, select, textarea")?.focus({ preventScroll: true });
  }
}

/** A value as people read it: fields with their names, anything else as text. The whole of a long one can be opened. */
function facts(value, isResult = false) {
  if (value === null || value === undefined) return make("p", {}, "nothing");
  if (typeof value !== "object") return long(String(value), isResult);
  const entries = Array.isArray(value) ? [] : Object.entries(value);
  if (!entries.length || entries.length > 20) {
    return entries.length || Array.isArray(value) ? long(JSON.stringify(value, null, 1), isResult) : make("p", { class: "facts none" });
  }
  const list = make("dl", { class: "facts" });
  for (const [name, each] of entries) list.append(make("dt", {}, title(name)), make("dd", {}, short(each)));
  return list;
}

function long(text, isResult) {
  if (text.length <= LONG) return make("p", { class: isResult ? "value" : "facts" }, text);
  return make("details", {}, make("summary", {}, `${text.slice(0, 120)}…`), make("pre", {}, text));
}

function short(value) {
  if (value === null || value === "") return "—";
  if (Array.isArray(value) && value.every((each) => typeof each !== "object")) value = value.join(", ");
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > LONG ? `${text.slice(0, LONG)}…` : text;
}

function within(duration) {
  return duration < 0.0005 ? "at once" : `in ${seconds(duration)}`;
}

function seconds(duration) {
  if (duration < 0.1) return `${Math.max(0, Math.round(duration * 1000))} ms`;
  if (duration < 60) return `${duration.toFixed(1)} s`;
  return `${Math.floor(duration / 60)}:${String(Math.round(duration % 60)).padStart(2, "0")} min`;
}
