"""`<ag-ui-agent>` in a real browser, on the real server's own origin, with its `/ag-ui` and the offline model."""

import json
import secrets
from collections.abc import Callable
from typing import Any

import pytest

from tests.server.browser.tab import Tab

SETUP = """(async () => {
  const { AgUiAgent, ToolRegistry, helloTool, z, ...rest } = await import("/ag-ui-agent.js");
  Object.assign(window, { AgUiAgent, ToolRegistry, helloTool, z, callboard: rest, told: [], counts: {} });
  const kinds = ["run-started", "run-finished", "run-error", "interrupt", "messages-changed", "tool-call-start",
    "tool-call-args", "tool-call-end", "tool-call-error", "tool-call-pending", "tool-status-changed", "agent-ready"];
  for (const kind of kinds) {
    document.addEventListener(`ag-ui-${kind}`, ({ detail }) => told.push([kind, detail]));
  }
  window.agent = document.createElement("ag-ui-agent");
  agent.setAttribute("url", "/ag-ui");
  agent.setAttribute("thread-id", THREAD);
  document.body.append(agent);
  return agent instanceof AgUiAgent;
})()"""


@pytest.fixture
def thread() -> str:
    return f"t-{secrets.token_hex(6)}"


@pytest.fixture
def agent(offline: str, tab: Tab, thread: str) -> Tab:
    """A tab on the server's page with an agent in it: `agent`, its events in `told`."""
    open_agent(tab, offline, thread)
    return tab


def open_agent(tab: Tab, url: str, thread: str) -> None:
    tab.open(url)
    assert tab.see(SETUP.replace("THREAD", json.dumps(thread))) is True


def kinds(tab: Tab) -> list[str]:
    """Return the events so far, without those that repeat while text arrives."""
    return tab.see("told.map(([kind]) => kind).filter((kind) => kind !== 'messages-changed')")


def results(tab: Tab, url: str, thread: str) -> list[Any]:
    """Return the results of calls in the server's transcript."""
    texts = tab.see(f"""fetch("{url}/api/messages?session_id={thread}&limit=500").then((response) => response.json())
      .then(({{ messages }}) => messages.filter(({{ role }}) => role === "tool").map(({{ content }}) => content))""")
    return [json.loads(text) if text.startswith("{") else text for text in texts]


def define(tab: Tab, name: str, handler: str, *, idempotent: bool = False) -> None:
    """Lend a tool to the agent."""
    tab.see(f"""agent.registerTool({{
      name: "{name}", description: "A tool of the page.", schema: z.object({{ n: z.int().optional() }}),
      metadata: {{ idempotent: {json.dumps(idempotent)} }}, handler: {handler},
    }})""")


def test_w2_model_calls_a_tool_of_the_page_and_gets_its_result(agent: Tab, offline: str, thread: str) -> None:
    agent.see("agent.registerTool(helloTool)")
    assert agent.see("""agent.run('hello {"name": "Ada", "language": "fr"}')""") == {"outcome": "success"}
    assert results(agent, offline, thread) == ["Bonjour, Ada!"]
    assert "Bonjour, Ada!" in agent.see("agent.messages.at(-1).content")
    assert kinds(agent) == [
        *("agent-ready", "run-started", "tool-call-start", "tool-call-args", "run-finished"),
        *["tool-status-changed"] * 4,
        *("tool-call-end", "run-started", "run-finished"),
    ]
    end = agent.see("told.find(([kind]) => kind === 'tool-call-end')[1]")
    assert (end["toolCallName"], end["result"]) == ("hello", "Bonjour, Ada!")
    assert end["execution"]["status"] == "succeeded"
    assert end["execution"]["args"] == {"name": "Ada", "language": "fr"}
    statuses = agent.see("told.filter(([kind]) => kind === 'tool-status-changed').map(([, { status }]) => status)")
    assert statuses == ["pending", "validating", "executing", "succeeded"]
    assert agent.see("agent.manager.stats('hello').successes") == 1


def test_w2_model_is_told_why_a_tool_of_the_page_failed(agent: Tab, offline: str, thread: str) -> None:
    handler = """() => { throw new callboard.ToolError("The card was declined.", { category: "permanent" }); }"""
    define(agent, "pay", handler)
    assert agent.see("agent.run('pay {}')") == {"outcome": "success"}
    [result] = results(agent, offline, thread)
    assert result == {
        "error": "The card was declined.",
        "content": {"category": "permanent", "message": "The card was declined."},
    }
    error = agent.see("told.find(([kind]) => kind === 'tool-call-error')[1]")
    assert error["error"]["category"] == "permanent"
    assert error["execution"]["status"] == "failed"


