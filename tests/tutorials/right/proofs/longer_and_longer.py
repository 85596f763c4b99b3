"""Chains grow by a place at a time, each with the pointstamps that it goes through."""


def could_result_in(edges, steps, times):
    places = set(edges) | {end for ends in edges.values() for end in ends if end}
    chains = {
        ((place, time), (place,), later) for place in places for time in times for later in times if later >= time
    }
    found = set()
    while chains:
        found |= {(first, (visited[-1], time)) for first, visited, time in chains}
        longer = set()
        for first, visited, time in chains:
            last = visited[-1]
            onward = [(edges[last][1], time)] if last in edges else []
            onward += [(edge, later) for node, at, edge, later in steps if node == last and at == time]
            for place, then in onward:
                if place and place not in visited:
                    longer |= {(first, (*visited, place), later) for later in times if later >= then}
        chains = longer
    return found
