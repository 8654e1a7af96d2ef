from tests.experiments import find_experiment

from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.experiment.plan.preview import preview_plan
from loadstone.experiment.spec.loading import load_experiment
from loadstone.report.terminal.announcement import description
from loadstone.text.message import verbatim


def test_what_a_run_will_do_as_text(small: str) -> None:
    experiment = load_experiment(small)
    assert description(preview_plan(make_run_plan(experiment, blocks=2), experiment), experiment).splitlines() == [
        "small",
        "  How fast is a small thing?",
        "",
        "Factors (* the default, where a table or a comparison sets no other level)",
        "  operation  set*, get",
        "  payload    100 B, 1 kB*",
        "  workers    1*, 8",
        "  idle       few*, many",
        "",
        "Tables",
        "  by-size: By size: 4 rows (operation 2 x payload 2)",
        "  by-users: By users: 4 rows (workers 2 x idle 2, operation set)",
        "",
        "7 conditions; in random order (seed 1)",
        "Time: about 42 s, at most 74 s; starting the servers comes on top",
        "7 rows are measured at a fixed rate, too (50% of what each can do): at most 32 s of that",
        "7 of the tables' rows take turns: each of 48 rounds measures every row once, for 100 ms (a slice); about 36 s "
        "in all",
        "Nothing is compared: the tables only describe this run",
        "Server redis: embedded",
    ]


def test_what_is_left_out_is_said(small: str) -> None:
    experiment = load_experiment(small)
    text = description(preview_plan(make_run_plan(experiment, only={"workers": (1,)}), experiment), experiment)
    assert "  by-users: By users: 2 of 4 rows" in text
    text = description(preview_plan(make_run_plan(experiment, quick=True), experiment), experiment)
    assert "  not in this run: by-users" in text
    assert "Quick: slices and trials are short, and what they cannot answer is left out" in text
    assert "Nothing is compared: the tables only describe this run" in text
    text = description(preview_plan(make_run_plan(experiment, only={"workers": (8,)}), experiment), experiment)
    assert "  not in this run: by-size" in text
    text = description(preview_plan(make_run_plan(experiment, as_published=True), experiment), experiment)
    assert text.endswith("As published: As it was.")


def test_comparisons_as_text(compared: str) -> None:
    experiment = load_experiment(compared)
    text = description(
        preview_plan(make_run_plan(experiment), experiment), experiment, {"kinds": verbatim("it can show 100 %")}
    )
    assert text[text.index("Comparisons") :].splitlines() == [
        "Comparisons",
        "  users: Do more users get more done?",
        "    2 pairs: workers 1 against 8, at operation set, get; payload 100 B",
        "    goodput_per_s decides, less than 5 % does not matter; judged after 12, 18, 27 and 40 blocks, until every",
        "    pair is decided; a block measures each of 4 conditions once, for 4 s (a whole trial) plus 1.6 s of",
        "    overhead",
        "  kinds: Does the kind matter?",
        "    1 pair: operation set against get, at idle few",
        "    response_ns.p99 decides, less than 20 % does not matter; judged after 8, 12, 18, 27 and 40 blocks, until",
        "    every pair is decided; all are driven at one rate, 50 % of what the slowest can do; a block measures each",
        "    of 2 conditions once, for 4 s (a whole trial) plus 1.6 s of overhead",
        "    it can show 100 %",
        "",
        "9 conditions; 5 of them for tables; 2 comparisons; in random order (seed 1); 85 to 261 whole trials",
        "Time: about 8 min to the first look at every comparison; the budget ends it after 20 min, with starts "
        "and report",
        "7 rows are measured at a fixed rate, too (50% of what each can do): at most 70 s of that",
        "5 of the tables' rows by whole trials, 3 times for 2 s each",
        "Server redis: embedded",
    ]


