"""Every item of 000 that has a number, or a name, is found in the model under it."""

import importlib
import inspect

import pytest

ITEMS = {
    # section 2
    "section 2.1": "graph",
    "section 2.2": "nodes.Node",
    "g over local histories": "nodes.g",
    "buffer node": "nodes.buffer",
    # section 3
    "Def. 1": "could_result_in.one_steps",
    "Def. 2": "could_result_in.CouldResultIn",
    "Proposition 1.1": "properties.proposition_1_1",
    "Proposition 1.2": "properties.proposition_1_2",
    "Proposition 1.3": "properties.proposition_1_3",
    "Def. 3": "conditions.could_request",
    "Condition 1": "conditions.condition_1",
    "Condition 2": "conditions.condition_2",
    "Theorem 1": "properties.theorem_1",
    "Proposition 2": "properties.proposition_2",
    "upward closed": "could_result_in.CouldResultIn.is_upward_closed",
    "Close": "could_result_in.CouldResultIn.close_up",
    "Proposition 3": "properties.proposition_3",
    "section 3.4": "recursion",
    "the relation on stacks": "recursion.stacks_lead",
    "Proposition 4": "recursion.proposition_4",
    "Proposition 5": "recursion.proposition_5",
    "Proposition 6": "recursion.proposition_6",
    "the first call in which two stacks differ": "recursion.first_difference",
    # section 4
    "stutter-free": "explore.stutter_free",
    "closed under stuttering": "explore.stutter_free",
    "externally visible": "explore.visible_traces",
    "Clock": "machine.Machine.clock",
    "InitProp": "machine.Machine.initial",
    "Mess": "machine.Receive",
    "Not": "machine.Notify",
    "Inp": "machine.Inp",
    "Outp": "machine.Outp",
    "ISpec": "machine.Machine",
    "reordering": "machine.Machine",
    "section 4.3": "composition.compose_graphs",
    "Acts": "machine.acts",
    "Spec1 and Spec2": "composition.Composite",
    "not (Acts1 and Acts2)": "composition.Composite",
    # section 5
    "Proposition 7": "properties.proposition_7",
    "Proposition 8": "properties.proposition_8",
    "Proposition 9": "properties.proposition_9",
    "Theorem 2": "properties.theorem_2",
}


def words(text):
    return " ".join(text.split()).lower()


@pytest.mark.parametrize("item", ITEMS)
def test_every_item_is_found_by_its_number_or_name(item):
    """It is where the table says, and bears the number or name in its own, or where it is described."""
    module, *path = ITEMS[item].split(".")
    found = importlib.import_module(f"timely.theory.model.{module}")
    for name in path:
        found = getattr(found, name)
    described = words(inspect.getdoc(found) or "")
    named = ITEMS[item].rpartition(".")[2].replace("_", " ")
    number = item.lower().replace(".", " ")
    unnumbered = {"g over local histories", "the relation on stacks", "the first call in which two stacks differ"}
    assert described
    assert item in unnumbered or item.lower() in described or words(number) == words(named)
