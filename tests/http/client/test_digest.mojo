"""Digest: challenges that are read, and answers by the RFC's own vectors."""

from flare.bytes.checked import *
from flare.http.client.connect.auth import BasicAuth
from flare.http.client.connect.digest import (
    SESSION_COUNT_MAX,
    DigestAlgorithm,
    DigestChallenge,
    DigestSession,
    DigestStore,
    best_challenge,
    next_nonce,
    parse_challenges,
)
from flare.http.message.header_map import HeaderMap
from tests.support.assertions import assert_equal, assert_false, assert_true

comptime NONCE = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v"
comptime OPAQUE = "FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
comptime CNONCE = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
comptime REALM = "http-auth@example.org"


def _challenge(text: String) raises -> DigestChallenge:
    var found = parse_challenges(text.as_bytes().as_imm())
    assert_equal(len(found), 1, text)
    assert_true(found.at(0).is_usable(), text)
    return found.at(0).copy()


def _of_rfc(algorithm: StaticString) raises -> DigestChallenge:
    return _challenge(
        String(
            'Digest realm="',
            REALM,
            '", qop="auth, auth-int", algorithm=',
            algorithm,
            ', nonce="',
            NONCE,
            '", opaque="',
            OPAQUE,
            '"',
        )
    )


def _session(var challenge: DigestChallenge, user: String) -> DigestSession:
    return DigestSession("http://a.test:80", user, challenge^, CNONCE)


def _response(answer: String) -> String:
    var start = answer.find(' response="') + 11
    var rest = String(answer[byte=start:])
    return String(rest[byte = 0 : rest.find('"')])


def test_vectors_of_the_rfc() raises:
    """RFC 7616 section 3.9.1."""
    var login = BasicAuth("Mufasa", "Circle of Life")
    var rows: List[List[StaticString]] = [
        ["MD5", "8ca523f5e9506fed4657c9700eebdbec"],
        [
            "SHA-256",
            "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
        ],
    ]
    for row in rows:
        var session = _session(_of_rfc(row.at(0)), "Mufasa")
        var answer = session.answer(login, "GET", "/dir/index.html")
        assert_equal(
            answer,
            String(
                'Digest username="Mufasa", realm="',
                REALM,
                '", uri="/dir/index.html", algorithm=',
                row.at(0),
                ', nonce="',
                NONCE,
                '", nc=00000001, cnonce="',
                CNONCE,
                '", qop=auth, response="',
                row.at(1),
                '", opaque="',
                OPAQUE,
                '"',
            ),
        )


def test_vector_of_rfc_2617() raises:
    """RFC 2617 section 3.5, and RFC 2069 section 2.4 as corrected."""
    var session = DigestSession(
        "",
        "Mufasa",
        _challenge(
            'Digest realm="testrealm@host.com", qop="auth,auth-int",'
            ' nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093",'
            ' opaque="5ccc069c403ebaf9f0171e9517f40e41"'
        ),
        "0a4f113b",
    )
    var login = BasicAuth("Mufasa", "Circle Of Life")
    var answer = session.answer(login, "GET", "/dir/index.html")
    assert_equal(_response(answer), "6629fae49393a05397450978507c4ef1")
    assert_false("algorithm" in answer)
    session = DigestSession(
        "",
        "Mufasa",
        _challenge(
            'Digest realm="testrealm@host.com",'
            ' nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093",'
            ' opaque="5ccc069c403ebaf9f0171e9517f40e41"'
        ),
        "unused",
    )
    login = BasicAuth("Mufasa", "CircleOfLife")
    answer = session.answer(login, "GET", "/dir/index.html")
    assert_equal(_response(answer), "1949323746fe6a43ef61f9606e7febea")
    assert_false("nc=" in answer or "cnonce" in answer or "qop" in answer)


