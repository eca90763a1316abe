"""The address of a NATS deployment: servers, credentials and the name of the deployment."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote

from ....addresses import split_address
from ....execution.engine import EngineError

DEFAULT_NAME = "callboard"
_OPTIONS = {"creds", "ca", "cert", "key", "replicas"}


@dataclass(frozen=True, slots=True)
class NatsAddress:
    """An address such as `nats://user:password@a:4222,nats://b:4222/name?creds=/etc/callboard.creds`.

    The path is the name of the deployment: processes with the same name share queues, and need the same store. Options:
    `creds` (a credentials file), `ca`, `cert` and `key` (files for TLS), `replicas` (of the stream, in a cluster).
    """

    servers: tuple[str, ...]
    name: str
    query: Mapping[str, str]

    @classmethod
    def parse(cls, url: str) -> "NatsAddress":
        servers: list[str] = []
        name, query = "", dict[str, str]()
        for part in url.split(","):
            server = part.strip() if "://" in part else f"nats://{part.strip()}"
            split = split_address(server, "The address of NATS", EngineError)
            host, port = split.hostname, split.port
            if not host:
                raise EngineError("The address of NATS names no host. Use nats://host:4222.")
            user = f"{split.netloc.rpartition('@')[0]}@" if "@" in split.netloc else ""
            servers.append(f"{split.scheme}://{user}{host if ':' not in host else f'[{host}]'}:{port or 4222}")
            name = name or unquote(split.path.strip("/"))
            query |= {key: values[-1] for key, values in parse_qs(split.query).items()}
        if unknown := query.keys() - _OPTIONS:
            raise EngineError(
                f"The address of NATS has the option {min(unknown)!r}. The options are {', '.join(sorted(_OPTIONS))}."
            )
        name = name or DEFAULT_NAME
        if "@" in name:  # of a password with a slash
            raise EngineError("The address of NATS has @ in its path. Write / in a password as %2F.")
        if not name.replace("-", "").replace("_", "").isalnum() or not name.isascii():
            raise EngineError(f"The name {name!r} of the deployment may have letters, digits, '_' and '-' only.")
        if not query.get("replicas", "1").isdigit():
            raise EngineError("The option replicas of the address of NATS must be a number.")
        return cls(tuple(servers), name, query)

    @property
    def shown(self) -> str:
        """The servers without credentials."""
        return ", ".join(server.partition("://")[2].rpartition("@")[2] for server in self.servers)

    @property
    def replicas(self) -> int:
        return max(1, int(self.query.get("replicas", "1")))

    def options(self) -> dict[str, Any]:
        """Return the options of a connection. Raises `EngineError` if a file cannot be read."""
        made: dict[str, Any] = {"servers": list(self.servers)}
        for option in ("creds", "ca", "cert", "key"):
            if (path := self.query.get(option)) and not Path(path).is_file():
                raise EngineError(f"The file of the option {option} of the address of NATS does not exist.")
        if creds := self.query.get("creds"):
            made["user_credentials"] = creds
        if "ca" in self.query or "cert" in self.query:
            try:
                context = ssl.create_default_context(cafile=self.query.get("ca"))
                if cert := self.query.get("cert"):
                    context.load_cert_chain(cert, self.query.get("key"))
            except (ssl.SSLError, OSError) as error:
                raise EngineError(f"The certificates of the address of NATS cannot be used: {error}.") from None
            made["tls"] = context
        return made
