"""Which messages can hold one of their own type."""


def recursive_groups(edges: dict[str, set[str]]) -> dict[str, int]:
    """Groups nodes that reach each other, and gives each group's number; nodes
    that do not come back to themselves are left out."""
    # Tarjan's algorithm, with a stack of its own: files may nest deeply.
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    open_nodes: list[str] = []
    groups: dict[str, int] = {}
    for root in edges:
        if root in order:
            continue
        work = [(root, iter(sorted(edges[root])))]
        order[root] = low[root] = len(order)
        open_nodes.append(root)
        while work:
            node, rest = work[-1]
            following = next((one for one in rest if one in edges), None)
            if following is None:
                work.pop()
                if work:
                    outer = work[-1][0]
                    low[outer] = min(low[outer], low[node])
                if low[node] == order[node]:
                    at = open_nodes.index(node)
                    members = open_nodes[at:]
                    del open_nodes[at:]
                    if len(members) > 1 or node in edges[node]:
                        groups |= dict.fromkeys(members, order[node])
            elif following not in order:
                order[following] = low[following] = len(order)
                open_nodes.append(following)
                work.append((following, iter(sorted(edges[following]))))
            elif following in open_nodes:
                low[node] = min(low[node], order[following])
    return groups
