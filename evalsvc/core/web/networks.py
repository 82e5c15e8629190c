"""Networks: those who share one count as one in limits for strangers."""

from __future__ import annotations

import ipaddress


def assigned_to_one(network: str) -> str:
    """Return what is assigned to one customer: the /48 of an IPv6 network, which has 65,536 of them."""
    prefix, is_ipv6, _ = network.partition("/")
    return str(ipaddress.ip_network((prefix, 48), strict=False)) if is_ipv6 else network


def network(address: str) -> str:
    """Return an IPv4 address itself, even one mapped to IPv6, an IPv6 address's /64 prefix, or “unknown”."""
    try:
        client = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if isinstance(client, ipaddress.IPv6Address) and client.ipv4_mapped is None:
        return str(ipaddress.ip_network((client, 64), strict=False))
    return str(getattr(client, "ipv4_mapped", client))
