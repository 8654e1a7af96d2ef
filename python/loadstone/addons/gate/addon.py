"""What it brings: the verdict on a change."""

from loadstone.addon import AddOn

ADD_ON = AddOn(
    name="gate",
    experiment_fields={
        "gate": "loadstone.addons.gate.spec:Gate",
    },
    look_schedules={
        "gate": "loadstone.addons.gate.schedule:GateSchedule",
    },
    decision_rules={
        "gate": "loadstone.addons.gate.rule:GateRule",
    },
    answer_files={
        "gate": "loadstone.addons.gate.result:GATE_FILE",
    },
    commands={
        "gate": "loadstone.addons.gate.command:gate_app",
    },
    answers={
        "gate": "loadstone.addons.gate.result:GateResult",
    },
    evaluations={
        "gate": "loadstone.addons.gate.outcome:evaluate_gate",
    },
    sections={
        "gate": "loadstone.addons.gate.section:gate_section",
    },
    sentences={
        "gate": "loadstone.addons.gate.texts:GATE",
    },
)
