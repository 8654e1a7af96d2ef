"""Conclusions and lessons as the sample of reports has them."""

from loadstone.addons.studies.answers import ConclusionAnswer, ConclusionAnswers, LessonAnswer, LessonAnswers
from loadstone.text.message import verbatim


def conclusions() -> ConclusionAnswers:
    return ConclusionAnswers(
        [
            ConclusionAnswer(
                claim="Over 6,000 JSON SETs a second on a laptop.",
                answer=verbatim("One Redis took 92,593 SETs of 222 B a second from 32 workers."),
                evidence=list(map(verbatim, ["set, 100 B, 32 workers: 92,593 RPS (b01-021)"])),
                verdict="holds",
            ),
            ConclusionAnswer(
                claim="A partial update costs what a set of that size costs.",
                answer=verbatim("The two were measured once each: a difference of this size may be chance."),
                evidence=list(map(verbatim, ["update, 10 B: 18,868 RPS (b01-013)", "set, 10 B: 17,857 RPS (b01-000)"])),
                verdict="one_block",
            ),
            ConclusionAnswer(
                claim="A cluster would give tens to hundreds of thousands.",
                answer=verbatim("One server on one machine cannot tell."),
                evidence=[],
                verdict="not_answered_here",
            ),
        ]
    )


def lessons() -> LessonAnswers:
    return LessonAnswers([
        LessonAnswer(
            then="Errors were counted into TPS: 2,700 TPS at 2.6 % errors is above the 2,100 without.",
            now=verbatim(
                "MariaDB, 3,000 vUsers: TPS 359, of which 350 a second were right; 2.6 % errors make it invalid."
            ),
            verdict="caught",
        ),
        LessonAnswer(
            then="GET with Redis differs by AOF mode although AOF does not touch reads.",
            now=verbatim("Undecided on this machine: 3 pairs, none of them decided."), verdict="unknown",
        ),
        LessonAnswer(
            then="LPOP under everysec beats no AOF: noise, or an empty list.",
            now=verbatim("All 312,004 LPOP found an element."), verdict="did_not_happen",
        ),
    ])  # fmt: skip
