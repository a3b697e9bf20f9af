"""Making a struct of any type, field by field."""

from std.memory import unsafe_stack_allocation
from std.reflection import reflect


trait FieldSource:
    """Has a value for each field of a struct."""

    comptime FieldError: Copyable & Deinitable
    """What is raised if there is none."""

    def field[
        T: AnyType, index: Int, F: Movable & Deinitable
    ](mut self) raises Self.FieldError -> F:
        """Makes the value of a field.

        Parameters:
            T: The struct's type.
            index: Which of its fields.
            F: The field's type.

        Returns:
            The value.

        Raises:
            FieldError: If there is none.
        """
        ...


def make_fieldwise[
    T: Movable & Deinitable, S: FieldSource
](mut source: S) raises S.FieldError -> T:
    """Makes a struct of the values of its fields.

    The struct's own initializers are not called: it is for plain structs, that
    are no more than their fields. If a value is missing, those made before it
    are destroyed.

    Parameters:
        T: The struct's type.
        S: The source's type.

    Args:
        source: Asked for the fields in their order.

    Returns:
        The struct.

    Raises:
        FieldError: If the source raises it.
    """
    # SAFETY: fields are written once each, in order; the struct is taken out
    # only when all are there, and else those that are there are destroyed.
    comptime COUNT = reflect[T].field_count()
    var room = unsafe_stack_allocation[1, T]()
    var done = 0
    var failure = Optional[S.FieldError](None)
    comptime for index in range(COUNT):
        comptime F = reflect[T].field_types()[index]
        comptime assert conforms_to(F, Movable & Deinitable)
        if not failure:
            try:
                var value = source.field[T, index, F]()
                Pointer(to=reflect[T].field_ref[index](room[])).unsafe_write(
                    value^
                )
                done += 1
            except error:
                failure = error^
    if not failure:
        return room.unsafe_take_pointee()
    comptime for index in range(COUNT):
        comptime F = reflect[T].field_types()[index]
        comptime assert conforms_to(F, Movable & Deinitable)
        if index < done:
            Pointer(
                to=reflect[T].field_ref[index](room[])
            ).unsafe_deinit_pointee()
    raise failure.take()
