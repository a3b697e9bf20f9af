"""How the lines of a program's IR are counted and judged."""

import build_size


def test_counts_lines_that_are_not_blank():
    assert build_size.line_count("define i1 @f() {\n\n  \n  ret i1 0\n}\n") == 3


def test_accepts_what_fits():
    assert build_size.verdict("p", 1_000, 1_000) == ""
    assert build_size.verdict("p", 900, 1_000) == ""
    assert build_size.verdict("p", 1, 1_000) == ""


def test_refuses_what_has_grown():
    said = build_size.verdict("p", 1_001, 1_000)
    assert "1 more than its budget" in said


def test_every_budget_is_of_a_program_that_is_there():
    budgets = build_size.budgets()
    assert len(budgets) == 3
    for program in budgets:
        assert (build_size.ROOT / program).is_file()
