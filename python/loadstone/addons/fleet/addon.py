"""What it brings: load from several machines."""

from loadstone.addon import AddOn

ADD_ON = AddOn(
    name="fleet",
    commands={
        "fleet": "loadstone.addons.fleet.command:fleet_app",
    },
    run_options={
        "fleet": "loadstone.addons.fleet.open:NamedFleet",
    },
)