def test_further_answers() raises:
    """The counts go up; values by Python's hashlib."""
    var session = _session(_of_rfc("SHA-256"), "Mufasa")
    var login = BasicAuth("Mufasa", "Circle of Life")
    for _ in range(16):
        _ = session.answer(login, "GET", "/")
    var answer = session.answer(login, "PUT", "/a?b=c")
    assert_true(" nc=00000011," in answer, answer)
    assert_equal(
        _response(answer),
        "1d9c66b77cf24bc3937f10a0ed39b0c1fd7a9c86cf55145526a8eebcc94e2325",
    )
    session = _session(_of_rfc("SHA-256-sess"), "Mufasa")
    answer = session.answer(login, "GET", "/dir/index.html")
    assert_true("algorithm=SHA-256-sess" in answer)
    assert_equal(
        _response(answer),
        "2fd51b3a77ad75bad6afad6003e818d767133c46d9e2749e7f5232ae1ea3efd7",
    )


def test_hashed_user_name() raises:
    """RFC 7616 section 3.9.2 as corrected (errata 4897)."""
    var session = DigestSession(
        "",
        "",
        _challenge(
            'Digest realm="api@example.org", qop="auth",'
            " algorithm=SHA-512-256,"
            ' nonce="5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK",'
            ' opaque="HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDnsOS",'
            " charset=UTF-8, userhash=true"
        ),
        "NTg6RKcb9boFIAS3KrFK9BGeh+iDa/sm6jUMp2wds69v",
    )
    var answer = session.answer(
        BasicAuth("Jäsøn Doe", "Secret, or not?"), "GET", "/doe.json"
    )
    assert_true(
        'username="793263caabb707a56211940d90411ea4a575adeccb7e360aeb624ed06ece9b0b"'
        in answer,
        answer,
    )
    assert_equal(
        _response(answer),
        "3798d4131c277846293534c3edc11bd8a5e4cdcbff78b05db9d95eeb1cec68a5",
    )
    assert_true(answer.endswith(", userhash=true"), answer)


def test_user_names() raises:
    """RFC 7616 sections 3.4 and 3.4.4."""
    var plain = _session(_of_rfc("MD5"), "")
    var answer = plain.answer(BasicAuth('a"b\\c', "p"), "GET", "/")
    assert_true('username="a\\"b\\\\c"' in answer, answer)
    # Who does not speak of UTF-8 may know the older form alone.
    answer = plain.answer(BasicAuth("Jäsøn Doe", "p"), "GET", "/")
    assert_true('username="Jäsøn Doe"' in answer, answer)
    plain.challenge.is_utf8 = True
    answer = plain.answer(BasicAuth("Jäsøn Doe", "p"), "GET", "/")
    assert_true("username*=UTF-8''J%C3%A4s%C3%B8n%20Doe," in answer, answer)
    var challenge = _of_rfc("SHA-256")
    challenge.hashes_user = True
    challenge.realm = "api@example.org"
    var hashed = _session(challenge^, "")
    answer = hashed.answer(BasicAuth("Jäsøn Doe", "p"), "GET", "/")
    assert_true(
        'username="5a1a8a47df5c298551b9b42ba9b05835174a5bd7d511ff7fe9191d8e946fc4e7"'
        in answer,
        answer,
    )
    assert_true(answer.endswith(", userhash=true"), answer)


def test_challenges() raises:
    """RFC 9110 section 11.6.1, RFC 7616 section 3.3."""
    var found = parse_challenges(
        (
            'Basic realm="a, Digest realm=x", Digest realm="b" ,nonce=n,'
            ' NEWAUTH abc==, digest NONCE = "x\\"y", realm="", stale=TRUE,'
            ' algorithm="sha-256-SESS", userhash=true, domain="/a /b"'
        )
        .as_bytes()
        .as_imm()
    )
    assert_equal(len(found), 2)
    assert_true(found.at(0).is_usable())
    assert_equal(found.at(0).realm, "b")
    assert_equal(found.at(0).nonce, "n")
    assert_false(found.at(0).is_stale or found.at(0).has_qop)
    assert_true(found.at(0).algorithm == DigestAlgorithm.MD5)
    assert_equal(found.at(1).nonce, 'x"y')
    assert_true(found.at(1).is_stale and found.at(1).is_session)
    assert_true(found.at(1).hashes_user)
    assert_true(found.at(1).algorithm == DigestAlgorithm.SHA256)
    assert_equal(found.at(1).domain, "/a /b")


