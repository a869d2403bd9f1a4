"""The settings of hosts, which are described once, as every place has them."""

import ast
import os
import re
import sys
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import typer
from click import Command

if sys.platform != "linux":
    pytest.skip("UDP sockets need Linux", allow_module_level=True)

from incast import _core, udp
from incast.cli.udp import app

ROOT = Path(__file__).parents[2]
SETTINGS: dict[str, dict[str, Any]] = {one["name"]: one for one in _core.udp_settings()}


def test_the_stubs_have_the_settings_with_their_defaults() -> None:
    tree = ast.parse((ROOT / "python/incast/_core.pyi").read_text(encoding="utf-8"))
    (options,) = (
        one for one in tree.body if isinstance(one, ast.ClassDef) and one.name == "UdpOptions"
    )
    (new,) = (one for one in options.body if isinstance(one, ast.FunctionDef))
    pairs = zip(new.args.kwonlyargs, new.args.kw_defaults, strict=True)
    stated = {one.arg: ast.unparse(default) for one, default in pairs if default is not None}
    assert stated.pop("answers_loads") == "False"
    assert list(stated) == list(SETTINGS)
    for name, default in stated.items():
        assert default in ("...", repr(SETTINGS[name]["default"])), name


def test_keyword_arguments_are_the_settings_with_their_types() -> None:
    types = get_type_hints(udp.Settings)
    assert types.pop("answers_loads") is bool
    assert list(types) == list(SETTINGS)
    for name, one in SETTINGS.items():
        if isinstance(one["default"], bool | int | float | str):
            assert types[name] is type(one["default"]), name


def commands() -> dict[str, Command]:
    return typer.main.get_command(app).commands  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize("name", ["serve", "call", "send", "bench"])
def test_options_of_a_command_have_the_default_of_their_setting(name: str) -> None:
    found = {one.opts[0]: one for one in commands()[name].params}
    settings = [one for one in SETTINGS.values() if one["option"] in found]
    assert len(settings) > 6
    for one in settings:
        # A command reads sizes with their units, and has whole megabytes.
        default = {"--max-message": "64MB"}.get(one["option"], one["default"])
        assert (found[one["option"]].default or None) == (default or None), one["option"]
    if name == "serve":
        assert [one["name"] for one in settings] == [
            one["name"] for one in SETTINGS.values() if one["option"]
        ]


def test_the_guide_has_a_table_of_them() -> None:
    page = ROOT / "docs/guide/udp.md"
    text = page.read_text(encoding="utf-8")

    def code(word: object) -> str:
        return f"`{word}`" if word else ""

    rows = [
        " | ".join((
            f"| {code(one['name'])}", code(one["option"]), code(one["field"]),
            code(one["default"]), f"{one['doc']} |",
        ))
        for one in SETTINGS.values()
    ]  # fmt: skip
    rows = [re.sub(" +", " ", row) for row in rows]
    head = "| in Python | `incast udp` | in C | default | |\n|---|---|---|---|---|\n"
    expected = re.sub(re.escape(head) + r"(\|.*\n)*", lambda _: head + "\n".join(rows) + "\n", text)
    if os.environ.get("INCAST_UPDATE_GOLDEN"):
        page.write_text(expected, encoding="utf-8")
    assert text == expected, "INCAST_UPDATE_GOLDEN=1 renews it"


def test_a_setting_that_there_is_not_or_of_another_type_is_named() -> None:
    with pytest.raises(TypeError, match="no setting 'nic'; there are secret, identity"):
        udp.host.options(plaintext=True, nic="1Gbps")
    with pytest.raises(TypeError, match="argument 'mtu': 'str' object cannot be"):
        udp.host.options(plaintext=True, mtu="1500")
    with pytest.raises(TypeError, match="argument 'plaintext': "):
        udp.host.options(plaintext="yes")
    udp.host.options(secret=None, plaintext=True, settings=["t_low=9us"], spin_us=1, threads=2)
