"""Who asks the server, and whether he may: keys, tokens, names, origins and limits, in front of the application.

    config = IdentityConfig.from_environment()
    keys = bool(await runtime.store.keys(limit=1))
    if not may_listen(host, config, keys=keys):
        ...  # refuse to start; say: callboard keys create, or --no-auth
    app = create_app(runtime, guard=lambda inner: guard(inner, config, runtime.store))

A flag that forces it is `replace(config, insecure=True)`; `config.listening_on(host)` is the configuration of a server
that is reached under the address that it listens on. The store has to be open when the first request comes. The
application finds the user in
`scope["state"]["user_id"]` and never sees an `Authorization` header; where nobody needs to be known (the page, probes,
metrics), the user is the empty text, who owns nothing.
"""

from .addresses import may_listen
from .config import LOCAL, IdentityConfig
from .guard import PUBLIC, guard

__all__ = ["LOCAL", "PUBLIC", "IdentityConfig", "guard", "may_listen"]
