"""Machines of random programs, for the tests of the model."""

import random

from timely.theory.model import SHAPES, CouldResultIn, Machine, condition_1, condition_2, new_requests, one_steps
from timely.theory.model.small import Wild, random_program


def leads_of(program):
    """Could-result-in from the behaviour of the program's nodes."""
    return CouldResultIn(program.graph, program.times, one_steps(program))


def machine_of(program, **options):
    return Machine(program, leads_of(program), **options)


def meets_conditions(machine):
    past_request = condition_1(new_requests(machine.program), machine.program.times)
    return past_request is None and condition_2(machine.leads) is None


def sound_machines(seed, count, *, edges=3, **options):
    """Random programs that meet Conditions 1 and 2, over every shape of times."""
    rng = random.Random(seed)
    made = 0
    while made < count:
        for times in SHAPES.values():
            machine = machine_of(random_program(rng, times, Wild(past_sends=0.1), edges=edges), **options)
            if meets_conditions(machine):
                made += 1
                yield rng, machine


def begin(rng, machine, most=2):
    """An initial state (InitProp) with a few random messages on the input edges."""
    inputs = [edge.name for edge in machine.program.graph.edges if edge.is_input]
    queues = {name: rng.choices(machine.program.messages, k=rng.randint(0, most)) for name in inputs}
    return machine.initial(queues)[0]
