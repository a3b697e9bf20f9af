"""Structs read from what a program is started with, and what is refused."""

from flare.bytes.checked import *
from flare.bytes.from_text import FromText, TextError
from flare.net.ip import IpNetwork
from flare.settings.fields import SettingsDefaults, SettingsGroup
from flare.settings.secret import Secret
from flare.settings.settings import Given, Settings, read_env, settings_of
from flare.settings.start import (
    REFUSED_EXIT_CODE,
    refusal_lines,
)
from std.os import setenv
from tests.support.assertions import assert_equal, assert_false, assert_true


struct _Admin(Defaultable, SettingsGroup):
    var port: Int
    var on: Bool

    def __init__(out self):
        self.port = 9
        self.on = False

    @staticmethod
    def about(name: StringSpan) -> StaticString:
        return "Where admins look." if name == "port" else ""

    def problem(self) -> String:
        return "admin_port is 13" if self.port == 13 else String()


@fieldwise_init
struct _Limits(SettingsDefaults, SettingsGroup):
    comptime IS_FLAT = True
    var page_size: Int
    var wait_ms: Int
    var pause_seconds: Int

    @staticmethod
    def defaults() -> Self:
        return Self(10, 20, 30)


struct _Shop(Movable):
    """Not `Defaultable`: what has no default of its own has to be given."""

    var admin: _Admin
    var limits: _Limits
    var database: String
    var key: Secret
    var ratio: Optional[Float64]
    var burst_size: Optional[Int]
    var names: List[String]
    var networks: List[IpNetwork]
    var debug: Bool


def _given(var environment: List[String], var arguments: List[String]) -> Given:
    return Given(environment^, String("S_"), arguments^)


def _shop(
    var environment: List[String], var arguments: List[String]
) raises -> Settings[_Shop]:
    environment.append("S_DATABASE=db")
    environment.append("S_KEY=k")
    environment.append("S_DEBUG=0")
    return settings_of[_Shop](_given(environment^, arguments^), None)


def _refusal[T: Movable & Deinitable](given: Given) raises -> String:
    try:
        _ = settings_of[T](given, None)
    except error:
        assert_equal(error.help, "")
        return String(error)
    return ""


def test_what_is_not_given_has_its_default() raises:
    var shop = _shop([], []).take()
    assert_equal(shop.admin.port, 9)
    assert_equal(shop.limits.page_size, 10)
    assert_equal(shop.database, "db")
    assert_equal(shop.key.reveal(), "k")
    assert_false(shop.ratio)
    assert_equal(len(shop.names), 0)
    assert_false(shop.debug)


def test_arguments_win_over_variables_and_the_last_over_others() raises:
    var shop = _shop(
        ["S_ADMIN_PORT=1", "S_PAGE_SIZE=2", "S_DEBUG=1"],
        ["--admin-port=3", "--admin-port", "4", "--debug"],
    ).take()
    assert_equal(shop.admin.port, 4)
    assert_equal(shop.limits.page_size, 2)
    # `S_DEBUG` stands twice in the environment: the first counts, as for getenv.
    assert_true(shop.debug)


def test_a_flag_takes_a_value_only_behind_an_equals_sign() raises:
    assert_false(_shop([], ["--admin-on", "--admin-on=false"]).value.admin.on)
    assert_true(_shop(["S_ADMIN_ON=false"], ["--admin-on"]).value.admin.on)
    assert_true(
        "false is no option"
        in _refusal[_Shop](_given([], ["--admin-on", "false"]))
    )


def test_lists_have_commas_and_optionals_hold_what_was_given() raises:
    var shop = _shop(
        ["S_NAMES=a, b,", "S_NETWORKS=10.0.0.0/8,::1/128", "S_RATIO=0.5"],
        ["--burst-size=2KiB"],
    ).take()
    assert_equal(String(shop.names), "[a, b, ]")
    assert_equal(String(shop.networks.at(1)), "::1/128")
    assert_equal(shop.ratio.value(), 0.5)
    assert_equal(shop.burst_size.value(), 2_048)


@fieldwise_init
struct _Row(Copyable, Movable):
    var entry: StaticString
    var value: StaticString


