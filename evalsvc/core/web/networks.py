"""Networks: those who share one count as one in limits for strangers."""

from __future__ import annotations

import ipaddress


def network(address: str) -> str:
    """Return an IPv4 address itself, an IPv6 address's /64 prefix, or “unknown”."""
    try:
        client = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    return str(ipaddress.ip_network((client, 64), strict=False)) if client.version == 6 else str(client)
