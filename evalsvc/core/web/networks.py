"""Networks: those who share one count as one in limits for strangers."""

from __future__ import annotations

import ipaddress


def network(address: str) -> str:
    """Return an IPv4 address itself, even one mapped to IPv6, an IPv6 address's /64 prefix, or “unknown”."""
    try:
        client = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if isinstance(client, ipaddress.IPv6Address) and client.ipv4_mapped is None:
        return str(ipaddress.ip_network((client, 64), strict=False))
    return str(getattr(client, "ipv4_mapped", client))
