"""Which types have a form in JSON, and what to say of one that has none.

The sentences are made by the compiler, for programs that it refuses.
"""

from flare.bytes.utf8 import lossy_text
from std.reflection import reflect

comptime _DEFAULT_HASHER = StaticString(
    ", std.hash._ahash.AHasher[[0, 0, 0, 0] : SIMD[DType.uint64, 4]]"
)


def is_json_scalar[T: AnyType]() -> Bool:
    """Tells whether values of a type are a boolean, a number or a text in JSON:
    `Bool`, `String`, integers of up to 64 bits and floats of 32 and 64 bits."""
    comptime IS_SIGNED = (
        T == Int or T == Int64 or T == Int32 or T == Int16 or T == Int8
    )
    comptime IS_UNSIGNED = (
        T == UInt64 or T == UInt32 or T == UInt16 or T == UInt8
    )
    comptime IS_FLOAT = T == Float64 or T == Float32
    return T == Bool or T == String or IS_SIGNED or IS_UNSIGNED or IS_FLOAT


def is_plain_struct[T: AnyType]() -> Bool:
    """Tells whether a type is no more than its fields, as far as can be told:
    not those of the standard library, and what is no struct."""
    comptime if reflect[T].is_struct():
        # What the compiler knows without an import has no module in its name.
        var name = String(materialize[reflect[T].name()]()).split("[")[0]
        return "." in name and not name.startswith("std.")
    else:
        return False


def type_name[T: AnyType]() -> String:
    """Names a type as a program writes it, such as `Optional[Int]`."""
    return readable_type_name(materialize[reflect[T].name()]())


def readable_type_name(full: StringSpan) -> String:
    """Names a type as a program writes it, such as `Optional[Int]`, by its name
    as reflection has it, with modules and defaults."""
    var name = full.replace("SIMD[DType.int, 1]", "Int")
    name = name.replace("SIMD[DType.bool, 1]", "Bool")
    name = name.replace("SIMD[DType.float64, 1]", "Float64")
    name = name.replace(_DEFAULT_HASHER, "")
    var octets = List[UInt8]()
    # Of a name with dots the last part is kept.
    var start = 0
    for octet in name.as_bytes():
        if octet == 46:
            octets.shrink(start)
            continue
        octets.append(octet)
        if octet == 91 or octet == 44 or octet == 32:
            start = len(octets)
    return lossy_text(octets)


def json_field_problem[
    S: AnyType, index: Int, knows_form: Bool, trait_name: StaticString
]() -> String:
    """Says that a field of a struct has no form in JSON, if it has none. Its
    type has a form of its own if `knows_form`; `trait_name` is what such types
    conform to."""
    comptime F = reflect[S].field_types()[index]
    comptime if knows_form or is_json_scalar[F]() or is_plain_struct[F]():
        return String()
    else:
        return String(
            "struct ",
            type_name[S](),
            ": field '",
            materialize[reflect[S].field_names()[index]](),
            "' is of type ",
            type_name[F](),
            (
                ", which has no form in JSON; make it a Bool, Int, Float64,"
                " String, List, Dict[String, V], Optional or a struct of such,"
                " or let its type conform to "
            ),
            trait_name,
        )
