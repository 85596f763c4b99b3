"""Could-result-in: what a message may still lead to, and so which times are complete.

A chapter after `when_is_it_done`: `python -m pullstream learn read 9`. It needs no extra. When you have read it, you
can say of a small program, with a pencil, which times are complete where, and of two ways through loops which is the
earlier one.

The question is always: *something is here, at this time; can a message still come there, at that time?* If nothing
anywhere can lead there any more, the time is complete there, and whoever waited for it may act: publish a day's sum,
commit a batch. Below it is answered by hand, from what the nodes do, as Abadi and Isard define it (000, §2 and §3.1 to
§3.3); and then along the paths through loops, whose normal form is the subject of 002. The next chapter answers it by
query, and by the tracker.

What we left out: nodes that look at what a message carries, or that remember, of which 000 speaks at length; here a
node is what it does to times. And recursion, to which its §3.4 extends all this. `tutorials/literature.md` says where
to read 000 and 002.
"""

from pullstream.timely import Antichain, LoopSummary, LoopTime, NaiadSummary, SummaryError
from pullstream.timely.theory import compare_words, model
from pullstream.timely.theory.model import Pointstamp
from tutorials.lesson import say, tell

TIMES = (0, 1, 2)

LOOP = model.ModelGraph(
    nodes=("body", "again"),
    edges=(
        model.Edge("in", destination="body"),
        model.Edge("a", "body", "again"),
        model.Edge("b", "again", "body"),
        model.Edge("out", "body"),
    ),
)


def what_the_nodes_do(advance: int) -> model.Program:
    """The loop with its nodes; `again` sends every message back `advance` steps later, until times run out."""
    return model.Program(
        LOOP,
        {
            "body": model.relation_node({t: [("a", t), ("out", t)] for t in TIMES}),
            "again": model.relation_node({t: [("b", t + advance)] for t in TIMES if t + advance in TIMES}),
        },
        TIMES,
    )


def could_result_in(advance: int) -> model.CouldResultIn:
    """The relation, from what the nodes do."""
    return model.CouldResultIn(LOOP, TIMES, model.one_steps(what_the_nodes_do(advance)))


def single_steps() -> None:
    """1. What one step leads to.

    Two nodes and a loop between them:

        in ──> body ──> out          `body` hands every message on, outward and round the loop, at its own time.
               ^  │                  `again` sends it back one step later.
             b │  │ a
              again

    A *pointstamp* is a place, a node or an edge, and a time: a message on edge `a` at time 1 is the pointstamp (a, 1).
    One step of computation leads from a node to one of its outgoing edges (000, Definition 1). That is all that has to
    be known of the nodes, and it can be found by trying them: with three times there are eight steps.
    """
    for step in sorted(model.one_steps(what_the_nodes_do(advance=1))):
        print(f"an event at {step.time} at {step.node} may send on {step.edge} at {step.later}")
    # | an event at 0 at again may send on b at 1
    # | an event at 1 at again may send on b at 2
    # | an event at 0 at body may send on a at 0
    # | an event at 0 at body may send on out at 0
    # | an event at 1 at body may send on a at 1
    # | an event at 1 at body may send on out at 1
    # | an event at 2 at body may send on a at 2
    # | an event at 2 at body may send on out at 2


