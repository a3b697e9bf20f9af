"""The functions of libssl (OpenSSL 3) that flare calls."""

from flare.sys.dynamic_library import DynamicLibrary, LibraryError


comptime NameCallback = def(Int, Int, Int) thin abi("C") -> Int32
"""Looks at a hello, or chooses a certificate: session, place for an alert,
argument; a result."""
comptime ProtocolCallback = def(Int, Int, Int, Int, UInt32, Int) thin abi(
    "C"
) -> Int32
"""Chooses a protocol: session, place for its address, place for its length,
offer, length of the offer, argument; a result."""

# Types of C functions: the result, then the arguments. P is a pointer, an
# opaque handle or a C long; I an int, U an unsigned int, Q 64 bits without a
# sign, V nothing.
comptime _I_P = def(Int) thin abi("C") -> Int32
comptime _I_PI = def(Int, Int32) thin abi("C") -> Int32
comptime _I_PP = def(Int, Int) thin abi("C") -> Int32
comptime _I_PPI = def(Int, Int, Int32) thin abi("C") -> Int32
comptime _I_PPU = def(Int, Int, UInt32) thin abi("C") -> Int32
comptime _P_0 = def() thin abi("C") -> Int
comptime _P_P = def(Int) thin abi("C") -> Int
comptime _P_PI = def(Int, Int32) thin abi("C") -> Int
comptime _P_PIC = def(Int, Int32, NameCallback) thin abi("C") -> Int
comptime _P_PIPP = def(Int, Int32, Int, Int) thin abi("C") -> Int
comptime _P_PP = def(Int, Int) thin abi("C") -> Int
comptime _P_PPP = def(Int, Int, Int) thin abi("C") -> Int
comptime _Q_PQ = def(Int, UInt64) thin abi("C") -> UInt64
comptime _V_P = def(Int) thin abi("C") -> None
comptime _I_PUPP = def(Int, UInt32, Int, Int) thin abi("C") -> Int32
comptime _V_PCP = def(Int, NameCallback, Int) thin abi("C") -> None
comptime _V_PAP = def(Int, ProtocolCallback, Int) thin abi("C") -> None
comptime _V_PI = def(Int, Int32) thin abi("C") -> None
comptime _V_PIP = def(Int, Int32, Int) thin abi("C") -> None
comptime _V_PPP = def(Int, Int, Int) thin abi("C") -> None
comptime _V_PU = def(Int, UInt32) thin abi("C") -> None


struct ContextSymbols(Movable):
    """What many sessions share (`SSL_CTX`)."""

    var client_method: _P_0
    var server_method: _P_0
    var new: _P_P
    var free: _V_P
    var ctrl: _P_PIPP
    var callback_ctrl: _P_PIC
    var set_options: _Q_PQ
    var set_security_level: _V_PI
    var set_cipher_list: _I_PP
    var set_ciphersuites: _I_PP
    var set_verify: _V_PIP
    var get_cert_store: _P_P
    var load_verify_dir: _I_PP
    var load_verify_file: _I_PP
    var use_certificate: _I_PP
    var get0_certificate: _P_P
    var use_privatekey: _I_PP
    var check_private_key: _I_P
    var add_client_ca: _I_PP
    var set_alpn_protos: _I_PPU
    var set_alpn_select_cb: _V_PAP
    var set_client_hello_cb: _V_PCP
    var set_session_id_context: _I_PPU
    var set_num_tickets: _I_PP

    def __init__(out self, library: DynamicLibrary) raises LibraryError:
        self.client_method = library.symbol[_P_0]("TLS_client_method")
        self.server_method = library.symbol[_P_0]("TLS_server_method")
        self.new = library.symbol[_P_P]("SSL_CTX_new")
        self.free = library.symbol[_V_P]("SSL_CTX_free")
        self.ctrl = library.symbol[_P_PIPP]("SSL_CTX_ctrl")
        self.callback_ctrl = library.symbol[_P_PIC]("SSL_CTX_callback_ctrl")
        self.set_options = library.symbol[_Q_PQ]("SSL_CTX_set_options")
        self.set_security_level = library.symbol[_V_PI](
            "SSL_CTX_set_security_level"
        )
        self.set_cipher_list = library.symbol[_I_PP]("SSL_CTX_set_cipher_list")
        self.set_ciphersuites = library.symbol[_I_PP](
            "SSL_CTX_set_ciphersuites"
        )
        self.set_verify = library.symbol[_V_PIP]("SSL_CTX_set_verify")
        self.get_cert_store = library.symbol[_P_P]("SSL_CTX_get_cert_store")
        self.load_verify_dir = library.symbol[_I_PP]("SSL_CTX_load_verify_dir")
        self.load_verify_file = library.symbol[_I_PP](
            "SSL_CTX_load_verify_file"
        )
        self.use_certificate = library.symbol[_I_PP]("SSL_CTX_use_certificate")
        self.get0_certificate = library.symbol[_P_P]("SSL_CTX_get0_certificate")
        self.use_privatekey = library.symbol[_I_PP]("SSL_CTX_use_PrivateKey")
        self.check_private_key = library.symbol[_I_P](
            "SSL_CTX_check_private_key"
        )
        self.add_client_ca = library.symbol[_I_PP]("SSL_CTX_add_client_CA")
        self.set_alpn_protos = library.symbol[_I_PPU]("SSL_CTX_set_alpn_protos")
        self.set_alpn_select_cb = library.symbol[_V_PAP](
            "SSL_CTX_set_alpn_select_cb"
        )
        self.set_client_hello_cb = library.symbol[_V_PCP](
            "SSL_CTX_set_client_hello_cb"
        )
        self.set_session_id_context = library.symbol[_I_PPU](
            "SSL_CTX_set_session_id_context"
        )
        self.set_num_tickets = library.symbol[_I_PP]("SSL_CTX_set_num_tickets")


