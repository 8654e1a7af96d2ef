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
    answers={
        "full_servers": "loadstone.addons.capacity.full_server_rates:FullServers",
        "capacities": "loadstone.addons.capacity.model.answer:Capacities",
    },
    evaluations={
        "full_servers": "loadstone.addons.capacity.full_servers:evaluate_full_servers",
        "capacities": "loadstone.addons.capacity.capacities:evaluate_capacities",
    },
    sections={
        "full_servers": "loadstone.addons.capacity.section:full_server_section",
        "capacities": "loadstone.addons.capacity.section:capacity_section",
    },
    csv_files={
        "full-servers.csv": "loadstone.addons.capacity.csv_rows:full_server_rows",
    },
    sentences={
        "capacity": "loadstone.addons.capacity.texts:CAPACITY",
        "full_servers": "loadstone.addons.capacity.texts:FULL_SERVERS",
    },
)
