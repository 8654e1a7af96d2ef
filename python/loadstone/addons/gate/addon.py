"""What it brings: the verdict on a change."""

from loadstone.addon import AddOn

ADD_ON = AddOn(
    name="gate",
    commands={
        "gate": "loadstone.addons.gate.command:gate_app",
    },
    sentences={
        "gate": "loadstone.addons.gate.texts:GATE",
    },
)
