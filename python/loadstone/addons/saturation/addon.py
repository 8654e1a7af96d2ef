"""What it brings: the search for the load that saturates."""

from loadstone.addon import AddOn

ADD_ON = AddOn(
    name="saturation",
    experiment_fields={
        "load": "loadstone.addons.saturation.spec:Saturate",
        "saturation": "loadstone.addons.saturation.spec:SaturationSpec",
    },
    planned_searches={
        "load": "loadstone.addons.saturation.planning:planned_search",
        "saturation": "loadstone.addons.saturation.planning:planned_search",
    },
    commands={
        "saturate": "loadstone.addons.saturation.command:saturate_app",
    },
    goals={
        "saturation": "loadstone.addons.saturation.goal:SaturationGoal",
    },
    sentences={
        "saturation": "loadstone.addons.saturation.texts:SATURATION",
        "saturation_plan": "loadstone.addons.saturation.texts:PLAN",
        "saturation_report": "loadstone.addons.saturation.texts:SATURATION_REPORT",
    },
)
