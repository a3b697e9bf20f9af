"""Assertions that cost a line or two of code at each of their calls.

Those of the standard library are inlined with all they do when they fail, which
was a third of what the tests' programs had the compiler read.
"""

from std.reflection import SourceLocation, call_location


@always_inline
def assert_true[
    T: Boolable, //
](value: T, why: StringSpan = "it is not true") raises:
    """Fails a test unless something holds.

    Args:
        value: What has to hold.
        why: What is said of it if it does not.

    Raises:
        Error: It does not hold.
    """
    if not value:
        raise _failure(why, call_location())


@always_inline
def assert_false[
    T: Boolable, //
](value: T, why: StringSpan = "it is true") raises:
    """Fails a test if something holds.

    Args:
        value: What must not hold.
        why: What is said of it if it does.

    Raises:
        Error: It holds.
    """
    if value:
        raise _failure(why, call_location())


@always_inline
def assert_equal[
    T: Equatable & Writable, //
](left: T, right: T, why: StringSpan = "") raises:
    """Fails a test unless two values are the same.

    Args:
        left: What was found.
        right: What is expected.
        why: What is said beside the two if they differ.

    Raises:
        Error: They differ.
    """
    _compare(left, right, why, call_location())


@always_inline
def assert_equal(
    left: StringSpan, right: StringSpan, why: StringSpan = ""
) raises:
    """Fails a test unless two texts are the same.

    Args:
        left: What was found.
        right: What is expected.
        why: What is said beside the two if they differ.

    Raises:
        Error: They differ.
    """
    _compare_texts(left.as_imm(), right.as_imm(), why.as_imm(), call_location())


struct assert_raises:
    """Fails a test unless the block below `with` raises."""

    var _contains: String
    var _location: SourceLocation

    @always_inline
    def __init__(out self, *, contains: StringSpan = ""):
        """Expects an error.

        Args:
            contains: What its text must have.
        """
        self = Self(contains, call_location())

    @no_inline
    def __init__(out self, contains: StringSpan, location: SourceLocation):
        self._contains = String(contains)
        self._location = location

    def __enter__(self) -> String:
        """Begins the block.

        Returns:
            What the error's text must have.
        """
        return self._contains

    @no_inline
    def __exit__(self) raises:
        """Ends a block that did not raise.

        Raises:
            Error: Always.
        """
        raise _failure("nothing was raised", self._location)

    @no_inline
    def __exit__[E: AnyType](self, error: E) raises -> Bool:
        """Ends a block that raised.

        Args:
            error: What was raised.

        Returns:
            True: it is what was expected.

        Raises:
            Error: It is something else.
        """
        comptime assert conforms_to(E, Writable), "an error that says nothing"
        var text = String(error)
        if self._contains not in text:
            raise _failure(
                String("no '", self._contains, "' in: ", text), self._location
            )
        return True


@no_inline
def _failure(why: StringSpan, location: SourceLocation) -> Error:
    return Error(location.prefix(String("AssertionError: ", why)))


@no_inline
def _compare[
    T: Equatable & Writable
](left: T, right: T, why: StringSpan, location: SourceLocation) raises:
    if left != right:
        raise _difference(String(left), String(right), why, location)


@no_inline
def _compare_texts(
    left: StringSpan,
    right: StringSpan,
    why: StringSpan,
    location: SourceLocation,
) raises:
    if not (left == right):
        raise _difference(left, right, why, location)


@no_inline
def _difference(
    left: StringSpan,
    right: StringSpan,
    why: StringSpan,
    location: SourceLocation,
) -> Error:
    var text = String("they differ:\n   left: ", left, "\n  right: ", right)
    if why.byte_length() > 0:
        text.write("\n  reason: ", why)
    return _failure(text, location)
