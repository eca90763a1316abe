// The card of a call: its tool, arguments, progress and result, and its request to the person.

import { button, make, write } from "./elements.js";
import { answerForm, json, title } from "./forms.js";

const STATUS_LABELS = {
  pending: "queued",
  validating: "starting",
  executing: "running",
  retrying: "retrying",
  waiting: "waiting for you",
  succeeded: "done",
  failed: "failed",
  cancelled: "cancelled",
  rejected: "rejected",
  expired: "not answered in time",
};
const DECISIONS = {
  approved: "Approved",
  rejected: "Rejected",
  answered: "Answered",
  confirmed: "Confirmed by the wallet",
  failed: "Failed in the wallet",
};
const ENDED = new Set(["succeeded", "failed", "cancelled", "rejected", "expired"]);
const NEUTRAL = new Set(["rejected", "expired"]);
const LONG = 400;
const PARTIALS = 50; // the newest partial results on a card

export class Card {
  /** `act` has `cancel(executionId)` and `answer(request, answer)`, both of which may throw a `Problem`. */
  constructor(call, act) {
    this.act = act;
    this.name = make("strong", {}, call.tool);
    this.status = make("span", { class: "status" });
    this.cancel = button("Cancel", "quiet", () => this.#cancel(call));
    this.cancel.setAttribute("aria-label", `Cancel ${call.tool}`);
    this.bar = make("progress", { max: "1", "aria-label": `Progress of ${call.tool}` });
    this.progress = make("p", { class: "stage" });
    this.retryErrors = make("ul", { class: "retry-errors" });
    this.partials = make("ul", { class: "partials" });
    this.decision = make("div", { class: "decision" });
    this.request = make("div", { class: "request" });
    this.result = make("div", { class: "result" });
    this.problem = make("p", { class: "notice error", role: "alert" });
    this.problem.hidden = true;
    this.element = make(
      "article",
      { class: "card", "aria-label": `Call of ${call.tool}` },
      make("header", {}, this.name, this.status, this.cancel),
      facts(call.arguments),
      this.bar,
      this.progress,
      this.retryErrors,
      this.partials,
      this.decision,
      this.request,
      this.result,
      this.problem,
    );
    this.update(call);
  }

  update(call) {
    const ended = ENDED.has(call.status);
    this.element.dataset.status = call.status;
    const attempt = call.attempt > 1 || call.errors.length ? ` (attempt ${call.attempt} of ${call.maximum})` : "";
    const timed = ended && !NEUTRAL.has(call.status) && Number.isFinite(call.seconds);
    const spent = timed ? ` in ${seconds(call.seconds)}` : "";
    write(this.status, (STATUS_LABELS[call.status] ?? call.status) + attempt + spent);
    this.cancel.hidden = ended || !call.executionId;
    this.#showProgress(call, ended);
    this.#list(this.retryErrors, call.errors.map((error) => `${error.category}: ${error.message}`));
    const hidden = Math.max(0, call.partials.length - PARTIALS);
    this.#list(this.partials, [...(hidden ? [`${hidden} earlier`] : []), ...call.partials.slice(hidden).map(short)]);
    this.#showDecision(call.decision);
    this.#showRequest(call);
    this.#showResult(call, ended);
  }

  #showProgress(call, ended) {
    const running = ["executing", "retrying", "pending", "validating"].includes(call.status);
    this.bar.hidden = ended || !running;
    const measured = Number.isFinite(call.fraction);
    if (measured) this.bar.value = call.fraction;
    else this.bar.removeAttribute("value");
    const percent = measured ? ` ${Math.floor(call.fraction * 100)}%` : "";
    const retry = call.status === "retrying" && call.retryIn ? `Next attempt in ${seconds(call.retryIn)}.` : "";
    const stage = call.stage ? `${title(call.stage)}${percent}${call.message ? `: ${call.message}` : ""}` : "";
    write(this.progress, ended ? "" : retry || stage);
    this.progress.hidden = !this.progress.textContent;
  }

