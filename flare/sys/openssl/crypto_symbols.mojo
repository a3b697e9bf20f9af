"""The functions of libcrypto (OpenSSL 3) that flare calls."""

from flare.sys.dynamic_library import DynamicLibrary, LibraryError


# Types of C functions: the result, then the arguments. P is a pointer, an
# opaque handle or a C long; I an int, U an unsigned int, Q 64 bits without a
# sign, V nothing.
comptime _I_P = def(Int) thin abi("C") -> Int32
comptime _I_PII = def(Int, Int32, Int32) thin abi("C") -> Int32
comptime _I_PP = def(Int, Int) thin abi("C") -> Int32
comptime _I_PPPP = def(Int, Int, Int, Int) thin abi("C") -> Int32
comptime _I_PPI = def(Int, Int, Int32) thin abi("C") -> Int32
comptime _I_PPIQ = def(Int, Int, Int32, UInt64) thin abi("C") -> Int32
comptime _I_PQ = def(Int, UInt64) thin abi("C") -> Int32
comptime _P_0 = def() thin abi("C") -> Int
comptime _P_P = def(Int) thin abi("C") -> Int
comptime _P_PI = def(Int, Int32) thin abi("C") -> Int
comptime _P_PIPP = def(Int, Int32, Int, Int) thin abi("C") -> Int
comptime _P_PP = def(Int, Int) thin abi("C") -> Int
comptime _P_PPPP = def(Int, Int, Int, Int) thin abi("C") -> Int
comptime _V_0 = def() thin abi("C") -> None
comptime _V_P = def(Int) thin abi("C") -> None


struct MemorySymbols(Movable):
    """Errors and memory BIOs."""

    var get_error: _P_0
    var peek_error: _P_0
    var clear_error: _V_0
    var reason_error_string: _P_P
    var bio_new: _P_P
    var bio_s_mem: _P_0
    var bio_new_mem_buf: _P_PI
    var bio_free: _I_P
    var bio_read: _I_PPI
    var bio_ctrl: _P_PIPP
    var buf_mem_new: _P_0

    def __init__(out self, library: DynamicLibrary) raises LibraryError:
        self.get_error = library.symbol[_P_0]("ERR_get_error")
        self.peek_error = library.symbol[_P_0]("ERR_peek_error")
        self.clear_error = library.symbol[_V_0]("ERR_clear_error")
        self.reason_error_string = library.symbol[_P_P](
            "ERR_reason_error_string"
        )
        self.bio_new = library.symbol[_P_P]("BIO_new")
        self.bio_s_mem = library.symbol[_P_0]("BIO_s_mem")
        self.bio_new_mem_buf = library.symbol[_P_PI]("BIO_new_mem_buf")
        self.bio_free = library.symbol[_I_P]("BIO_free")
        self.bio_read = library.symbol[_I_PPI]("BIO_read")
        self.bio_ctrl = library.symbol[_P_PIPP]("BIO_ctrl")
        self.buf_mem_new = library.symbol[_P_0]("BUF_MEM_new")


struct CertificateSymbols(Movable):
    """Certificates, keys and stores."""

    var pem_read_bio_x509: _P_PPPP
    var pem_read_bio_x509_crl: _P_PPPP
    var pem_read_bio_privatekey: _P_PPPP
    var x509_free: _V_P
    var x509_digest: _I_PPPP
    var evp_sha256: _P_0
    var x509_crl_free: _V_P
    var evp_pkey_free: _V_P
    var x509_get_subject_name: _P_P
    var x509_get_issuer_name: _P_P
    var x509_name_print_ex: _I_PPIQ
    var x509_get0_notbefore: _P_P
    var x509_get0_notafter: _P_P
    var asn1_string_get0_data: _P_P
    var asn1_string_length: _I_P
    var x509_get_ext_d2i: _P_PIPP
    var x509_get_ext_by_nid: _I_PII
    var general_name_get0_value: _P_PP
    var general_names_free: _V_P
    var sk_num: _I_P
    var sk_value: _P_PI
    var store_add_cert: _I_PP
    var store_add_crl: _I_PP
    var store_set_flags: _I_PQ
    var set1_ip_asc: _I_PP
    var x509_get_default_cert_dir: _P_0
    var x509_get_default_cert_file: _P_0
    var x509_verify_cert_error_string: _P_P

    def __init__(out self, library: DynamicLibrary) raises LibraryError:
        self.pem_read_bio_x509 = library.symbol[_P_PPPP]("PEM_read_bio_X509")
        self.pem_read_bio_x509_crl = library.symbol[_P_PPPP](
            "PEM_read_bio_X509_CRL"
        )
        self.pem_read_bio_privatekey = library.symbol[_P_PPPP](
            "PEM_read_bio_PrivateKey"
        )
        self.x509_free = library.symbol[_V_P]("X509_free")
        self.x509_digest = library.symbol[_I_PPPP]("X509_digest")
        self.evp_sha256 = library.symbol[_P_0]("EVP_sha256")
        self.x509_crl_free = library.symbol[_V_P]("X509_CRL_free")
        self.evp_pkey_free = library.symbol[_V_P]("EVP_PKEY_free")
        self.x509_get_subject_name = library.symbol[_P_P](
            "X509_get_subject_name"
        )
        self.x509_get_issuer_name = library.symbol[_P_P]("X509_get_issuer_name")
        self.x509_name_print_ex = library.symbol[_I_PPIQ]("X509_NAME_print_ex")
        self.x509_get0_notbefore = library.symbol[_P_P]("X509_get0_notBefore")
        self.x509_get0_notafter = library.symbol[_P_P]("X509_get0_notAfter")
        self.asn1_string_get0_data = library.symbol[_P_P](
            "ASN1_STRING_get0_data"
        )
        self.asn1_string_length = library.symbol[_I_P]("ASN1_STRING_length")
        self.x509_get_ext_d2i = library.symbol[_P_PIPP]("X509_get_ext_d2i")
        self.x509_get_ext_by_nid = library.symbol[_I_PII]("X509_get_ext_by_NID")
        self.general_name_get0_value = library.symbol[_P_PP](
            "GENERAL_NAME_get0_value"
        )
        self.general_names_free = library.symbol[_V_P]("GENERAL_NAMES_free")
        self.sk_num = library.symbol[_I_P]("OPENSSL_sk_num")
        self.sk_value = library.symbol[_P_PI]("OPENSSL_sk_value")
        self.store_add_cert = library.symbol[_I_PP]("X509_STORE_add_cert")
        self.store_add_crl = library.symbol[_I_PP]("X509_STORE_add_crl")
        self.store_set_flags = library.symbol[_I_PQ]("X509_STORE_set_flags")
        self.set1_ip_asc = library.symbol[_I_PP](
            "X509_VERIFY_PARAM_set1_ip_asc"
        )
        self.x509_get_default_cert_dir = library.symbol[_P_0](
            "X509_get_default_cert_dir"
        )
        self.x509_get_default_cert_file = library.symbol[_P_0](
            "X509_get_default_cert_file"
        )
        self.x509_verify_cert_error_string = library.symbol[_P_P](
            "X509_verify_cert_error_string"
        )
