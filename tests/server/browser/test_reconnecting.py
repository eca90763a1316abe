"""The notice of a lost connection: not for a short cut, and soon for a long one."""

import pytest

from tests.server.browser.tab import Tab

PATIENCE = 2_000
"""Milliseconds for which a cut shows no notice."""
ATTEMPTS = 5
"""Cuts, of which one has to be short: a busy machine may take long to reconnect."""
CUTS = """
  const real = window.fetch;
  let stream = new AbortController();
  window.isDown = false;
  window.cut = () => stream.abort();
  window.fetch = (url, init = {}) => {
    if (window.isDown) return Promise.reject(new TypeError("The network is down."));
    if (!String(url).includes("/api/chat/stream")) return real(url, init);
    stream = new AbortController();
    return real(url, { ...init, signal: AbortSignal.any([init.signal, stream.signal]) });
  };
"""
RECORD = """void (() => {
  window.seenStates = [];
  const look = () => {
    const { state, shown } = $('#connection').dataset;
    seenStates.push({ at: performance.now(), state, shown, text: $('#connection-text').textContent });
  };
  const watched = { attributes: true, childList: true, characterData: true, subtree: true };
  new MutationObserver(look).observe($('#connection'), watched);
})()"""
CONNECTED = "$('#connection').dataset.state === 'connected'"
CUT = """(async () => {
  seenStates.length = 0;
  cut();
  const until = async (condition) => {
    while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  await until(() => seenStates.some(({ state }) => state !== 'connected'));
  const start = seenStates[0].at;
  await until(() => $('#connection').dataset.state === 'connected');
  return [performance.now() - start, seenStates.filter(({ shown }) => shown !== 'connected').length];
})()"""


@pytest.fixture
def cuttable(offline: str, tab: Tab) -> Tab:
    """Open a conversation whose connection can be cut."""
    tab.call("Page.addScriptToEvaluateOnNewDocument", source=CUTS)
    tab.open(offline)
    tab.say("what is 1 + 1")
    tab.until_model_said("= 2.")
    tab.see(RECORD)
    return tab


def test_w4_short_cut_of_the_connection_shows_no_notice(cuttable: Tab) -> None:
    for _ in range(ATTEMPTS):
        lasted, notices = cuttable.see(CUT)
        if lasted < PATIENCE:
            assert notices == 0
            break
    else:
        pytest.fail("no connection was restored soon enough")
    assert cuttable.see("$('#connection-text').textContent") == "connected"
    cuttable.say("what is 2 + 2")
    cuttable.until_model_said("= 4.")


def test_w4_long_cut_is_shown_soon_and_its_end_too(cuttable: Tab) -> None:
    start = "window.isDown = true, seenStates.length = 0, window.cutAt = performance.now(), cut(), true"
    cuttable.until(f"{CONNECTED} && ({start})")
    cuttable.until("seenStates.some(({ shown }) => shown !== 'connected')")
    took = "seenStates.find(({ shown }) => shown !== 'connected').at - cutAt"
    assert PATIENCE * 0.8 < cuttable.see(took) < 5_000
    assert cuttable.see("seen($('#connection-text')) && $('#connection-text').textContent !== 'connected'")
    cuttable.see("void (window.isDown = false)")
    cuttable.see("seen($('#reconnect')) && $('#reconnect').click()")
    cuttable.until("$('#connection').dataset.shown === 'connected'")
