"""Functions that bind an address and serve a site there, by default for this machine alone."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from ipaddress import ip_address

from starlette.types import ASGIApp

from malaprop.core.errors import SettingError
from malaprop.frame.web.middleware import LOCAL, KnownHosts

_OPEN_TO_ALL = (
    "exposed: whoever reaches {host}:{port} can use this site, and what is typed travels unencrypted; "
    "put it behind a proxy with TLS, and stop it when you are done"
)


def is_local(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host in LOCAL:
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def bind(host: str, port: int, *, expose: bool = False) -> socket.socket:
    """Return a listening socket; port 0 takes a free port. An address that others can reach needs `expose`."""
    if not is_local(host) and not expose:
        raise SettingError(
            f"host {host} can be reached by other machines; pass --expose if that is meant, or use 127.0.0.1"
        )
    if not 0 <= port <= 65_535:
        raise SettingError(f"a port is a number from 0 to 65535, got {port}; 0 takes a free one")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError:
        raise SettingError(f"host {host!r} is not an address of this machine; use 127.0.0.1") from None
    family, kind, protocol, _, address = found[0]
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(128)  # listen now, so that another server on the port is detected here
    except OSError as error:
        listener.close()
        raise _cannot(host, port, error) from None
    return listener


def _cannot(host: str, port: int, error: OSError) -> SettingError:
    if error.errno == errno.EADDRINUSE:
        return SettingError(f"port {port} is in use on {host}; stop what uses it, or choose another with --port")
    if error.errno in (errno.EACCES, errno.EPERM):
        return SettingError(f"port {port} on {host} needs rights this user does not have; choose one above 1023")
    return SettingError(f"cannot listen on {host}:{port}: {error.strerror or error}; choose another --host or --port")


def serve(
    app: ASGIApp,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    expose: bool = False,
    path: str = "/",
    say: Callable[[str], None] = print,
    listening: socket.socket | None = None,
) -> None:
    """Serve the site until Ctrl-C. Without `expose`, requests for any host name but this machine's are refused.

    `say` is called with the address to open, and with `expose` with a warning. `listening` is a socket from `bind`, for
    callers that check that the port is free before long work.
    """
    import uvicorn

    opened = bind(host, port, expose=expose) if listening is None else listening
    number = opened.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    if expose:
        say(_OPEN_TO_ALL.format(host=shown, port=number))
    say(f"open http://{shown}:{number}{path} (Ctrl-C stops)")
    config = uvicorn.Config(
        app if expose else KnownHosts(app, names=LOCAL | {host}),
        log_level="warning",
        access_log=False,  # links hold secrets
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=3,
        limit_concurrency=512,
        h11_max_incomplete_event_size=32 * 1024,
    )
    try:
        uvicorn.Server(config).run(sockets=[opened])
    except KeyboardInterrupt:
        pass
    finally:
        opened.close()
