# wrong: values
"""It joins proofs to each other, and so visits a place twice."""


def could_result_in(edges, steps, times):
    places = {*edges, *(end for ends in edges.values() for end in ends if end is not None)}
    found = {((place, time), (place, later)) for place in places for time in times for later in times if later >= time}
    one = {((edge, time), (end, time)) for edge, (_, end) in edges.items() for time in times if end is not None}
    one |= {((node, time), (edge, later)) for node, time, edge, later in steps} | found
    while True:
        longer = {(here, there) for here, middle in found for start, there in one if start == middle}
        if longer <= found:
            return found
        found |= longer
