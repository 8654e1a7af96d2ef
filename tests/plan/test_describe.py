from loadstone.plan.describe import describe
from loadstone.plan.design import make_run_plan
from loadstone.spec.catalogue import find
from loadstone.spec.load import load_experiment


def test_what_a_run_will_do_in_words(small: str) -> None:
    experiment = load_experiment(small)
    assert describe(make_run_plan(experiment, blocks=2), experiment).splitlines() == [
        "small",
        "  How fast is a small thing?",
        "",
        "Factors (* where a table does not vary it)",
        "  operation  set*, get",
        "  payload    100 B, 1 kB*",
        "  workers    1*, 8",
        "  idle       few*, many",
        "",
        "Tables",
        "  by-size: By size: 4 rows (operation 2 x payload 2)",
        "  by-users: By users: 4 rows (workers 2 x idle 2, operation set)",
        "",
        "7 conditions, 2 blocks in random order (seed 1): 14 trials",
        "Load: about 42 s; preparing the data and the servers comes on top",
        "Server redis: embedded",
    ]


def test_what_is_left_out_is_said(small: str) -> None:
    experiment = load_experiment(small)
    text = describe(make_run_plan(experiment, quick=True, only={"workers": (1,)}), experiment)
    assert "  by-users: By users: 1 of 4 rows" in text
    assert "Quick: trials are short, and what they cannot tell is left out" in text
    assert "One block: the figures describe, nothing is compared" in text
    text = describe(make_run_plan(experiment, only={"workers": (8,)}), experiment)
    assert "  not in this run: by-size" in text
    text = describe(make_run_plan(experiment, as_published=True), experiment)
    assert text.endswith("As published: As it was.")


def test_the_json_study_says_how_long_it_takes() -> None:
    experiment = find("json-documents")
    text = describe(make_run_plan(experiment), experiment)
    assert "83 conditions, 1 block in random order (seed 1): 83 trials" in text
    assert "Load: about 15 min, at most 64 min; preparing the data and the servers comes on top" in text
    assert max(len(line) for line in text.splitlines()) <= 110