def test_units_are_those_that_the_name_of_a_field_ends_with() raises:
    comptime ROWS: List[_Row] = [
        _Row("S_PAGE_SIZE=7", "7"),
        _Row("S_PAGE_SIZE=7B", "7"),
        _Row("S_PAGE_SIZE=64KiB", "65536"),
        _Row("S_PAGE_SIZE=3MiB", "3145728"),
        _Row("S_PAGE_SIZE=2GiB", "2147483648"),
        _Row("S_WAIT_MS=7", "7"),
        _Row("S_WAIT_MS=7ms", "7"),
        _Row("S_WAIT_MS=30s", "30000"),
        _Row("S_WAIT_MS=5min", "300000"),
        _Row("S_WAIT_MS=2h", "7200000"),
        _Row("S_PAUSE_SECONDS=7", "7"),
        _Row("S_PAUSE_SECONDS=7s", "7"),
        _Row("S_PAUSE_SECONDS=5min", "300"),
        _Row("S_PAUSE_SECONDS=2h", "7200"),
    ]
    for row in materialize[ROWS]():
        var name = String(row.entry).split("=").at(0)
        var found = False
        var settings = _shop([String(row.entry)], [])
        for setting in settings.rows:
            if setting.origin == name:
                assert_equal(setting.value, row.value, row.entry)
                found = True
        assert_true(found, row.entry)


def test_every_refusal_says_what_was_found_and_what_is_allowed() raises:
    comptime ROWS: List[_Row] = [
        _Row(
            "S_PAGE_SIZE=64KB",
            "S_PAGE_SIZE is '64KB'; it takes a number of bytes, or as 64KiB",
        ),
        # The unit of another field.
        _Row("S_PAGE_SIZE=3s", "S_PAGE_SIZE is '3s'; it takes a number of b"),
        _Row("S_WAIT_MS=3KiB", "S_WAIT_MS is '3KiB'; it takes a number of m"),
        _Row("S_ADMIN_PORT=3KiB", "S_ADMIN_PORT is '3KiB'; it takes an int"),
        _Row("S_WAIT_MS=1.5s", "S_WAIT_MS is '1.5s'; it takes a number of m"),
        _Row("S_WAIT_MS=", "S_WAIT_MS is empty; it takes a number of mill"),
        _Row("S_WAIT_MS= 3", "S_WAIT_MS is ' 3'; it takes a number of mill"),
        _Row("S_WAIT_MS=3 ", "S_WAIT_MS is '3 '; it takes a number of mill"),
        _Row("S_WAIT_MS=0x10", "S_WAIT_MS is '0x10'; it takes a number of"),
        _Row("S_WAIT_MS=1e3", "S_WAIT_MS is '1e3'; it takes a number of m"),
        _Row("S_WAIT_MS=3 s", "S_WAIT_MS is '3 s'; it takes a number of m"),
        _Row("S_WAIT_MS=-", "S_WAIT_MS is '-'; it takes a number of mill"),
        _Row("S_DEBUG=TRUE", "S_DEBUG is 'TRUE'; it takes true or false"),
        _Row("S_ADMIN_PORT=2.0", "S_ADMIN_PORT is '2.0'; it takes an integer"),
        _Row("S_PAGE_SIZE=99999999999999999999", "; it takes a number of byt"),
        _Row("S_PAGE_SIZE=9999999999GiB", "; it takes a number of bytes"),
        _Row("S_DEBUG=yes", "S_DEBUG is 'yes'; it takes true or false"),
        _Row("S_RATIO=half", "S_RATIO is 'half'; it takes a number"),
        _Row(
            "S_NETWORKS=10.0.0.1/8",
            "S_NETWORKS is '10.0.0.1/8', which is no network; write it as",
        ),
        _Row("S_DATABSE=x", "S_DATABSE names no setting; did you mean S_DATAB"),
        _Row("S_database=x", "S_database names no setting"),
        _Row("S_=x", "S_ names no setting"),
        _Row("S_A\nB=x", "S_A\\x0aB names no setting"),
        _Row("S_WAIT_MS=\n", "S_WAIT_MS is '\\x0a'; it takes"),
        _Row("S_ADMIN_PORT=13", "admin_port is 13; admin_port is from S_ADMI"),
    ]
    for row in materialize[ROWS]():
        var text = _refusal[_Shop](
            _given(
                [String(row.entry), "S_DATABASE=x", "S_KEY=x", "S_DEBUG=1"], []
            )
        )
        assert_true(row.value in text, text)
        # And nothing else.
        assert_equal(len(text.split("\n")), 2, text)