struct SessionSymbols(Movable):
    """One session (`SSL`)."""

    var new: _P_P
    var free: _V_P
    var ctrl: _P_PIPP
    var set_bio: _V_PPP
    var set_connect_state: _V_P
    var set_accept_state: _V_P
    var set_ssl_ctx: _P_PP
    var set1_host: _I_PP
    var set_hostflags: _V_PU
    var get0_param: _P_P
    var do_handshake: _I_P
    var read: _I_PPI
    var write: _I_PPI
    var shutdown: _I_P
    var get_error: _I_PI
    var pending: _I_P
    var get_verify_result: _P_P
    var get0_verified_chain: _P_P
    var get1_peer_certificate: _P_P
    var get0_peer_ca_list: _P_P
    var get_version: _P_P
    var get_current_cipher: _P_P
    var cipher_name: _P_P
    var get0_alpn_selected: _V_PPP
    var get_servername: _P_PI
    var client_hello_get0_ext: _I_PUPP
    var set_session_id_context: _I_PPU
    var session_reused: _I_P
    var set_session: _I_PP
    var get1_session: _P_P
    var session_free: _V_P
    var session_is_resumable: _I_P
    var i2d_ssl_session: _I_PP
    var d2i_ssl_session: _P_PPP

    def __init__(out self, library: DynamicLibrary) raises LibraryError:
        self.new = library.symbol[_P_P]("SSL_new")
        self.free = library.symbol[_V_P]("SSL_free")
        self.ctrl = library.symbol[_P_PIPP]("SSL_ctrl")
        self.set_bio = library.symbol[_V_PPP]("SSL_set_bio")
        self.set_connect_state = library.symbol[_V_P]("SSL_set_connect_state")
        self.set_accept_state = library.symbol[_V_P]("SSL_set_accept_state")
        self.set_ssl_ctx = library.symbol[_P_PP]("SSL_set_SSL_CTX")
        self.set1_host = library.symbol[_I_PP]("SSL_set1_host")
        self.set_hostflags = library.symbol[_V_PU]("SSL_set_hostflags")
        self.get0_param = library.symbol[_P_P]("SSL_get0_param")
        self.do_handshake = library.symbol[_I_P]("SSL_do_handshake")
        self.read = library.symbol[_I_PPI]("SSL_read")
        self.write = library.symbol[_I_PPI]("SSL_write")
        self.shutdown = library.symbol[_I_P]("SSL_shutdown")
        self.get_error = library.symbol[_I_PI]("SSL_get_error")
        self.pending = library.symbol[_I_P]("SSL_pending")
        self.get_verify_result = library.symbol[_P_P]("SSL_get_verify_result")
        self.get0_verified_chain = library.symbol[_P_P](
            "SSL_get0_verified_chain"
        )
        self.get1_peer_certificate = library.symbol[_P_P](
            "SSL_get1_peer_certificate"
        )
        self.get0_peer_ca_list = library.symbol[_P_P]("SSL_get0_peer_CA_list")
        self.get_version = library.symbol[_P_P]("SSL_get_version")
        self.get_current_cipher = library.symbol[_P_P]("SSL_get_current_cipher")
        self.cipher_name = library.symbol[_P_P]("SSL_CIPHER_get_name")
        self.get0_alpn_selected = library.symbol[_V_PPP](
            "SSL_get0_alpn_selected"
        )
        self.get_servername = library.symbol[_P_PI]("SSL_get_servername")
        self.client_hello_get0_ext = library.symbol[_I_PUPP](
            "SSL_client_hello_get0_ext"
        )
        self.set_session_id_context = library.symbol[_I_PPU](
            "SSL_set_session_id_context"
        )
        self.session_reused = library.symbol[_I_P]("SSL_session_reused")
        self.set_session = library.symbol[_I_PP]("SSL_set_session")
        self.get1_session = library.symbol[_P_P]("SSL_get1_session")
        self.session_free = library.symbol[_V_P]("SSL_SESSION_free")
        self.session_is_resumable = library.symbol[_I_P](
            "SSL_SESSION_is_resumable"
        )
        self.i2d_ssl_session = library.symbol[_I_PP]("i2d_SSL_SESSION")
        self.d2i_ssl_session = library.symbol[_P_PPP]("d2i_SSL_SESSION")
