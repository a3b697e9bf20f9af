"""Symbols that a program may be linked with, or without."""

from std.sys import CompilationTarget, inlined_assembly


@always_inline
def weak_symbol[name: StaticString]() -> Int:
    """Tells the address of a symbol that the program need not have, or its
    value if the linker was given one (`--defsym`); 0 if the program is linked
    without it. Only Linux is asked: elsewhere no symbol is there."""
    comptime if not CompilationTarget.is_linux():
        return 0
    elif CompilationTarget.is_x86():
        return inlined_assembly[
            ".weak " + name + "\n\tmovq " + name + "@GOTPCREL(%rip), $0",
            Int,
            constraints="=r",
            has_side_effect=False,
        ]()
    else:
        return inlined_assembly[
            ".weak "
            + name
            + "\n\tadrp $0, :got:"
            + name
            + "\n\tldr $0, [$0, :got_lo12:"
            + name
            + "]",
            Int,
            constraints="=r",
            has_side_effect=False,
        ]()
