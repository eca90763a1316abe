"""The configuration of authentication and admission (H5)."""

import pytest

from callboard.errors import SettingsError
from callboard.server.identity import IdentityConfig
from callboard.server.identity.config import ALGORITHMS


def test_defaults_are_for_a_single_local_user() -> None:
    config = IdentityConfig.from_environment({})
    assert config == IdentityConfig()
    assert (config.hosts, config.origins, config.jwks, config.insecure, config.open_metrics) == (
        (),
        (),
        None,
        False,
        False,
    )
    assert not [name for name in ALGORITHMS if name.startswith("HS") or name == "none"]


def test_settings_are_read_from_the_environment() -> None:
    config = IdentityConfig.from_environment(
        {
            "CALLBOARD_HOSTS": "board.example.com, *.example.org,",
            "CALLBOARD_ORIGINS": "https://app.example.com",
            "CALLBOARD_JWKS": " https://issuer.example/keys ",
            "CALLBOARD_JWT_AUDIENCE": "board",
            "CALLBOARD_JWT_ISSUER": "https://issuer.example",
            "CALLBOARD_JWT_ALGORITHMS": "ES256,EdDSA",
            "CALLBOARD_JWT_USER_CLAIM": "email",
            "CALLBOARD_RATE_LIMIT": "0",
            "CALLBOARD_OPEN_METRICS": "yes",
            "CALLBOARD_SOMETHING_ELSE": "x",
        }
    )
    assert config == IdentityConfig(
        hosts=("board.example.com", "*.example.org"),
        origins=("https://app.example.com",),
        jwks="https://issuer.example/keys",
        jwt_audience=("board",),
        jwt_issuer="https://issuer.example",
        jwt_algorithms=("ES256", "EdDSA"),
        jwt_user_claim="email",
        rate_limit=0,
        open_metrics=True,
    )


def test_empty_variable_is_the_default() -> None:
    names = ("HOSTS", "JWKS", "JWT_USER_CLAIM", "INSECURE")
    empty = {f"CALLBOARD_{name}": "" for name in names}
    assert IdentityConfig.from_environment(empty) == IdentityConfig()


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"CALLBOARD_HOSTS": "https://a"}, "The host 'https://a' is not valid."),
        ({"CALLBOARD_ORIGINS": "*"}, "The origin '*' is not valid."),
        ({"CALLBOARD_ORIGINS": "app.example.com"}, "is not valid"),
        ({"CALLBOARD_ORIGINS": "https://a/b"}, "is not valid"),
        ({"CALLBOARD_JWT_ALGORITHMS": "HS256"}, "The algorithm 'HS256' is not supported."),
        ({"CALLBOARD_JWT_ALGORITHMS": "none"}, "The algorithm 'none' is not supported."),
        ({"CALLBOARD_JWKS": "keys.json"}, "jwt_audience must name the accepted audiences"),
        ({"CALLBOARD_JWKS": "http://issuer.example/keys", "CALLBOARD_JWT_AUDIENCE": "a"}, "begins with https://"),
        ({"CALLBOARD_JWKS": "ftp://issuer.example/keys", "CALLBOARD_JWT_AUDIENCE": "a"}, "begins with https://"),
        ({"CALLBOARD_RATE_LIMIT": "many"}, "CALLBOARD_RATE_LIMIT is 'many'; it must be a whole number."),
        ({"CALLBOARD_RATE_LIMIT": "-1"}, "The setting rate_limit is -1; it must be at least 0."),
        ({"CALLBOARD_RATE_BURST": "0"}, "rate_burst is 0"),
        ({"CALLBOARD_JWT_LEEWAY": "3600"}, "at most 300"),
        ({"CALLBOARD_INSECURE": "maybe"}, "CALLBOARD_INSECURE is 'maybe'"),
    ],
)
def test_h5_invalid_settings_are_refused(environment: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        IdentityConfig.from_environment(environment)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("host", "hosts"),
    [
        ("192.168.1.5", ("a", "192.168.1.5")),
        ("fe80::1", ("a", "[fe80::1]")),
        ("board.local", ("a", "board.local")),
        ("127.0.0.1", ("a",)),
        ("0.0.0.0", ("a",)),
        ("::", ("a",)),
    ],
)
def test_listening_address_is_a_host_name_of_the_server(host: str, hosts: tuple[str, ...]) -> None:
    assert IdentityConfig(hosts=("a",)).listening_on(host).hosts == hosts
