"""Fake OpenID Connect provider on a local port."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

ISSUER, CLIENT = "https://id.example.org", "evalsvc-client"


@cache
def own_key() -> rsa.RSAPrivateKey:
    """Return the provider's key, the same for all tests."""
    return rsa.generate_private_key(65537, 2048)


@dataclass
class FakeProvider:
    """Claims of the logged-in user, and the requests received."""

    claims: dict[str, Any] = field(default_factory=lambda: {"sub": "u1", "email": "nora@example.org"})
    tampered: dict[str, Any] = field(default_factory=dict)
    key: rsa.RSAPrivateKey = field(default_factory=own_key)
    signs_with: rsa.RSAPrivateKey | None = None
    algorithm: str = "RS256"
    header: dict[str, Any] = field(default_factory=lambda: {"kid": "k1"})
    answers: dict[str, Any] = field(default_factory=dict)  # in place of its own, by path
    nonce: str = ""
    requests: list[dict[str, list[str]]] = field(default_factory=list)
    url: str = ""

    def id_token(self) -> str:
        claims = {"iss": ISSUER, "aud": CLIENT, "sub": self.claims["sub"], "nonce": self.nonce}
        claims |= {"iat": int(time.time()), "exp": int(time.time()) + 60} | self.tampered
        claims = {name: value for name, value in claims.items() if value is not ...}
        key = None if self.algorithm == "none" else self.signs_with or self.key
        return jwt.encode(claims, key, algorithm=self.algorithm, headers=self.header)

    def jwks(self) -> dict[str, Any]:
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        return {"keys": [public | {"kid": "k1", "alg": "RS256", "use": "sig"}]}

    def answer(self, path: str) -> Any:
        if path in self.answers:
            return self.answers[path]
        if path == "/token":
            return {"access_token": "a", "id_token": self.id_token(), "token_type": "Bearer"}
        return self.jwks() if path == "/jwks" else self.claims


@contextmanager
def running() -> Iterator[FakeProvider]:
    provider = FakeProvider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = provider.answer(urlsplit(self.path).path)
            body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with suppress(ConnectionError):  # who reads too much of it closes the connection
                self.wfile.write(body)

        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["Content-Length"])).decode()
            provider.requests.append(parse_qs(sent))
            self.do_GET()

        def log_message(self, *args: Any) -> None:
            """Keep the tests quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
