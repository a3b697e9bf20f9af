"""Which field of a oneof is set."""

# SAFETY: places are as in flare/protobuf/message.mojo.

from flare.bytes.checked import *
from flare.protobuf.message import (
    Message,
    MessageTable,
    Place,
    place_of,
    table_of,
)
from flare.protobuf.reader import clear_value, has_value


def which_oneof[M: Message](message: M, oneof: Int) -> Int:
    """Tells which field of a oneof is set; generated structs have a method for
    each.

    Parameters:
        M: The message's type.

    Args:
        message: The message.
        oneof: Which oneof, counted from 1.

    Returns:
        The field's number; 0 if none is set. Of several, which a program alone
        can have set, that with the highest number, which a reader would take.
    """
    return _which(place_of(message), table_of[M](), oneof)


def clear_oneof[M: Message](mut message: M, oneof: Int):
    """Empties the fields of a oneof.

    Parameters:
        M: The message's type.

    Args:
        message: The message.
        oneof: Which oneof, counted from 1.
    """
    var table = table_of[M]()
    for index in range(len(table.fields)):
        ref field = table.fields.unsafe_at(index)
        if field.row.oneof == oneof:
            clear_value(field, place_of(message), table, index)


@no_inline
def _which(message: Place, table: MessageTable, oneof: Int) -> Int:
    var found = 0
    for index in range(len(table.fields)):
        ref field = table.fields.unsafe_at(index)
        if field.row.oneof == oneof and has_value(field, message, table, index):
            found = field.row.number
    return found