def test_comparisons_that_do_not_run_are_named(compared: str) -> None:
    experiment = load_experiment(compared.replace("    metric:", "    quick: false\n    metric:"))
    text = description(preview_plan(make_run_plan(experiment, quick=True), experiment), experiment)
    assert "  users: Do more users get more done?" in text
    assert "  not in this run: kinds" in text
    assert "Rows that are in tables only are measured once, without an interval or a verdict" in text
    text = description(preview_plan(make_run_plan(experiment, as_published=True), experiment), experiment)
    assert "  not in this run: users, kinds" in text
    assert "Nothing is compared: the tables only describe this run" in text


def test_a_table_that_quick_leaves_out_is_left_out_though_a_comparison_measures_its_rows(compared: str) -> None:
    experiment = load_experiment(compared)
    run_plan = make_run_plan(experiment, quick=True)
    text = description(preview_plan(run_plan, experiment), experiment)
    assert "  not in this run: by-users" in text


def test_a_budget_that_is_too_small_is_said(compared: str) -> None:
    experiment = load_experiment(compared)
    text = description(preview_plan(make_run_plan(experiment, budget_s=60), experiment), experiment)
    assert "Time: 60 s, the budget; about 4 min would be needed: what the budget does not reach stays" in text
    assert "a block measures each of 4 conditions once, for 0.7 s (a whole trial)" in text.replace("\n    ", " ")
    assert "Compared slices and trials are shorter than usual, since the budget has no room for longer ones" in text


def test_fixed_blocks_have_one_end(compared: str) -> None:
    experiment = load_experiment(compared)
    text = description(preview_plan(make_run_plan(experiment, blocks=9), experiment), experiment)
    assert "judged after 9 blocks; a block measures" in text.replace("\n    ", " ")
    assert "Time: about 8 min, at most 10 min; starting the servers comes on top" in text


def test_the_json_study_says_how_long_it_takes() -> None:
    experiment = find_experiment("json-documents")
    text = description(preview_plan(make_run_plan(experiment), experiment), experiment)
    assert "89 conditions; 62 of them for tables; 4 comparisons; in random order (seed 1); " in text
    assert "Time: about 17 min to the first look at every comparison; the budget ends it after 45 min, with" in text
    words = text[: text.index("89 conditions")].splitlines()
    assert max(map(len, words)) <= 110


def test_what_is_started_filled_and_killed_as_text(app: str) -> None:
    experiment = load_experiment(app)
    text = description(preview_plan(make_run_plan(experiment, seed=1), experiment), experiment)
    assert text[text.index("Crashes") :].splitlines() == [
        "Crashes",
        "  durability: Writes lost when Redis is killed: 3 conditions, 3 times each (work direct; store redis-json; "
        "aof",
        "    no, everysec, always)",
        "",
        "10 conditions; 7 of them for tables; 1 comparison; in random order (seed 1); 81 to 165 whole trials",
        "Time: about 13 min to the first look at every comparison; the budget ends it after 20 min, with starts "
        "and report; a first build of app is included",
        "Of that about 4 min for starting and warming up app and writing posts",
        "10 rows are measured at a fixed rate, too (50% of what each can do): at most 2 min of that",
        "9 crashes at the end, about 45 s of that",
        "Scale 50 %: users and rows are 50 % of those written",
        "7 of the tables' rows by whole trials, 6 times for 5 s each: garbage collections and compilations of an "
        "application last longer than a slice",
        "Server mariadb: mariadb (work write, read; store mariadb)",
        "Server redis: embedded (store redis-hash, redis-json)",
        "Subject app: spring (work write, read); restarted for each store and replicas",
        "Data posts: 5,000 rows into mariadb and redis",
    ]


def test_parts_that_no_trial_needs_are_not_reported(app: str) -> None:
    experiment = load_experiment(app)
    run_plan = make_run_plan(experiment, only={"store": ("mariadb",)}, quick=True)
    text = description(preview_plan(run_plan, experiment), experiment)
    assert "  durability: not in this run\n" in text
    assert "Server redis" not in text
    assert text.endswith("Data posts: 2,500 rows into mariadb")
