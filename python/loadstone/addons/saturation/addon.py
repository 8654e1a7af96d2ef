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
    answers={
        "saturations": "loadstone.addons.saturation.results:SaturationAnswers",
    },
    evaluations={
        "saturations": "loadstone.addons.saturation.answer:evaluate_saturations",
    },
    sections={
        "saturations": "loadstone.addons.saturation.section:saturation_section",
    },
    csv_files={
        "saturation.csv": "loadstone.addons.saturation.csv_rows:saturation_rows",
        "ramp.csv": "loadstone.addons.saturation.csv_rows:ramp_rows",
    },
    charts={
        "saturations": "loadstone.addons.saturation.chart:charts_of_answers",
    },
    objective_figures={
        "saturation": "loadstone.addons.saturation.objectives:PointUsers",
        "capacity": "loadstone.addons.saturation.objectives:PointRate",
    },
    sentences={
        "saturation": "loadstone.addons.saturation.texts:SATURATION",
        "saturation_plan": "loadstone.addons.saturation.texts:PLAN",
        "saturation_report": "loadstone.addons.saturation.texts:SATURATION_REPORT",
    },
)
