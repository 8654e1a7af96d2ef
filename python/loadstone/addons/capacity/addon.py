"""What it brings: which part fills first, and what if."""

from loadstone.addon import AddOn

ADD_ON = AddOn(
    name="capacity",
    commands={
        "capacity": "loadstone.addons.capacity.command:capacity_command",
    },
    goals={
        "full_server": "loadstone.addons.capacity.full_server_goal:FullServerGoal",
    },
    sentences={
        "capacity": "loadstone.addons.capacity.texts:CAPACITY",
        "full_servers": "loadstone.addons.capacity.texts:FULL_SERVERS",
    },
)
