"""What it brings: all runs of a folder."""

from loadstone.addon import AddOn

ADD_ON = AddOn(
    name="history",
    commands={
        "compare": "loadstone.addons.history.compare:compare_command",
        "history": "loadstone.addons.history.command:history_command",
        "runs": "loadstone.addons.history.list_runs:runs_command",
        "tag": "loadstone.addons.history.list_runs:tag_command",
        "baseline": "loadstone.addons.history.baseline_command:baseline_app",
    },
    sentences={
        "run_differences": "loadstone.addons.history.texts:RUN_DIFFERENCES",
        "between_runs": "loadstone.addons.history.texts:BETWEEN_RUNS",
    },
)
