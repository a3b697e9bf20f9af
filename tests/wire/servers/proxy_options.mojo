"""Options of the test servers' command lines that `ReverseProxy` has."""

from flare.http.client import NameResolver
from flare.http.proxy import (
    Balance,
    GroupConfig,
    HostRule,
    ProxyConfig,
    RequestKey,
)
from flare.net import IpAddr
from flare.tls import TlsConfig, TlsIdentity


@fieldwise_init
struct ZoneFile(NameResolver):
    """Finds in a file what addresses names have now: a line each, such as
    `app 127.0.0.2 127.0.0.3`."""

    var path: String

    def resolve(self, host: StringSpan) raises -> List[IpAddr]:
        for line in open(self.path, "r").read().split("\n"):
            var words = line.split(" ")
            if words[0] != host:
                continue
            var found = List[IpAddr]()
            for index in range(1, len(words)):
                found.append(IpAddr.parse(words[index]))
            return found^
        raise Error("there is no such name here")


def set_proxy_option(
    mut config: ProxyConfig, name: String, value: String
) raises -> Bool:
    """Sets a field of a proxy's configuration; False if there is none."""
    if _set_text(config, name, value):
        return True
    if name == "connect_timeout_ms":
        config.connect_timeout_ms = Int(value)
    elif name == "write_timeout_ms":
        config.write_timeout_ms = Int(value)
    elif name == "head_timeout_ms":
        config.head_timeout_ms = Int(value)
    elif name == "idle_timeout_ms":
        config.idle_timeout_ms = Int(value)
    elif name == "max_idle_connections":
        config.max_idle_connections = Int(value)
    elif name == "keep_idle_ms":
        config.keep_idle_ms = Int(value)
    elif name == "max_body_size":
        config.max_body_size = Int(value)
    elif name == "http2":
        config.http2 = value == "1"
    elif name == "http2_prior_knowledge":
        config.http2_prior_knowledge = value == "1"
    elif name == "http2_ping_after_ms":
        config.http2_ping_after_ms = Int(value)
    elif name == "http2_ping_timeout_ms":
        config.http2_ping_timeout_ms = Int(value)
    elif name == "max_header_size":
        config.head_limits.max_header_size = Int(value)
    elif name == "max_fields":
        config.head_limits.max_fields = Int(value)
    else:
        return _set_group(config.group, name, value)
    return True


def _set_text(
    mut config: ProxyConfig, name: String, value: String
) raises -> Bool:
    if name == "ca":
        var identity = config.tls.identity.copy()
        config.tls = TlsConfig(ca_file=value, identity=identity^)
    elif name == "shown_cert":
        config.tls.identity = TlsIdentity(value, value.replace(".pem", ".key"))
    elif name == "insecure":
        config.tls.insecure_skip_verification = value == "1"
    elif name == "key_field":
        config.key = RequestKey.field(value)
    elif name == "key_cookie":
        config.key = RequestKey.cookie(value)
    elif name == "key_path":
        config.key = RequestKey.path()
    elif name == "balance":
        config.group.balance = _balance(value)
    elif name == "zone":
        config.addresses.resolve_with(ZoneFile(value))
    elif name == "response_field":
        var parts = value.split(":", 1)
        config.rules.response.fields.set(parts[0], parts[1])
    elif name == "host_of_upstream":
        config.rules.host = HostRule.UPSTREAM
    elif name == "fixed_host":
        config.rules.host = HostRule.FIXED
        config.rules.fixed_host = value
    elif name == "health_path":
        config.group.health_path = value
    elif name == "health_path_len":
        config.group.health_path = "/" + "h" * (Int(value) - 1)
    elif name == "retried_statuses":
        for status in value.split(","):
            config.group.retried_statuses.append(Int(status))
    else:
        return False
    return True


def _balance(name: String) raises -> Balance:
    if name == "least_requests":
        return Balance.LEAST_REQUESTS
    if name == "consistent_hash":
        return Balance.CONSISTENT_HASH
    raise Error("no such balance: ", name)


def _set_group(
    mut group: GroupConfig, name: String, value: String
) raises -> Bool:
    if name == "failures_to_eject":
        group.failures_to_eject = Int(value)
    elif name == "ejection_ms":
        group.ejection_ms = Int(value)
    elif name == "failure_share_percent":
        group.failure_share_percent = Int(value)
    elif name == "max_requests":
        group.max_requests = Int(value)
    elif name == "lookup_interval_ms":
        group.lookup_interval_ms = Int(value)
    elif name == "max_connection_age_ms":
        group.max_connection_age_ms = Int(value)
    elif name == "queue_timeout_ms":
        group.queue_timeout_ms = Int(value)
    elif name == "max_queued_requests":
        group.max_queued_requests = Int(value)
    elif name == "failures_to_open":
        group.failures_to_open = Int(value)
    elif name == "open_ms":
        group.open_ms = Int(value)
    elif name == "health_interval_ms":
        group.health_interval_ms = Int(value)
    elif name == "health_timeout_ms":
        group.health_timeout_ms = Int(value)
    elif name == "unhealthy_after":
        group.unhealthy_after = Int(value)
    elif name == "max_attempts":
        group.max_attempts = Int(value)
    elif name == "retries_timeouts":
        group.retries_timeouts = value == "1"
    else:
        return False
    return True
