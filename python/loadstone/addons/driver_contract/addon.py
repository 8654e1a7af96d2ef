"""What it brings: the contract of drivers."""

from loadstone.addon import AddOn

ADD_ON = AddOn(
    name="driver_contract",
    commands={
        "check": "loadstone.addons.driver_contract.check_command:check_app",
    },
)