def test_options_that_are_none_are_refused() raises:
    comptime ROWS: List[_Row] = [
        _Row("--debugg", "--debugg is no option; did you mean --debug?; see"),
        _Row("--admin_port=1", "did you mean --admin-port?"),
        _Row("--page-size", "--page-size needs a value, as in --page-size=BY"),
        _Row("-v", "-v is no option; see --help"),
        _Row("serve", "serve is no option; they begin with --"),
        _Row("--", "-- is no option"),
        _Row("", " is no option"),
        _Row("--page-size=", "--page-size is empty"),
        _Row("--\x1b[2J", "--\\x1b[2J is no option"),
    ]
    for row in materialize[ROWS]():
        var text = _refusal[_Shop](
            _given(
                ["S_DATABASE=x", "S_KEY=x", "S_DEBUG=1"], [String(row.entry)]
            )
        )
        assert_true(row.value in text, text)
        assert_equal(len(text.split("\n")), 2, text)


def test_an_option_is_not_taken_for_the_value_of_another() raises:
    var text = _refusal[_Shop](_given([], ["--page-size", "--debug"]))
    assert_true("--page-size needs a value" in text, text)
    assert_equal(_shop([], ["--page-size", "-5"]).value.limits.page_size, -5)


def test_all_that_is_missing_or_bad_is_told_at_once() raises:
    var text = _refusal[_Shop](
        _given(["S_KEYS=x", "S_DEBUG=2"], ["--wait-ms=x"])
    )
    for part in [
        "S_KEYS names no setting; did you mean S_KEY?",
        "S_DEBUG is '2'",
        "--wait-ms is 'x'",
        "S_DATABASE (or --database) is missing; it takes a text",
        "S_KEY (or --key) is missing; it takes a text",
    ]:
        assert_true(part in text, text)
    assert_equal(len(text.split("\n")), 6, text)


def test_text_that_is_no_utf_8_is_refused() raises:
    var entry = String("S_DATABASE=?")
    entry.unsafe_ptr_mut()[unsafe_offset=11] = 0xFF
    var text = _refusal[_Shop](_given([entry^, "S_KEY=x", "S_DEBUG=1"], []))
    assert_true("S_DATABASE is not UTF-8" in text, text)


def test_other_variables_are_left_alone() raises:
    assert_equal(
        _shop(["HOME=/", "XS_A=1", "", "=", "S"], []).value.admin.port, 9
    )
    # Who starts a program may hand over entries that are no variables (environ(7)).
    assert_equal(_shop(["S_ADMIN_PORT", "S_X"], []).value.admin.port, 9)
    # Without a prefix nothing can be told to be unknown.
    var given = Given(["PORT=7", "HOME=/"], String(""), [])
    assert_equal(settings_of[_Admin](given, None).value.port, 7)


def test_the_table_says_where_each_value_is_from_and_no_secret() raises:
    var table = String(_shop(["S_ADMIN_PORT=1"], ["--names=a\nb"]))
    var lines = table.split("\n")
    assert_equal(len(lines), 13, table)
    assert_equal(lines.at(0), "setting        value   from")
    assert_equal(lines.at(1), "admin_port     1       S_ADMIN_PORT")
    assert_equal(lines.at(2), "admin_on       false   default")
    assert_equal(lines.at(7), "key            ***     S_KEY")
    assert_true(
        lines.at(10).startswith("names          a\\x0ab  --names"), table
    )


def test_help_lists_all_even_if_something_is_wrong() raises:
    var help = String()
    try:
        _ = settings_of[_Shop](_given(["S_X=1"], ["--help"]), None)
    except error:
        help = error.help
    for part in [
        "--admin-port=NUMBER\n      Where admins look.\n      Default 9. Var",
        "Variable S_ADMIN_PORT.",
        "--page-size=BYTES",
        "--wait-ms=MILLISECONDS",
        "--pause-seconds=SECONDS",
        "--debug\n      Required.",
        "--names=A,B\n      May be left out.",
    ]:
        assert_true(part in help, help)


def test_what_follows_an_option_that_is_none_is_not_shown() raises:
    # docs/configuration.md: a `Secret` is *** wherever it is printed; and one slip
    # has one line.
    var text = _refusal[_Shop](
        _given(
            ["S_DATABASE=x", "S_KEY=x", "S_DEBUG=1"],
            ["--kye", "hunter2", "--wait-ms", "x"],
        )
    )
    assert_true("--kye is no option; did you mean --key?" in text, text)
    assert_true("--wait-ms is 'x'" in text, text)
    assert_false("hunter2" in text, text)
    assert_equal(len(text.split("\n")), 3, text)


@fieldwise_init
struct _Inner(Copyable, Movable, SettingsGroup):
    var port: Int
    var text: Int

    def problem(self) -> String:
        return "port is 13" if self.port == 13 else String()


