"""Addresses of host names."""

from flare.dns.host_name import HostNameError, check_host_name
from flare.dns.resolve import resolve, resolve_v4, resolve_v6