def test_many_parameters() raises:
    """RFC 9110 section 11.6.1: each challenge has its own; one that is read in
    part would be another one, without its algorithm."""
    var others = String("Other ")
    for number in range(30):
        others += String("a", number, "=b, ")
    var six = String()
    for algorithm in ["MD5", "MD5-sess", "SHA-256", "SHA-256-sess"]:
        six += String(
            'Digest realm="r", nonce="n", opaque="o", qop="auth", charset=UTF-8,'
            " userhash=false, stale=false, domain=x, algorithm=",
            algorithm,
            ", ",
        )
    var asked = String('Digest realm="r", nonce="n", algorithm=SHA-512-256')
    for text in [others + asked, six + asked]:
        var found = parse_challenges(text.as_bytes().as_imm())
        ref last = found.at(len(found) - 1)
        assert_true(last.is_usable(), text)
        assert_true(last.algorithm == DigestAlgorithm.SHA512_256, text)
    var long = String('Digest realm="r", nonce="n"')
    for number in range(1_000):
        long += String(", a", number, "=b")
    long += ", algorithm=SHA-256"
    for ref challenge in parse_challenges(long.as_bytes().as_imm()):
        assert_false(challenge.is_usable())


def test_escapes() raises:
    """RFC 7616 section 3.4: what is hashed is the value, what is written is
    quoted; values by Python's hashlib."""
    var session = _session(
        _challenge(
            'Digest realm="a \\"b\\\\", nonce="c\\d", algorithm=SHA-256'
        ),
        "",
    )
    var answer = session.answer(BasicAuth("u", "p"), "GET", "/")
    assert_true('realm="a \\"b\\\\"' in answer, answer)
    assert_true('nonce="cd"' in answer, answer)
    assert_equal(
        _response(answer),
        "b7cf3224121227816b83007087cba58c4c131954f9feba36fbe63d3b290d3fc2",
    )


def test_session_keys() raises:
    """RFC 7616 section 3.4.2: made once, by the nonce of the challenge; values
    by Python's hashlib."""
    var store = DigestStore()
    store.keep(_session(_of_rfc("MD5-sess"), "Mufasa"))
    store.take_next_nonce("http://a.test:80", "Mufasa", "nextnonce=fresh")
    var answer = store.answer(
        "http://a.test:80",
        BasicAuth("Mufasa", "Circle of Life"),
        "GET",
        "/",
        is_asked=False,
    )
    assert_true('nonce="fresh", nc=00000001' in answer, answer)
    assert_equal(_response(answer), "c680f8b9213d49793db78cf400389fb0")


def test_challenges_that_are_not_answered() raises:
    for text in [
        "",
        ",,",
        "Digest",
        'Digest realm="a"',
        "Digest nonce=a",
        'Digest realm="a", nonce="b", algorithm=SHA-512',
        'Digest realm="a", nonce="b", algorithm=MD6',
        'Digest realm="a", nonce="b", qop="auth-int"',
        'Digest realm="a", nonce="b", qop=""',
        'Digest realm="a", nonce="b", nonce="c"',
        'Digest realm="a", realm="a", nonce="b"',
        'Digest realm="a", nonce="b", algorithm=MD5, algorithm=SHA-256',
        'Digested realm="a", nonce="b"',
        'Basic Digest="a", nonce="b", realm="c"',
        'Digest "realm"="a", nonce="b"',
    ]:
        for ref challenge in parse_challenges(text.as_bytes().as_imm()):
            assert_false(challenge.is_usable(), text)


