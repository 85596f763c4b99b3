# wrong: values
"""It assumes that a message needs a step to reach the end of its edge."""


def could_result_in(edges, steps, times):
    def onward(place, time):
        if place in edges:
            return [(end, time + 1) for end in edges[place][1:] if end is not None]
        return [(edge, later) for node, at, edge, later in steps if (node, at) == (place, time)]

    def chains(place, time, visited):
        for waited in times:
            if waited >= time:
                yield place, waited
                for there, then in onward(place, waited):
                    if there not in visited:
                        yield from chains(there, then, {*visited, there})

    places = {*edges, *(end for ends in edges.values() for end in ends if end is not None)}
    stamps = [(place, time) for place in places for time in times]
    return {((place, time), found) for place, time in stamps for found in chains(place, time, {place})}
