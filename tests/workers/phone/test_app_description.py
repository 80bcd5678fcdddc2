import re
from pathlib import Path

import pytest

from tests.workers.phone.conftest import Hands
from workers.phone.app.description import BUILT_IN_APPS, AppDescription, AppDescriptionInvalid, load_app, load_apps
from workers.phone.phone import Phone

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"

HEADER = "package: com.a.b\nlabel: A\nstart: home\nstate: {n: 0, who: '', on_: false}\n"


def faults_of(tmp_path, text: str) -> str:
    file = tmp_path / "app.yaml"
    file.write_text(text)
    with pytest.raises(AppDescriptionInvalid) as refusal:
        load_app(file)
    lines = str(refusal.value).splitlines()
    assert all(line.startswith(f"{file}: ") for line in lines[:1])
    return str(refusal.value).replace(f"{file}: ", "")


def node(text: str) -> str:
    return f"{HEADER}screens: {{home: {{nodes: [{text}]}}}}\n"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "expected fields such as package, label, start and screens"),
        ("a: [", "line 1, column 5"),
        ("package: com.a.b\nlabel: A\nstart: home\n", "screens: Field required"),
        ("package: nodots\nlabel: A\nstart: home\nscreens: {home: {}}", "package: String should match pattern"),
        (HEADER + "screens: {other: {}}", "start: no screen 'home'; there are other"),
        (HEADER + "screens: {home: {titel: A}}", "screens.home.titel: Extra inputs are not permitted"),
        (HEADER + "saved: {n: 1}\nscreens: {home: {}}", "saved.n: also in state; a variable is one or the other"),
        (HEADER + "links: {'a://': far}\nscreens: {home: {}}", "links.a://: "),
        (HEADER + "screens: {home: {title: '{nobody}'}}", "screens.home.title: no variable 'nobody' in state or saved"),
        (node("{kind: buton, text: A}"), "screens.home.nodes.0: Input tag 'buton' found using 'kind' does not match"),
        (node("{kind: button}"), "screens.home.nodes.0.button.text: Field required"),
        (node("{kind: text, text: A, colour: pinkish}"), "'pinkish' is no colour: write '#rrggbb' or one of green"),
        (node("{kind: text, text: A, height: tall}"), "'tall' is no length: write pixels (240) or a share"),
        (node("{kind: text, text: '{item}'}"), "screens.home.nodes.0.text: 'item' is only known inside for_each"),
        (
            node("{kind: text, text: A, when: n is 3}"),
            "'n is 3' is no condition; write NAME, not NAME, or NAME OPERATOR",
        ),
        (node("{kind: text, text: A, when: m > 3}"), "screens.home.nodes.0.when: no variable 'm' in state or saved"),
        (node("{kind: button, text: A, tap: {goto: far}}"), "nodes.0.tap.0.goto: no screen 'far'; there are home"),
        (node("{kind: button, text: A, tap: {jump: x}}"), "an effect has exactly one of goto, back, finish, set, add"),
        (node("{kind: button, text: A, tap: {goto: home, back: true}}"), "an effect has exactly one of"),
        (node("{kind: button, text: A, tap: {add: {who: 1}}}"), "add.who: who holds a text, this needs a number"),
        (node("{kind: button, text: A, tap: {set: {n: x}}}"), "set.n: n holds a number, this needs a text"),
        (node("{kind: button, text: A, tap: {toggle: n}}"), "toggle: n holds a number, this needs true or false"),
        (node("{kind: field, bind: n}"), "screens.home.nodes.0.bind: n holds a number, this needs a text"),
        (
            node("{kind: switch, text: A, bind: gone}"),
            "screens.home.nodes.0.bind: no variable 'gone' in state or saved",
        ),
        (node("{kind: row, nodes: [{kind: text, text: '{gone}'}]}"), "screens.home.nodes.0.nodes.0.text: no variable"),
        (node("{kind: icon, sign: long}"), "screens.home.nodes.0.icon.sign: String should have at most 3 characters"),
    ],
)
def test_a_wrong_file_is_refused_with_the_field_and_what_is_right(tmp_path, text, fault):
    assert fault in faults_of(tmp_path, text)


def test_all_faults_of_a_file_are_named_at_once(tmp_path):
    text = node("{kind: text, text: '{a}'}, {kind: text, text: '{b}'}")
    assert faults_of(tmp_path, text).count("no variable") == 2


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(AppDescriptionInvalid, match="No such file"):
        load_app(tmp_path / "none.yaml")


def test_two_descriptions_of_one_package_are_refused(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(HEADER + "screens: {home: {}}")
    with pytest.raises(AppDescriptionInvalid, match=r"com\.a\.b is described twice"):
        load_apps([tmp_path])


def test_the_built_in_apps_are_in_order():
    assert [app.package for app in load_apps([BUILT_IN_APPS])] == ["dev.corral.notes"]


def test_the_example_of_the_reference_page_works(tmp_path):
    page = (REFERENCE / "phone-apps.md").read_text()
    (tmp_path / "shop.yaml").write_text(page.split("```yaml\n")[1].split("```")[0])
    shop = Hands(Phone(apps=[load_app(tmp_path / "shop.yaml")]), "com.example.shop")
    shop.tap("Buy bread")
    shop.tap("Check out")
    shop.tap("Your name")
    shop.type("Ann")
    shop.tap("Order")
    assert shop.sees("In the basket: 0")
    assert shop.phone.display.frame().toast == "Thank you, Ann"


def test_the_reference_page_names_every_kind_and_every_field():
    page = re.sub(r"```.*?```", "", (REFERENCE / "phone-apps.md").read_text(), flags=re.DOTALL)
    models = [model["properties"] for model in AppDescription.model_json_schema()["$defs"].values()]
    kinds = {model["kind"]["const"] for model in models if "kind" in model}
    fields = {name for model in models for name in model}
    words = set(re.findall(r"[a-z_]+", " ".join(re.findall(r"`[^`]+`", page))))
    assert sorted(kinds - words) == []
    assert sorted(fields - words) == ["kind"]