def test_w2_tool_is_tried_again_if_nothing_was_done(agent: Tab) -> None:
    agent.see("document.addEventListener('ag-ui-tool-retrying', ({ detail }) => told.push(['tool-retrying', detail]))")
    handler = """(_, { attemptNumber }) => {
      if (attemptNumber === 1) throw new callboard.ToolError("busy", { category: "transient", retryable: true });
      return `attempt ${attemptNumber}`;
    }"""
    agent.see(f"""agent.registerTool({{
      name: "press", description: "Press.", schema: z.object({{}}), handler: {handler},
      metadata: {{ retryConfig: {{ baseDelayMs: 1 }} }},
    }})""")
    assert agent.see("agent.run('press {}')") == {"outcome": "success"}
    retrying = agent.see("told.find(([kind]) => kind === 'tool-retrying')[1]")
    assert (retrying["attempt"], retrying["maximum"], retrying["toolCallName"]) == (1, 3, "press")
    assert retrying["delayMs"] < 1
    assert agent.see("told.find(([kind]) => kind === 'tool-call-end')[1].result") == "attempt 2"


def test_w2_interrupt_is_resumed_with_an_approval(agent: Tab, offline: str, thread: str) -> None:
    run = agent.see("""agent.run('send_payment {"to": "Ada", "amount": "5"}')""")
    assert run["outcome"] == "interrupt"
    [interrupt] = run["interrupts"]
    assert agent.see("told.find(([kind]) => kind === 'interrupt')[1].interrupts.length") == 1
    assert agent.see("agent.run('And?').catch((error) => error.message)") == "Interrupts wait for answers: call resume."
    answer = {interrupt["id"]: {"status": "resolved", "payload": {"approved": True}}}
    assert agent.see(f"agent.resume({json.dumps(answer)})") == {"outcome": "success"}
    [receipt] = results(agent, offline, thread)
    assert (receipt["to"], receipt["amount"]) == ("Ada", "5.00")
    end = agent.see("told.find(([kind]) => kind === 'tool-call-end')[1]")
    assert end["toolCallName"] == "send_payment"
    assert "execution" not in end  # it ran on the server


def test_w2_abort_cancels_the_tool_and_the_model_is_told_with_the_next_run(
    agent: Tab, offline: str, thread: str
) -> None:
    agent.see("agent.registerTool(helloTool)")
    handler = "(_, { signal }) => new Promise(() => signal.addEventListener('abort', () => counts.aborted = 1))"
    define(agent, "wait", handler)
    agent.see("void (window.run = agent.run('wait {}'))")
    agent.until("told.some(([kind, detail]) => kind === 'tool-status-changed' && detail.status === 'executing')")
    agent.see("agent.abort()")
    assert agent.see("run") == {"outcome": "aborted"}
    assert agent.see("counts.aborted") == 1
    assert agent.see("told.find(([kind]) => kind === 'tool-call-error')[1].execution.status") == "cancelled"
    assert results(agent, offline, thread) == []
    assert agent.see("""agent.run('hello {"name": "Ada"}')""") == {"outcome": "success"}
    cancelled, greeting = results(agent, offline, thread)
    assert cancelled["content"]["category"] == "cancelled"
    assert greeting == "Hello, Ada!"


@pytest.mark.parametrize("idempotent", [True, False])
def test_w2_call_that_a_reload_interrupted_runs_again_only_if_that_is_safe(
    agent: Tab, offline: str, thread: str, idempotent: bool
) -> None:
    define(agent, "pay", "() => new Promise(() => {})", idempotent=idempotent)
    agent.see("void agent.run('pay {}')")
    agent.until("told.some(([kind, detail]) => kind === 'tool-status-changed' && detail.status === 'executing')")
    open_agent(agent, offline, thread)  # the page that ran it is gone
    define(agent, "pay", "() => `paid ${counts.pay = (counts.pay ?? 0) + 1}`", idempotent=idempotent)
    run = agent.see("agent.run()")
    if idempotent:
        assert run == {"outcome": "success"}
    else:
        [pending] = run["pendingToolCalls"]
        assert (run["outcome"], pending["toolCallName"], pending["reason"]) == ("pending", "pay", "interrupted")
        assert agent.see("counts.pay ?? 0") == 0
        call_id = json.dumps(pending["toolCallId"])
        assert agent.see(f"agent.answerToolCall({call_id})") == {"outcome": "success"}
    assert agent.see("counts.pay") == 1
    assert results(agent, offline, thread) == ["paid 1"]