def test_the_best_challenge() raises:
    """RFC 7616 section 3.7."""
    var headers = HeaderMap()
    assert_false(Bool(best_challenge(headers, "www-authenticate")))
    headers.append("WWW-Authenticate", 'Digest realm="x", nonce="1"')
    headers.append(
        "WWW-Authenticate",
        (
            'Basic realm="y", Digest realm="x", nonce="2", algorithm=MD5,'
            ' Digest realm="x", nonce="3", algorithm=SHA-256'
        ),
    )
    headers.append(
        "WWW-Authenticate", 'Digest realm="x", nonce="4", algorithm=SHA-256'
    )
    assert_equal(best_challenge(headers, "www-authenticate").value().nonce, "3")
    assert_false(Bool(best_challenge(headers, "proxy-authenticate")))
    headers.append(
        "Proxy-Authenticate",
        (
            'Digest realm="x", nonce="5", algorithm=MD5, Digest realm="x",'
            ' nonce="6", algorithm=SHA-512-256, Digest realm="x", nonce="7",'
            " algorithm=SHA-256"
        ),
    )
    assert_equal(
        best_challenge(headers, "proxy-authenticate").value().nonce, "6"
    )


def test_what_is_kept() raises:
    var store = DigestStore()
    var login = BasicAuth("Mufasa", "word")
    var space = "http://a.test:80"
    assert_equal(
        store.answer(space, login, "GET", "/", is_asked=False), String()
    )
    store.keep(_session(_of_rfc("MD5"), "Mufasa"))
    for count in range(1, 4):
        var answer = store.answer(space, login, "GET", "/", is_asked=False)
        assert_true(String(" nc=0000000", count, ",") in answer, answer)
    for row in [("http://b.test:80", "Mufasa"), (space, "Scar")]:
        assert_equal(
            store.answer(
                row[0], BasicAuth(row[1], ""), "GET", "/", is_asked=True
            ),
            String(),
        )
    store.take_next_nonce(space, "Mufasa", 'qop=auth, nextnonce="fresh"')
    var answer = store.answer(space, login, "GET", "/", is_asked=False)
    assert_true('nonce="fresh", nc=00000001' in answer, answer)
    store.refuse(space, "Mufasa")
    assert_equal(
        store.answer(space, login, "GET", "/", is_asked=False), String()
    )
    for number in range(SESSION_COUNT_MAX + 1):
        var session = _session(_of_rfc("MD5"), "Mufasa")
        session.space = String(number)
        store.keep(session^)
    assert_equal(store.answer("0", login, "GET", "/", is_asked=True), String())
    assert_true(
        store.answer("1", login, "GET", "/", is_asked=True).byte_length() > 0
    )


def test_the_same_nonce_again() raises:
    """RFC 7616 section 3.4: each answer to a nonce has a count of its own."""
    var store = DigestStore()
    var login = BasicAuth("Mufasa", "word")
    var space = "http://a.test:80"
    for count in range(1, 4):
        var session = _session(_of_rfc("SHA-256"), "Mufasa")
        session._cnonce = String(count)
        store.keep(session^)
        var answer = store.answer(space, login, "GET", "/", is_asked=True)
        assert_true(
            String(" nc=0000000", count, ', cnonce="1"') in answer, answer
        )
        store.refuse(space, "Mufasa")
    for realm in ["another", "another", "third"]:
        var challenge = _of_rfc("SHA-256")
        challenge.realm = realm
        store.keep(_session(challenge^, "Mufasa"))
    assert_true(
        " nc=00000001,"
        in store.answer(space, login, "GET", "/", is_asked=False)
    )


def test_protection_spaces() raises:
    """RFC 7616 section 3.3: `domain`."""
    var challenge = _of_rfc("MD5")
    challenge.domain = " /a/b  http://a.test/c http://b.test:80/d /f/../g"
    var session = _session(challenge^, "")
    for row in [
        ("/a/b", True),
        ("/a/bc?d", True),
        ("/a", False),
        ("/c/x", True),
        ("/d", False),
        ("/g", True),
        ("/f", False),
        ("/", False),
    ]:
        assert_equal(session.covers(row[0]), row[1], row[0])


def test_next_nonces() raises:
    """RFC 7616 section 3.5."""
    assert_equal(next_nonce('nextnonce="a,b", qop=auth'), "a,b")
    assert_equal(next_nonce('rspauth="x" , NextNonce = y'), "y")
    assert_equal(next_nonce('x, rspauth="nextnonce=z"'), "")
    assert_equal(next_nonce(""), "")
