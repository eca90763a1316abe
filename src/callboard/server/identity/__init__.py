"""Authentication and admission in front of the application: API keys, tokens, host names, origins and rate limits.

    config = IdentityConfig.from_environment()
    keys = bool(await runtime.store.keys(limit=1))
    if not may_listen(host, config, keys=keys):
        ...  # refuse to start; suggest: callboard keys create, or --no-auth
    app = create_app(runtime, guard=lambda inner: guard(inner, config, runtime.store))

`replace(config, insecure=True)` allows unauthenticated access; `config.listening_on(host)` adds the address on which
the server listens to its host names. Open the store before the first request. The application finds the user in
`scope["state"]["user_id"]` and never sees an `Authorization` header; for public paths (the page, probes, metrics) the
user is the empty string, which owns nothing.
"""

from .config import IdentityConfig, may_listen
from .guard import guard

__all__ = ["IdentityConfig", "guard", "may_listen"]
