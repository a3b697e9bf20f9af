"""The networking library for Mojo: the everyday names in one place."""

from flare.dns.resolve import resolve
from flare.http.client.connect.auth import BasicAuth, BearerAuth
from flare.http.client.client import (
    HttpClient,
    delete,
    get,
    head,
    options,
    patch,
    post,
    put,
)
from flare.http.client.message.request import ClientRequest
from flare.http.client.message.response import ClientResponse
from flare.http.client.message.config import ClientConfig
from flare.http.client.connect.error import ClientError
from flare.http.message.method import Method
from flare.http.message.request import Request
from flare.http.message.response import (
    Response,
    bad_request,
    created,
    forbidden,
    internal_error,
    no_content,
    not_found,
    ok,
    ok_html,
    ok_json,
    redirect,
    unauthorized,
)
from flare.http.message.status import Status
from flare.http.handler.handler import FnHandler, Handler
from flare.http.routing.router import Router
from flare.http.server.config import ServerConfig
from flare.http.server.server import HttpServer
from flare.net.error import NetworkError
from flare.net.ip import IpAddr
from flare.net.socket_addr import SocketAddr
from flare.tcp.stream import TcpListener
from flare.tcp.stream import TcpStream
from flare.udp.socket import UdpSocket
from flare.version import version
from flare.ws.client import WsClient