def proofs() -> None:
    """2. A chain of steps.

    The rest follows. A message on an edge may cause an event at the edge's destination, an event may cause what it may
    cause later too, and a chain of such steps that visits no place twice is a *proof* that one pointstamp could result
    in another (Definition 2). A message at (a, 1) has to go round before it can come out: a, again, b, body, out, a
    proof of five places. So it comes out at 2, and at 1 it does not.
    """
    leads = could_result_in(advance=1)
    for place in LOOP.locations:
        for t in TIMES[:2]:
            at_out = [u for u in TIMES if leads(Pointstamp(place, t), Pointstamp("out", u))]
            print(f"({place}, {t}) could result in `out` at {at_out}")
    print(
        f"from (a, 1) to (out, 2): {set(model.proof_lengths(leads, Pointstamp('a', 1), Pointstamp('out', 2)))} places"
    )
    # | (body, 0) could result in `out` at [0, 1, 2]
    # | (body, 1) could result in `out` at [1, 2]
    # | (again, 0) could result in `out` at [1, 2]
    # | (again, 1) could result in `out` at [2]
    # | (in, 0) could result in `out` at [0, 1, 2]
    # | (in, 1) could result in `out` at [1, 2]
    # | (a, 0) could result in `out` at [1, 2]
    # | (a, 1) could result in `out` at [2]
    # | (b, 0) could result in `out` at [0, 1, 2]
    # | (b, 1) could result in `out` at [1, 2]
    # | (out, 0) could result in `out` at [0, 1, 2]
    # | (out, 1) could result in `out` at [1, 2]
    # | from (a, 1) to (out, 2): {5} places


def clock() -> None:
    """3. Which times are complete.

    Messages are under way, and rights to send are held: these pointstamps are *pending*. All that they could result in
    is called Clock. Outside it nothing can happen any more, and there times are complete. With one message pending, at
    (a, 1), both earlier times are complete at `out`, and at `b`, where it comes one later, as well.
    """
    leads = could_result_in(advance=1)
    still = leads.unmask(leads.close_up(leads.mask([Pointstamp("a", 1)])))
    for place in ("a", "b", "out"):
        print(f"complete at {place}: {[t for t in TIMES if Pointstamp(place, t) not in still]}")
    # | complete at a: [0]
    # | complete at b: [0, 1]
    # | complete at out: [0, 1]


def into_the_past() -> None:
    """4. Into the past.

    All this stands on one condition: nothing that a node sends comes back to it, round a loop, in the past of what it
    was given (000, Condition 2). Let `again` send *back* in time, and follow an event at 1 at `body`: it leads to
    `again` at 1, and that leads to `body` at 0; but `body` at 1 does not lead to `body` at 0, for a proof visits no
    place twice. So the relation is no longer transitive, which is what Theorem 1 says: it is if, and only if, the
    condition holds. Whoever looks one proof ahead would then announce completions that are taken back. That is why a
    module here may not send at a time that is complete (R12), and why every loop counts.
    """
    for advance in (1, -1):
        leads = could_result_in(advance)
        broken = model.intransitive(leads)
        print(f"`again` sends {advance:+}: Condition 2 {'fails' if model.condition_2(leads) else 'holds'}")
        if broken is not None:
            print(" then ".join(f"({x}, {t})" for x, t in broken), "and from the first to the last:")
            print(leads(broken[0], broken[2]))
    # | `again` sends +1: Condition 2 holds
    # | `again` sends -1: Condition 2 fails
    # | (body, 1) then (again, 1) then (body, 0) and from the first to the last:
    # | False


def two_least_times() -> None:
    """5. A frontier of two.

    Times need not stand in one line. In a loop a time is that outside, and a counter; it is less than or equal to
    another if both are. Of (0, 3) and (1, 0), yesterday three times round and today not yet, neither is before the
    other. What may still come is then not bounded by one least time, but by a set of them of which none is before
    another, an *antichain*; that is what a frontier is. A time is complete if none of these is less than or equal to
    it. In what follows `LoopTime(1, (0,))` is day 1, in the loop, with its counter at 0.
    """
    yesterday, today = LoopTime(0, (3,)), LoopTime(1, (0,))
    print(yesterday <= today, today <= yesterday)
    frontier = Antichain([yesterday, today, LoopTime(1, (3,)), LoopTime(0, (4,))])
    print(frontier)
    for time in (LoopTime(0, (2,)), LoopTime(0, (3,)), LoopTime(1, (2,))):
        print(time, "may still come" if frontier.less_equal(time) else "is complete")
    # | False False
    # | Antichain([LoopTime(0, (3,)), LoopTime(1, (0,))])
    # | LoopTime(0, (2,)) is complete
    # | LoopTime(0, (3,)) may still come
    # | LoopTime(1, (2,)) may still come


