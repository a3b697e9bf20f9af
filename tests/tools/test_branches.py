"""Where the branches of a program lead, of what objdump tells."""

from branches import branches

DUMP = """
0000000000011030 <_start>:
   11030:\txor    %ebp,%ebp
   11032:\tjne    11040 <_start+0x10>
   11034:\tmov    %rsp,%rdi
   11037:\tjmp    11030 <_start>
   11039:\tjmp    *%rax
   1103b:\tcall   12000 <other>
   11040:\tret
"""


def test_targets_and_what_stands_behind_a_jump_that_may_not_be_taken():
    assert sorted(branches(DUMP.splitlines())) == [0x11030, 0x11034, 0x11040]
