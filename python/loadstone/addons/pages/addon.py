"""What it brings: the web pages."""

from loadstone.addon import AddOn

ADD_ON = AddOn(
    name="pages",
    commands={
        "serve": "loadstone.addons.pages.command:serve_command",
    },
    run_options={
        "watch": "loadstone.addons.pages.watch_run:watched",
    },
)