@fieldwise_init
struct _Outer(Copyable, Movable, SettingsGroup):
    """Says again what a struct within has said, as `ServerConfig` does."""

    var port: Int
    var inner: _Inner
    var inner_port_count: Int
    var text: Int

    def problem(self) -> String:
        var found = self.inner.problem()
        if found.byte_length() > 0:
            return String("Outer: ", found)
        if self.inner.text == 13:
            return "inner.text is 13"
        return "port and text are 1" if self.port == 1 else String()


@fieldwise_init
struct _Origins(Copyable, Movable):
    var inner_port: StaticString
    var inner_text: StaticString
    var port: StaticString
    var problem: StaticString


def test_a_problem_of_several_has_one_line_and_the_origins_of_its_fields() raises:
    comptime ROWS: List[_Origins] = [
        # The name is that of a field of the group, not of one around it.
        _Origins("13", "7", "7", "port is 13; inner_port is from S_INNER_PORT"),
        # A field within is named as programs write it; `text` is another one.
        _Origins(
            "7", "13", "7", "inner.text is 13; inner_text is from S_INNER_TEXT"
        ),
        _Origins(
            "7",
            "7",
            "1",
            "port and text are 1; port is from S_PORT; text is from S_TEXT",
        ),
        # Of a single field its own line says all, whatever others are called.
        _Origins("7", "7", "x", "S_PORT is 'x'; it takes an integer"),
    ]
    for row in materialize[ROWS]():
        var text = _refusal[_Outer](
            _given(
                [
                    String("S_INNER_PORT=", row.inner_port),
                    String("S_INNER_TEXT=", row.inner_text),
                    String("S_PORT=", row.port),
                    "S_INNER_PORT_COUNT=7",
                    "S_TEXT=7",
                ],
                [],
            )
        )
        assert_equal(text, String("bad settings\n  ", row.problem))


struct _Texts(Movable):
    var text: String
    var key: Secret


def test_a_field_is_not_mistaken_for_a_word_of_a_sentence() raises:
    assert_equal(
        _refusal[_Texts](_given(["S_TEXT=x"], [])),
        "bad settings\n  S_KEY (or --key) is missing; it takes a text",
    )


def test_two_fields_of_one_name_are_refused() raises:
    var text = _refusal[_Twice](_given([], []))
    assert_true("two fields are called page_size" in text, text)


struct _Twice(Movable):
    var page_size: Optional[Int]
    var limits: _Limits


def test_defaults_of_the_program_come_first() raises:
    var admin = _Admin()
    admin.port = 5
    admin.on = True
    var settings = settings_of[_Admin](_given(["S_PORT=6"], []), admin^)
    assert_equal(settings.value.port, 6)
    assert_true(settings.value.on)


struct _Counted(FromText):
    """Counts how many of its kind there are."""

    var count: Pointer[Int, MutUntrackedOrigin]

    def __init__(out self, count: Pointer[Int, MutUntrackedOrigin]):
        self.count = count
        self.count[] += 1

    @staticmethod
    def from_text(text: StringSpan) raises TextError -> Self:
        raise TextError("cannot be given")

    def __init__(out self, *, deinit move: Self):
        self.count = move.count

    def __deinit__(deinit self):
        self.count[] -= 1


struct _Held(Movable):
    var counted: _Counted
    var number: Int

    def __init__(out self, var counted: _Counted):
        self.counted = counted^
        self.number = 0


def test_what_was_made_is_destroyed_once_when_something_is_bad() raises:
    var count = 0
    var place = Pointer(to=count).unsafe_origin_cast[MutUntrackedOrigin]()
    var text = String()
    try:
        _ = settings_of(
            _given(["S_NUMBER=x"], []), Optional(_Held(_Counted(place)))
        )
    except error:
        text = String(error)
    assert_true("S_NUMBER" in text)
    assert_equal(place[], 0)
    _ = count


def test_the_environment_of_the_process_is_read_when_asked_for() raises:
    assert_true(setenv("FLARE_TEST_SETTINGS_PORT", "77"))
    assert_equal(read_env[_Admin]("FLARE_TEST_SETTINGS_").port, 77)


def test_a_program_that_is_refused_says_a_line_for_each_problem() raises:
    assert_equal(REFUSED_EXIT_CODE, 2)
    assert_equal(
        refusal_lines("shop", ["S_PORT is 'x'; it takes an integer"]),
        "shop: S_PORT is 'x'; it takes an integer\n",
    )
    assert_equal(
        refusal_lines("shop", ["one", "two"]), "shop: one\nshop: two\n"
    )