def test_w2_page_that_unloads_aborts_its_tools(agent: Tab) -> None:
    note = "() => sessionStorage.aborted = '1'"
    define(agent, "wait", f"(_, {{ signal }}) => new Promise(() => signal.addEventListener('abort', {note}))")
    agent.see("void agent.run('wait {}')")
    agent.until("told.some(([kind, detail]) => kind === 'tool-status-changed' && detail.status === 'executing')")
    agent.reload()
    agent.connected()
    assert agent.see("sessionStorage.aborted") == "1"


def test_w2_tools_register_by_an_event_of_the_document(agent: Tab, offline: str, thread: str) -> None:
    event = "new CustomEvent('ag-ui-tool-register', { detail: { tool: helloTool }, cancelable: true })"
    register = f"document.dispatchEvent({event})"
    assert agent.see(register) is False  # an agent has taken it
    assert agent.see("agent.registry.names()") == ["hello"]
    assert agent.see(register) is False
    assert agent.see("""agent.run('hello {"name": "Ada"}')""") == {"outcome": "success"}
    assert results(agent, offline, thread) == ["Hello, Ada!"]
    agent.see("agent.remove()")
    agent.see("agent.registry.clear()")
    assert agent.see(register) is True  # there is no agent
    agent.see(f"document.addEventListener('ag-ui-agent-ready', () => {register}, {{ once: true }})")
    agent.see("document.body.append(agent)")
    assert agent.see("agent.registry.names()") == ["hello"]


def test_w2_element_that_is_moved_goes_on_and_one_that_is_removed_stops(agent: Tab) -> None:
    agent.see("agent.registerTool(helloTool)")
    define(agent, "wait", "() => new Promise((resolve) => { counts.resolve = resolve; })")
    agent.see("void (window.run = agent.run('wait {}'))")
    agent.until("Boolean(counts.resolve)")
    agent.see("document.body.prepend(agent)")
    agent.see("counts.resolve('moved')")
    assert agent.see("run") == {"outcome": "success"}
    agent.see("void (window.run = agent.run('wait {}'), delete counts.resolve)")
    agent.until("Boolean(counts.resolve)")
    agent.see("agent.remove()")
    assert agent.see("run") == {"outcome": "aborted"}


def test_w2_listener_that_throws_and_a_registry_that_changes_harm_nothing(
    offline: str, tabs: Callable[..., Tab], thread: str
) -> None:
    tab = tabs()
    open_agent(tab, offline, thread)
    tab.see("agent.registerTool(helloTool)")
    tab.see("""(() => {
      const fail = () => { throw new Error("a listener failed"); };
      const kinds = ["started", "validating", "executing", "succeeded"];
      for (const kind of kinds) agent.manager.addEventListener(`tool-execution-${kind}`, fail);
      for (const kind of ["run-started", "tool-status-changed", "tool-call-start", "tool-call-end"]) {
        agent.addEventListener(`ag-ui-${kind}`, fail);
      }
      agent.registry.addEventListener("tool-registry-change", fail);
      agent.addEventListener("ag-ui-tool-call-start", () => agent.registry.clear());
    })()""")
    assert tab.see("""agent.run('hello {"name": "Ada"}')""") == {"outcome": "success"}
    assert results(tab, offline, thread) == ["Hello, Ada!"]
    tab.see("1")
    assert tab.errors
    assert all("a listener failed" in error for error in tab.errors)
    tab.errors.clear()  # the browser reports what listeners throw


def test_w2_agent_that_cannot_be_reached_is_an_error_once(offline: str, tabs: Callable[..., Tab], thread: str) -> None:
    tab = tabs()
    open_agent(tab, offline, thread)
    tab.see("agent.setAttribute('url', '/nowhere')")
    run = tab.see("agent.run('Hi').then(({ outcome, error }) => [outcome, error.message])")
    assert run[0] == "error"
    assert "404" in run[1]
    assert kinds(tab).count("run-error") == 1
    tab.see("1")
    tab.errors.clear()  # the client logs it
