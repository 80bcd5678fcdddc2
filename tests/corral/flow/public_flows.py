"""Maestro's own end-to-end flows: which of them run here. They are read where they lie and never copied."""

import os
from pathlib import Path

FOLDER = Path(__file__).parents[3].parent / "shared" / "flows" / "demo_app"
#: Somebody who cloned the project alone goes without them. CI does not: there, missing flows are errors.
ARE_HERE = FOLDER.is_dir() or bool(os.environ.get("CI"))

PASSING = (
    "fill_form",
    "long_input_text",
    "relatives",
    "swipe",
    *(
        f"commands/{name}"
        for name in (
            "assertNotVisible",
            "assertVisible",
            "back",
            "eraseText",
            "extendedWaitUntil",
            "hideKeyboard",
            "inputText",
            "inputRandomEmail",
            "inputRandomNumber",
            "inputRandomPersonName",
            "inputRandomText",
            "killApp",
            "launchApp",
            "pressKey",
            "retry",
        )
    ),
)
FAILING = ("fail_launchApp", "fail_launchApp_nonDefault", "fail_not_found", "fail_visible", "fail_visible_extended")

#: Flow, and the name of what it is refused for.
REFUSED = {
    "ai_complex": "assertNoDefectsWithAI",
    "ai_simple": "assertWithAI",
    "commands_optional_tournee": "assertTrue",
    "commands_tour": "when: true:",
    "fail_fast": "assertTrue",
    "scrollUntilVisible_timeout": "evalScript",
    "commands/assertTrue": "assertTrue",
    "commands/copyTextFrom": "copyTextFrom",
    "commands/evalScript": "evalScript",
    "commands/pasteText": "evalScript",
    "commands/repeat": "evalScript",
    "commands/runFlow": "evalScript",
    "commands/runScript": "evalScript",
}


def path_of(name: str) -> str:
    return f"{name}.yaml"


def source_of(name: str) -> str:
    return (FOLDER / path_of(name)).read_text()


def all_files() -> dict[str, str]:
    return {path.relative_to(FOLDER).as_posix(): path.read_text() for path in FOLDER.rglob("*.yaml")}
