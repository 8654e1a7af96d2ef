"""What it brings: what a study says of its original."""

from loadstone.addon import AddOn

ADD_ON = AddOn(
    name="studies",
    sentences={
        "conclusions": "loadstone.addons.studies.texts:ANSWERS",
        "lessons": "loadstone.addons.studies.texts:LESSONS",
    },
)
