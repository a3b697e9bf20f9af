"""What is said of an upstream that takes too long."""

from flare.http.proxy.exchange_phase import ExchangePhase
from flare.http.proxy.outcome import Outcome
from flare.http.proxy.proxy_config import ProxyConfig


def outcome_of_late(phase: ExchangePhase) -> Outcome:
    """Tells how an attempt has ended whose time is over.

    Args:
        phase: What it has waited for.

    Returns:
        The outcome.
    """
    if phase == ExchangePhase.CONNECTING:
        return Outcome.CONNECT_TIMEOUT
    if phase == ExchangePhase.SENDING:
        return Outcome.SEND_TIMEOUT
    return Outcome.HEAD_TIMEOUT


def reason_of_late(phase: ExchangePhase, config: ProxyConfig) -> String:
    """Explains it.

    Args:
        phase: What it has waited for.
        config: The proxy's times.

    Returns:
        A text for the log.
    """
    if phase == ExchangePhase.CONNECTING:
        return String("no stream within ", config.connect_timeout_ms, " ms")
    if phase == ExchangePhase.SENDING:
        return String("it took nothing for ", config.write_timeout_ms, " ms")
    return String("no answer within ", config.head_timeout_ms, " ms")
