"""netrc files: what is read, whose login it is, and what is refused."""

from flare.http.client.connect.netrc import FILE_LEN_MAX, Netrc
from flare.url.url import Url
from std.subprocess import run
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.temporary_folder import TemporaryFolder


def _login(
    logins: Netrc, host: String, user: String = "", takes_default: Bool = True
) -> String:
    var found = logins.find(host, user, takes_default=takes_default)
    if not found:
        return "-"
    return String(found.value().user, " ", found.value().password)


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var text: StaticString
    var login: StaticString
    """Of the host a.test."""


def test_what_is_read() raises:
    """As curl reads it, and ftp before."""
    var rows: List[_Row] = [
        _Row("one line", "machine a.test login me password word", "me word"),
        _Row(
            "lines and tabs",
            "machine\n\ta.test\r\n\tpassword word\n\tlogin\tme\n",
            "me word",
        ),
        _Row("case", "MACHINE A.Test LOGIN me Password word", "me word"),
        _Row("nothing", "", "-"),
        _Row("another host", "machine b.test login me password word", "-"),
        _Row("no part", "machine test login me password word", "-"),
        _Row(
            "the first",
            "machine a.test login me password 1 machine a.test login i password 2",
            "me 1",
        ),
        _Row(
            "default",
            "machine b.test login x default login me password 1",
            "me 1",
        ),
        _Row(
            "default in order",
            "default login me password 1\nmachine a.test login x password 2",
            "me 1",
        ),
        _Row("account", "machine a.test login me account z password 1", "me 1"),
        _Row("no password", "machine a.test login me", "me "),
        _Row("no login", "machine a.test password 1", " 1"),
        _Row("neither", "machine a.test default login me password 1", "-"),
        _Row(
            "macros",
            (
                "macdef init\nmachine a.test login x\n\r\nmachine a.test"
                " login me password 1"
            ),
            "me 1",
        ),
        _Row(
            "a macro in an entry",
            "machine a.test login me macdef x\ncd /\n\npassword 1",
            "me 1",
        ),
        _Row("a macro to the end", "macdef x\nmachine a.test login x", "-"),
        _Row(
            "comments",
            "# machine a.test login x\nmachine a.test # b\n#c\nlogin me\n#d",
            "me ",
        ),
        _Row(
            "# within",
            "machine a.test login m#e password 1#2",
            "m#e 1#2",
        ),
        _Row(
            "quotes",
            'machine "a.test" login "m e" password "a\\"b\\\\c\\td#"',
            'm e a"b\\c\td#',
        ),
        _Row("an empty value", 'machine a.test login "" password 1', " 1"),
        _Row(
            "a quoted keyword",
            'machine a.test login "login" password "password"',
            "login password",
        ),
        _Row("a quote within", 'machine a.test login m"e password 1', 'm"e 1'),
    ]
    for row in rows:
        assert_equal(
            _login(Netrc.parse(row.text, "x"), "a.test"), row.login, row.rule
        )


def test_whose_login() raises:
    var logins = Netrc.parse(
        (
            "machine a.test login me password 1 machine a.test login i"
            " password 2 machine ::1 login six password 6 default login any"
            " password 0"
        ),
        "x",
    )
    assert_equal(_login(logins, "a.test", "i"), "i 2")
    assert_equal(_login(logins, "a.test", "he"), "-")
    assert_equal(_login(logins, "a.test", "any"), "any 0")
    assert_equal(_login(logins, "b.test"), "any 0")
    assert_equal(_login(logins, "b.test", takes_default=False), "-")
    for row in [
        ("http://b.test/", "Basic YW55OjA="),
        ("https://A.test:1/", "Basic bWU6MQ=="),
        ("http://[::1]:8080/", "Basic c2l4OjY="),
        ("http+unix://%2Frun%2Fa/", ""),
    ]:
        var found = logins.find_for(Url.parse(row[0]))
        assert_equal(String(found.field_value()), row[1], row[0])
    assert_true(Netrc().is_empty())
    assert_false(logins.is_empty())


@fieldwise_init
struct _BadRow(Copyable, Movable):
    var text: StaticString
    var message: StaticString


def test_what_is_refused() raises:
    """By line, and nothing of the text is shown."""
    var rows: List[_BadRow] = [
        _BadRow("login me", "line 1: 'machine' or 'default'"),
        _BadRow("machine a\n\nsecret", "line 3: machine, default, login"),
        _BadRow('machine a login "secret', "line 1: a double quote is not"),
        _BadRow('machine a\nlogin "sec\nret"', "line 2: a double quote is not"),
        _BadRow(
            'machine a\nlogin "sec\\\nret"', "line 2: a double quote is not"
        ),
        _BadRow("machine a login me\npassword", "line 2: the file ends"),
        _BadRow("machine", "line 1: the file ends"),
        # Which would be `default`, and go to all hosts.
        _BadRow(
            '\nmachine "" login me password secret',
            "line 2: a machine without a name",
        ),
        _BadRow(
            "machine a password #secret", "line 1: put a value that begins"
        ),
        _BadRow(
            '#\nmacdef x\nsecret\n\nmachine a "login" secret',
            "line 5: machine, default, login",
        ),
    ]
    for row in rows:
        var text = String()
        try:
            _ = Netrc.parse(row.text, "FILE")
        except error:
            text = String(error)
        assert_true("netrc FILE, " in text, text)
        assert_true(row.message in text, text)
        assert_false("sec" in text, text)


def test_cut_anywhere() raises:
    """Whatever is missing, it is read or refused."""
    var text = String(
        'machine a.test login "m\\e" # b\nmacdef x\ny\n\npassword 1 default'
    )
    for end in range(text.byte_length() + 1):
        var outcome = String("refused")
        try:
            var logins = Netrc.parse(text[byte=0:end], "x")
            outcome = _login(logins, "a.test")
        except error:
            assert_true("netrc x, line " in String(error), String(error))
        if end == text.byte_length():
            assert_equal(outcome, "me 1")


def _refusal(path: String) -> String:
    try:
        _ = Netrc(path)
        return ""
    except error:
        return String(error)


def test_files() raises:
    """Whoever else could read it could log in."""
    with TemporaryFolder() as folder:
        var path = String(folder, "/netrc")
        assert_true("cannot be read" in _refusal(path))
        with open(path, "w") as file:
            file.write("machine a.test login me password word")
        for mode in ["644", "640", "604", "620", "610", "601"]:
            _ = run(String("chmod ", mode, " ", path))
            assert_true("chmod 600" in _refusal(path), mode)
        for mode in ["600", "400"]:
            _ = run(String("chmod ", mode, " ", path))
            assert_equal(_login(Netrc(path), "a.test"), "me word", mode)
        assert_true("no regular file" in _refusal(folder))
        _ = run(String("printf 'machine a password p\\351' > ", path))
        _ = run(String("chmod 600 ", path))
        assert_true("is not UTF-8" in _refusal(path), _refusal(path))
        _ = run(String("printf 'machine a password p\\303\\251' > ", path))
        assert_equal(_login(Netrc(path), "a"), " pé")
        _ = run(String("chmod 600 ", path))
        _ = run(String("truncate -s ", FILE_LEN_MAX + 1, " ", path))
        assert_true("longer than 1 MiB" in _refusal(path))
