"""Take a name out of an import list: the one rewrite that is more than a span (commas, parentheses)."""

from __future__ import annotations


def without(statement: str, name: str) -> str:
    """`statement` (one `from ... import ...`, undented) without `name`, its other layout as it was.

    Uses libcst on this one statement, since a list may be in parentheses, over several lines, with a
    trailing comma and comments between the names. A comment that stood at the name is lost with it; the
    engine sees that and refuses the change.

    Raises:
        ValueError: the statement is no such import, does not hold the name, or holds nothing else.
    """
    import libcst as cst

    line = cst.parse_statement(statement)
    node = line.body[0] if isinstance(line, cst.SimpleStatementLine) else None
    if not isinstance(node, cst.ImportFrom) or isinstance(node.names, cst.ImportStar):
        raise ValueError(f"not an import list: {statement!r}")
    kept = [alias for alias in node.names if alias.evaluated_name != name]
    if not kept or len(kept) == len(node.names):
        raise ValueError(f"{name!r} cannot be taken out of {statement!r}")
    if node.names[-1].evaluated_name == name:
        # The new last name ends as the old one did: with or without a comma, on its own line or not.
        kept[-1] = kept[-1].with_changes(comma=node.names[-1].comma)
    return cst.Module([]).code_for_node(node.with_changes(names=kept))
