#!/usr/bin/env python3
"""federation_demo.py PROGRAM: `./dev demo federation` finds nothing wrong; and if one number that it observed were another one, its
summary would say so."""

import copy
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def load():
    path = os.path.join(HERE, "../../examples/federation/demo.py")
    spec = importlib.util.spec_from_file_location("demo", path)
    demo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(demo)
    return demo


def changes(demo):
    """Name and change of the observations, each of which must make one line of the summary wrong."""
    rosewood, willow = demo.ROSEWOOD, demo.WILLOW
    account = ("users", 1)
    return {
        "the factor without the liar is the default": lambda facts: facts.update(factor_before=0.1, factors_after=[0.1]),
        "the liar moves the factor by a fifth": lambda facts: facts["factors_after"].append(0.6),
        "the liar is not counted": lambda facts: facts.update(supporters_after=facts["supporters_before"]),
        "Cedar grants what it granted without a factor": lambda facts: facts.update(ratio_factor=facts["ratio_default"]),
        "a direct feed loses a micro-credit": lambda facts: facts["hub"][rosewood].update(
            {account: facts["hub"][rosewood][account] - 1}),
        "a file loses a micro-credit": lambda facts: facts["hub"][willow].update({account: facts["hub"][willow][account] - 1}),
        "a sum is of another edition": lambda facts: facts["hub_sums"].update({rosewood: 0}),
        "an account is missing": lambda facts: facts["hub"][rosewood].pop(account),
        "the liar's file is not that of the hub": lambda facts: facts.update(liar_file=0),
        "two people are joined": lambda facts: facts["people_after"].update(Ann=[]),
        "the total of a person is another one": lambda facts: facts["person_sums"].update(Ann=1),
        "a lie is accepted": lambda facts: facts["held"].__setitem__(0, ("credit", "")),
    }


def main():
    demo = load()
    judge, seen = demo.judge, []

    def remember(facts):
        seen.append(facts)
        return judge(facts)

    demo.judge = remember
    sys.argv = ["demo.py", sys.argv[1], "--no-page"]
    code = demo.main()
    if code != 0 or len(seen) != 1:
        sys.exit(f"federation_demo.py: the demo found something wrong (exit code {code})")
    for name, change in changes(demo).items():
        facts = copy.deepcopy(seen[0])
        change(facts)
        if judge(facts).failed != 1:
            sys.exit(f"federation_demo.py: not noticed once: {name}\n" + "\n".join(judge(facts).lines))


if __name__ == "__main__":
    main()
