"""What it brings: recorded commands on two servers, and their replies compared."""

from loadstone.addon import AddOn

ADD_ON = AddOn(
    name="upgrade",
    commands={
        "upgrade-check": "loadstone.addons.upgrade.command:upgrade_command",
    },
)
