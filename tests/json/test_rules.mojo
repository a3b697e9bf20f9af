"""Rules of fields: who keeps them, and what the schema says of them."""

from flare.json.rules import (
    FieldRules,
    Ruled,
    broken_rules,
    ruled_schema,
    rules_problem,
)
from flare.json.schema import SchemaBook, schema_of
from flare.json.value import parse
from tests.support.assertions import assert_equal, assert_true


@fieldwise_init
struct _Order(Copyable, Movable, Ruled):
    var name: String
    var count: Int
    var level: UInt8
    var price: Float64
    var note: Optional[String]
    var tags: List[String]
    var is_gift: Bool

    @staticmethod
    def rules(mut rules: FieldRules):
        rules.length("name", 1, 5)
        rules.pattern("name", '^[a-z"\\\\]+$')
        rules.between("count", 1, 10)
        rules.at_least("level", 3)
        rules.at_most("price", 100)
        rules.at_least("price", 0)
        rules.length("note", 2, 3)
        rules.count("tags", 0, 2)


@fieldwise_init
struct _Free(Copyable, Movable, Ruled):
    var name: String


@fieldwise_init
struct _NoField(Copyable, Movable, Ruled):
    var name: String

    @staticmethod
    def rules(mut rules: FieldRules):
        rules.length("nam", 1, 5)


@fieldwise_init
struct _NoNumber(Copyable, Movable, Ruled):
    var name: String

    @staticmethod
    def rules(mut rules: FieldRules):
        rules.at_least("name", 1)


@fieldwise_init
struct _Never(Copyable, Movable, Ruled):
    var tags: List[Int]

    @staticmethod
    def rules(mut rules: FieldRules):
        rules.count("tags", 2, 1)


def _good() -> _Order:
    return _Order("tea", 1, 3, 0, None, [], False)


def _told(order: _Order) -> String:
    var text = String()
    for broken in broken_rules(order):
        text.write(broken.field, ": ", broken.reason, "; ")
    return text^


def test_values_at_the_bounds_keep_their_rules() raises:
    assert_equal(_told(_good()), "")
    var most = _good()
    # Characters are code points, not octets.
    most.name = "\u00e4\u00e4\u00e4\u00e4\u00e4"
    most.count = 10
    most.level = 255
    most.price = 100
    most.note = String("abc")
    most.tags = ["a", "b"]
    assert_equal(_told(most), "")
    assert_equal(len(broken_rules(_Free(""))), 0)


def test_values_beyond_the_bounds_break_them() raises:
    var order = _good()
    order.name = ""
    assert_equal(_told(order), "name: must have 1 to 5 characters; ")
    order = _good()
    order.name = "abcdef"
    order.count = 0
    order.level = 2
    order.price = 100.5
    order.note = String("a")
    order.tags = ["a", "b", "c"]
    assert_equal(
        _told(order),
        (
            "name: must have 1 to 5 characters; count: must be 1 to 10; level:"
            " must be at least 3; price: must be at most 100; note: must have 2"
            " to 3 characters; tags: must have at most 2 elements; "
        ),
    )
    order = _good()
    order.count = 11
    order.price = -0.5
    order.note = String("abcd")
    assert_equal(
        _told(order),
        (
            "count: must be 1 to 10; price: must be at least 0; note: must have"
            " 2 to 3 characters; "
        ),
    )


def test_the_schema_has_the_keywords_of_the_rules() raises:
    # JSON Schema 2020-12, Validation, section 6.
    var book = SchemaBook()
    _ = schema_of[_Order](book)
    var schema = parse(book.schemas[0].schema)
    var fields = schema["properties"]
    assert_equal(fields["name"]["minLength"].int_value(), 1)
    assert_equal(fields["name"]["maxLength"].int_value(), 5)
    assert_equal(fields["name"]["pattern"].string_value(), '^[a-z"\\\\]+$')
    assert_equal(fields["count"]["minimum"].int_value(), 1)
    assert_equal(fields["count"]["maximum"].int_value(), 10)
    # In place of what the type says, not beside it.
    assert_equal(book.schemas[0].schema.count('"minimum"'), 3)
    assert_equal(fields["level"]["minimum"].int_value(), 3)
    assert_equal(fields["level"]["maximum"].int_value(), 255)
    assert_equal(fields["price"]["maximum"].int_value(), 100)
    # It holds for texts, and says nothing of null.
    assert_true(fields["note"].contains("anyOf"))
    assert_equal(fields["note"]["minLength"].int_value(), 2)
    assert_equal(fields["tags"]["maxItems"].int_value(), 2)
    assert_true(not fields["tags"].contains("minItems"))
    assert_equal(len(fields["is_gift"]), 1)


def test_a_schema_of_which_nothing_is_known_gets_them_too() raises:
    var rules = FieldRules()
    rules.at_least("any", 1)
    assert_equal(ruled_schema(rules, "any", "{}"), '{"minimum":1}')
    assert_equal(ruled_schema(rules, "other", "{}"), "{}")


def test_rules_that_fit_to_no_field_do_not_compile() raises:
    assert_equal(rules_problem[_Order](), "")
    assert_true("'nam' is no field of it" in rules_problem[_NoField]())
    assert_true("'name' is no number" in rules_problem[_NoNumber]())
    assert_true("least is above the greatest" in rules_problem[_Never]())