def paths_are_words() -> None:
    """6. A path is a word.

    Relations over all times do not scale: there are too many times. But what a path does to a time is simple. Entering
    a loop appends a counter (i), leaving drops it (e), feedback adds one to the last (f). A path is a word of these
    letters, and two rules shorten it (002):

        ie = 1    in and out again is no way at all
        fe = e    a counter that is dropped need not be counted

    What is left when neither applies is the *normal form*, and always looks like e...e f...f if..fif..f: up, feedback
    at the top, down again. To every time it does what the whole path does.
    """
    for word in ("ie", "fe", "if", "iffe", "ieeiffieeif"):
        print(f"{word} = {getattr(LoopSummary.word(word), 'letters', 1)}")
    print(LoopSummary.word("eif").results_in(LoopTime(5, (4, 7))))
    # | ie = 1
    # | fe = e
    # | if = if
    # | iffe = 1
    # | ieeiffieeif = eif
    # | LoopTime(5, (4, 1))


def one_before_another() -> None:
    """7. Which path is the earlier one?

    A path is at or before another if it never gives a later time, whatever goes in. For some pairs neither is: 1 leaves
    the inner counter alone, eif sets it to 1, which is later than a counter at 0 and earlier than one at 7. So of all
    paths between two places one keeps those that none is before, an antichain again; the others never matter.
    """
    one, ei, eif = LoopSummary(), LoopSummary(leaves=1, enters=(0,)), LoopSummary(leaves=1, enters=(1,))
    print(f"1 <= eif: {one <= eif},  eif <= 1: {eif <= one},  ei <= 1: {ei <= one},  ei <= eif: {ei <= eif}")
    for counter in (0, 7):
        time = LoopTime(5, (4, counter))
        print(f"{time}: by eif {eif.results_in(time)}")
    for paths in ([one, eif], [one, eif, ei]):
        print("the least of them:", [path.letters or 1 for path in Antichain(paths)])
    # | 1 <= eif: False,  eif <= 1: False,  ei <= 1: True,  ei <= eif: True
    # | LoopTime(5, (4, 0)): by eif LoopTime(5, (4, 1))
    # | LoopTime(5, (4, 7)): by eif LoopTime(5, (4, 1))
    # | the least of them: [1, 'eif']
    # | the least of them: ['ei']


def in_the_dictionary() -> None:
    """8. As in a dictionary.

    Naiad compares the counters of a time as in a dictionary, the outermost first; then f is before efi, another round
    of the inner loop before a round of the outer one. Coordinate by coordinate, as above, neither is. 002 asks whether
    in Naiad's order the spelling of paths decides as well: compare normal forms as words, i before f before e. It does,
    but only if whoever leaves a loop and comes back passes a feedback at the top of the way. Without one the dictionary
    is wrong: it has ei after 1, although ei, which sets a counter to 0, never gives a later time. So paths are compared
    here by what they do.
    """
    for kind in (NaiadSummary, LoopSummary):
        f, efi = kind(feedback=1), kind(leaves=1, feedback=1, enters=(0,))
        print(f"f <= efi: {f <= efi},  in the dictionary: {compare_words(f, efi) < 0}")
    try:
        compare_words(LoopSummary(leaves=1, enters=(0,)), LoopSummary())
    except SummaryError as error:
        say(error)
    # | f <= efi: True,  in the dictionary: True
    # | f <= efi: False,  in the dictionary: True
    # | LoopSummary('ei') and LoopSummary('') miss the loop condition: words do not decide; compare with <= instead


def main() -> None:
    """Tell the chapter."""
    tell(__name__)


if __name__ == "__main__":
    main()
