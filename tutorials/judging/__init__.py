"""The judge of the exercises: an answer is a file with a module or a function, and is right, or wrong in one way.

A spec, a file of `tutorials.exercises.judges`, has a function `judge(answer, seeds)` that calls the checks of this
package, the simplest first. A check that fails raises `Wrong`, with the kind of the mistake; that is the verdict.
"""

from tutorials.judging.answer import Answer, Unjudgeable
from tutorials.judging.verdict import Verdict, Wrong

__all__ = ["Answer", "Unjudgeable", "Verdict", "Wrong"]
