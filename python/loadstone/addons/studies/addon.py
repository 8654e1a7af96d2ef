"""What it brings: what a study says of its original."""

from loadstone.addon import AddOn

ADD_ON = AddOn(
    name="studies",
    answers={
        "answers": "loadstone.addons.studies.answers:ConclusionAnswers",
        "lessons": "loadstone.addons.studies.answers:LessonAnswers",
    },
    later_evaluations={
        "answers": "loadstone.addons.studies.conclusions:evaluate_conclusions",
        "lessons": "loadstone.addons.studies.lessons:evaluate_study",
    },
    sections={
        "answers": "loadstone.addons.studies.section:conclusions_section",
        "lessons": "loadstone.addons.studies.section:lessons_section",
    },
    sentences={
        "conclusions": "loadstone.addons.studies.texts:ANSWERS",
        "lessons": "loadstone.addons.studies.texts:LESSONS",
    },
)