  #list(element, texts) {
    while (element.children.length > texts.length) element.lastChild.remove();
    texts.forEach((text, place) => {
      if (element.children[place]) write(element.children[place], text);
      else element.append(make("li", {}, text));
    });
    element.hidden = !texts.length;
  }

  /** Show a person's decision, its time, and the changed arguments. */
  #showDecision(decision) {
    this.decision.hidden = !decision;
    const encoded = JSON.stringify(decision ?? null);
    if (!decision || this.shownDecision === encoded) return;
    this.shownDecision = encoded;
    const waited = decision.waited === null ? "" : ` after ${seconds(decision.waited)}`;
    const what = `${DECISIONS[decision.what]}${decision.edited ? " with changes" : ""}${waited}`;
    this.decision.dataset.what = decision.what;
    this.decision.replaceChildren(make("p", { title: new Date(decision.at).toLocaleString() }, what));
    if (decision.edited && !decision.changes.length) this.decision.append(make("p", { class: "hint" }, "The arguments are unchanged."));
    if (!decision.changes.length) return;
    const list = make("dl", { class: "facts" });
    for (const [name, before, after] of decision.changes) {
      const was = make("del", {}, make("span", { class: "hidden" }, "was "), short(before ?? null));
      const is = make("ins", {}, make("span", { class: "hidden" }, "is "), short(after ?? null));
      list.append(make("dt", {}, title(name)), make("dd", {}, was, " → ", is));
    }
    this.decision.append(list);
  }

  #showResult(call, ended) {
    if (!ended || this.shownResult === call.status) return;
    this.shownResult = call.status;
    if (call.error && call.status !== "succeeded") {
      const kind = NEUTRAL.has(call.status) ? "value" : "failure";
      this.result.replaceChildren(make("p", { class: kind }, call.error.message ?? String(call.error)));
    } else if (call.value !== undefined && call.value !== null) this.result.replaceChildren(facts(call.value, true));
  }

  // Requests to the person

  #showRequest(call) {
    const id = call.request?.id ?? null;
    if (this.requestId === id) return;
    this.requestId = id;
    this.problem.hidden = true;
    if (id === null) {
      const hadFocus = this.focused || this.request.contains(document.activeElement);
      this.request.replaceChildren();
      if (hadFocus) document.getElementById("message")?.focus();
      return;
    }
    const approval = call.request.purpose === "approval";
    this.request.replaceChildren(...(approval ? this.#approval(call) : this.#question(call)));
  }

  #approval(call) {
    const request = call.request;
    const question = make("p", { class: "question" }, "Allow this call?");
    const more = make("div", { class: "more" });
    const choices = make("div", { class: "choices", role: "group", "aria-label": `Answer to ${call.tool}` });
    const send = (answer) => this.#answer(request, answer);
    /** Replace the choices with a form, so that there is always one way to approve, which sends the visible arguments. */
    const openForm = (opener, prompt, form, label, kind, answer) => {
      const given = make("form", {}, form.element);
      const back = () => {
        more.replaceChildren();
        choices.hidden = false;
        write(question, "Allow this call?");
        this.#showProblem("");
        opener.focus();
      };
      given.append(make("button", { type: "submit", class: kind }, label), button("Back", "quiet", back));
      given.addEventListener("submit", (event) => {
        event.preventDefault();
        this.#try(() => send(answer(form.read())));
      });
      given.addEventListener("keydown", (event) => event.key === "Escape" && (event.stopPropagation(), back()));
      choices.hidden = true;
      write(question, prompt);
      this.#showProblem("");
      more.replaceChildren(given);
      given.querySelector("textarea, input")?.focus();
    };
    const reason = () => answerForm({ type: "object", properties: { reason: { type: "string", description: "The model sees your reason and can try something else." } } });
    const reject = button("Reject…", "stop", () =>
      openForm(reject, "Why do you reject this call?", reason(), "Reject", "stop", (given) => ({ approved: false, ...given })),
    );
    const edit = button("Edit…", "quiet", () =>
      openForm(edit, "Edit the arguments of this call", json("Arguments (JSON)", request.payload), "Approve with these", "yes", (given) => ({
        approved: true,
        arguments: given,
      })),
    );
    choices.append(button("Approve", "yes", () => send({ approved: true })), reject, edit);
    return [question, choices, more];
  }

  #question(call) {
    const form = answerForm(call.request.schema);
    const given = make("form", {}, form.element, make("button", { type: "submit", class: "send" }, "Answer"));
    given.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#try(() => this.#answer(call.request, form.read()));
    });
    return [make("p", { class: "question" }, "What is your answer?"), given];
  }

  #try(action) {
    try {
      action();
    } catch (error) {
      this.#showProblem(error.message);
    }
  }

  #showProblem(text) {
    this.problem.hidden = !text;
    write(this.problem, text);
  }

  async #answer(request, answer) {
    this.#setBusy(true);
    try {
      await this.act.answer(request, answer);
      this.#showProblem("");
    } catch (problem) {
      const wrong = (problem.errors ?? []).map((each) => `${each.path || each.pointer || "answer"}: ${each.message ?? each.detail}`);
      this.#showProblem(wrong.length ? wrong.join(" ") : problem.message);
    } finally {
      this.#setBusy(false);
    }
  }

  async #cancel(call) {
    this.cancel.disabled = true;
    try {
      await this.act.cancel(call.executionId);
    } catch (problem) {
      this.#showProblem(problem.message);
    } finally {
      this.cancel.disabled = false;
    }
  }

  /** Disable the buttons, and restore the focus that a disabled button loses. */
  #setBusy(busy) {
    if (busy) this.focused = this.request.contains(document.activeElement) ? document.activeElement : null;
    for (const each of this.request.querySelectorAll("button")) each.disabled = busy;
    if (busy) return;
    if (this.focused?.isConnected) this.focused.focus({ preventScroll: true });
    this.focused = null;
  }

  /** The direction to scroll to its question, empty if it is visible. */
  get direction() {
    const place = this.request.getBoundingClientRect();
    if (place.bottom <= 80) return "↑";
    return place.top >= innerHeight - 120 ? "↓" : "";
  }

  /** Scroll to its question and focus it. */
  focus() {
    this.element.scrollIntoView({ block: "center", behavior: "smooth" });
    this.request.querySelector("button, input, select, textarea")?.focus({ preventScroll: true });
  }
}

/** A value for people: fields with their names, anything else as text. A long text can be expanded. */
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

function seconds(duration) {
  if (duration < 0.001) return "under 1 ms";
  if (duration < 0.1) return `${Math.round(duration * 1000)} ms`;
  if (duration < 60) return `${duration.toFixed(1)} s`;
  return `${Math.floor(duration / 60)}:${String(Math.round(duration % 60)).padStart(2, "0")} min`;
}
