// The history of a call, computed from its events: attempts, errors, partial results, a person's decision, and times.
// No DOM, no network.

/** Compute the history of a call from its events in order. Each has `kind`, `at` and `data`. */
export function callHistory(events) {
  const history = { attempts: [], errors: [], partials: [], decision: null, seconds: null, started: false };
  Object.assign(history, { stage: "", message: "", fraction: null, retryIn: null });
  let attempt = null;
  let request = null;
  for (const { kind, at, data } of events) {
    if (kind === "tool_started") history.started = true;
    else if (kind === "tool_executing") {
      attempt = { number: data.attempt, maximum: data.maximum, at, partials: [] };
      history.attempts.push(attempt); // the partial results of an earlier attempt are produced again
      Object.assign(history, { stage: "", message: "", fraction: null, retryIn: null, partials: attempt.partials });
    } else if (kind === "tool_progress") {
      Object.assign(history, { stage: data.stage, message: data.message ?? "", fraction: data.fraction ?? null });
    } else if (kind === "tool_partial") (attempt?.partials ?? history.partials).push(data.value);
    else if (kind === "tool_retrying") {
      history.errors.push(data.error);
      history.retryIn = data.delay;
    } else if (kind === "human_request" || kind === "wallet_tx_request") request = { at, payload: data.payload };
    else if (kind === "human_answer" || kind === "wallet_tx_response") {
      history.decision = decisionOf(kind === "human_answer" ? data.answer : data, request, at);
    } else if (kind === "tool_result") {
      history.seconds = history.attempts.length ? elapsed(history.attempts[0].at, at) : null;
      history.fraction = null;
    }
  }
  return history;
}

function decisionOf(answer, request, at) {
  const waited = request ? elapsed(request.at, at) : null;
  const given = answer && typeof answer === "object" ? answer : {};
  if (typeof given.approved === "boolean") {
    const changes = given.approved && given.arguments ? changed(request?.payload ?? {}, given.arguments) : [];
    return { what: given.approved ? "approved" : "rejected", edited: Boolean(given.approved && given.arguments), changes, waited, at };
  }
  const what = ["confirmed", "rejected", "failed"].includes(given.status) ? given.status : "answered";
  return { what, edited: false, changes: [], waited, at };
}

/** The fields in which two objects differ: `[name, before, after]`. */
function changed(before, after) {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  return names
    .map((name) => [name, before?.[name], after?.[name]])
    .filter(([, one, other]) => JSON.stringify(one) !== JSON.stringify(other));
}

const elapsed = (from, to) => Math.max(0, (Date.parse(to) - Date.parse(from)) / 1000);
