"""WebSocket: a client for `ws` and `wss`, routes of the HTTP server, and a server
on a port of its own."""

from flare.http.websocket.handler import WsConfig, WsHandler, WsIncoming
from flare.http.websocket.hub import WsHub
from flare.http.websocket.outbox import WsSender
from flare.ws.client import WsClient
from flare.ws.client_sender import WsClientSender
from flare.ws.config import WsClientConfig
from flare.ws.core.error import CloseCode
from flare.ws.core.deflate import DeflateAgreement
from flare.ws.core.frame import Opcode
from flare.ws.error import (
    WsBadHandshake,
    WsClosed,
    WsError,
    WsMisused,
    WsProtocolBroken,
    WsQueueFull,
    WsRefused,
)
from flare.ws.message import WsFrame
from flare.ws.message import WsMessage
from flare.ws.server import WsServer
