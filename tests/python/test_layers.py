"""The layers of the house in Rust: the order of crates, and modules that use no one above them."""

import re
from pathlib import Path
from textwrap import dedent

import pytest

import layers

FOLDER = Path(__file__).parents[2] / "crates"

# The wings of the house, each with the wings that its crates may stand on. The simulator and what
# meets real networks share the core alone: either can be read and inherited without the other.
WINGS: dict[str, set[str]] = {
    "core": set(),
    "simulator": {"core"},
    "real": {"core"},
    "front": {"core", "simulator", "real"},
}

# From the bottom up, each with the crates of ours that it stands on. The network that runs knows no
# scenario, and a scenario knows no network that runs: they meet in incast-sim.
CRATES: dict[str, set[str]] = {
    "incast-cc": set(),
    "incast-table": set(),
    "incast-native": {"incast-cc"},
    "incast-kernel": {"incast-cc"},
    "incast-schema": {"incast-cc"},
    "incast-transport": {"incast-cc"},
    "incast-udp": {"incast-cc", "incast-transport"},
    "incast-bed": {"incast-cc", "incast-udp"},
    "incast-quic": {"incast-cc", "incast-transport"},
    "incast-plan": {"incast-cc", "incast-transport"},
    "incast-queue": {"incast-cc", "incast-schema", "incast-transport"},
    "incast-net": {"incast-cc", "incast-plan", "incast-queue", "incast-transport"},
    "incast-scenario": {
        "incast-cc",
        "incast-plan",
        "incast-queue",
        "incast-schema",
        "incast-transport",
    },
    "incast-foreign": {"incast-cc", "incast-scenario", "incast-table"},
    "incast-sim": {
        "incast-cc",
        "incast-foreign",
        "incast-net",
        "incast-plan",
        "incast-scenario",
        "incast-table",
        "incast-transport",
    },
    "incast-learn": {"incast-cc", "incast-sim"},
    "incast-wasm": {"incast-cc", "incast-sim", "incast-table"},
    "incast-capi": {"incast-udp"},
    "incast-python": {
        "incast-bed",
        "incast-cc",
        "incast-learn",
        "incast-native",
        "incast-sim",
        "incast-table",
        "incast-udp",
    },
}


def test_crates_stand_on_the_crates_that_the_order_allows() -> None:
    assert layers.crates(FOLDER) == CRATES


def test_the_order_of_crates_has_each_above_those_it_stands_on() -> None:
    below: set[str] = set()
    for name, on in CRATES.items():
        assert on <= below, f"{name} stands on {on - below}, which are not below it"
        below.add(name)


def test_crates_stand_on_the_wings_that_theirs_allows() -> None:
    found = layers.wings(FOLDER)
    assert set(found.values()) == set(WINGS)
    for name, on in CRATES.items():
        others = {found[other] for other in on} - {found[name]}
        assert others <= WINGS[found[name]], f"{name} stands on {others}"


@pytest.mark.parametrize("wing", WINGS)
def test_a_wing_says_what_it_is_for_why_it_is_so_and_what_was_refused(wing: str) -> None:
    page = (FOLDER / wing / "README.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)$", page, flags=re.MULTILINE)
    assert headings == ["Why it is so", "What was refused"]
    inside = {
        name.removeprefix("incast-") for name, of in layers.wings(FOLDER).items() if of == wing
    }
    assert set(re.findall(r"^\| \[`(\w+)`\]", page, flags=re.MULTILINE)) == inside


def test_the_page_on_the_architecture_says_on_which_crates_each_stands() -> None:
    page = (FOLDER.parent / "docs/internals/architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `crates/\w+/(\w+)` \|.*\| ([^|]*) \|$", page, flags=re.MULTILINE)
    stated = {
        f"incast-{name}": {f"incast-{on}" for on in re.findall(r"`(\w+)`", others)}
        for name, others in rows
    }
    assert stated == CRATES


@pytest.mark.parametrize("name", sorted(CRATES))
def test_no_modules_of_a_crate_use_each_other_in_a_ring(name: str) -> None:
    crate = layers.Crate(FOLDER / layers.wings(FOLDER)[name] / name.removeprefix("incast-"))
    assert crate.sources
    assert not crate.rings(), "\n".join(crate.rings())


def test_uses_of_modules_are_seen() -> None:
    """A few uses of each form are found, or the test above could pass by reading nothing."""
    of_cc = layers.Crate(FOLDER / "core/cc").uses()
    assert (("dctcp",), ("param",)) in of_cc
    assert (("registry",), ("algorithms",)) in of_cc, "by a macro"
    assert (("fast",), ("vegas",)) in of_cc
    of_kernel = layers.Crate(FOLDER / "real/kernel").uses()
    assert (("attached",), ("error",)) in of_kernel, "by a name that the root passes on"
    assert (("lab", "mark"), ("shared",)) in of_kernel, "by a macro"
    of_transport = layers.Crate(FOLDER / "core/transport").uses()
    assert (("engines",), ("rate",)) in of_transport


def made_up(folder: Path, **files: str) -> layers.Crate:
    """A crate of these files; two underscores stand for a folder."""
    for name, text in files.items():
        path = folder / "src" / f"{name.replace('__', '/')}.rs"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
    return layers.Crate(folder)


RINGS = {
    "imports": ("use crate::b::B; pub struct A(B);", "use crate::a::A; pub struct B(Box<A>);"),
    "paths": ("pub struct A(super::b::B);", "pub struct B(Box<crate::a::A>);"),
    "names that the root passes on": ("use crate::{B as Other};", "use crate::{A};"),
    "everything of a module": ("use crate::all::*; pub struct A(B);", "use crate::a::*;"),
    "the name of a module": (
        "use crate::b; pub struct A(b::B);",
        "use crate::{a}; fn f(_: a::A) {}",
    ),
    "attributes": ('#[serde(with = "crate::b::text")] pub struct A;', "use super::a;"),
    "macros": ("made!(); pub struct A;", "use crate::a::A; macro_rules! made { () => {} }"),
    "modules inside a file": (
        "mod in_a { use super::super::b::B; }",
        "mod in_b { use crate::a::A; }",
    ),
    "methods": (
        "impl A { fn f(&self) { self.of_b(1) } }",
        "use crate::A; impl A { fn of_b(&self) {} }",
    ),
}


@pytest.mark.parametrize("by", RINGS)
def test_a_ring_is_found(by: str, tmp_path: Path) -> None:
    a, b = RINGS[by]
    crate = made_up(
        tmp_path,
        lib="mod a; mod all; mod b; mod c; pub use a::A; pub use self::{b::{B}};",
        all="pub use crate::b::B;",
        a="//! One.\n" + (a if "struct A" in a else a + " pub struct A;"),
        b="//! The other.\n" + (b if "struct B" in b else b + " pub struct B;"),
        c="use crate::{a::A, b::B};",
    )
    (found,) = crate.rings()
    assert found.startswith("in crate:\n")
    assert "a.rs:2: " in found
    assert "b.rs:2: " in found
    assert "c.rs" not in found, "it stands above the ring"


def test_a_ring_of_three_in_a_folder_is_found(tmp_path: Path) -> None:
    crate = made_up(
        tmp_path,
        lib="mod inner;",
        inner="mod a; mod b; mod c;",
        inner__a="use super::b;",
        inner__b="use crate::inner::c::deep::C;",
        inner__c="mod deep;",
        inner__c__deep="\n\npub struct C; fn f() { crate::inner::a::g() }",
    )
    steps = "a uses b: a.rs:1: super::b|b uses c: b.rs:1: crate::inner::c::deep::C"
    (found,) = crate.rings()
    assert found.startswith("in crate::inner:\n")
    assert all(step in found for step in steps.split("|"))
    assert "c uses a: deep.rs:3: crate::inner::a::g" in found


def test_uses_that_make_no_ring_are_let_be(tmp_path: Path) -> None:
    crate = made_up(
        tmp_path,
        lib="""
            mod a;
            mod b;
            pub use a::A;
            use b::B;
            """,
        # Children use their parent, and the parent its children.
        a="""
            mod child;
            #[cfg(test)]
            mod tests;
            use self::child::Child;
            pub struct A(Child);
            /// A comment may name [`crate::b::B`]. /* crate::b */
            const TEXT: &str = "crate::b::B, \\" use crate::b::B;";
            const RAW: &str = r#"use crate::b::B;"#;
            fn f<'a>(of: &'a other::b::B) -> char { '"' }
            #[cfg(test)]
            #[allow(unused)]
            use crate::b::B;
            #[cfg(test)]
            mod more { use crate::b::B; }
            """,
        a__child="use super::A; pub struct Child(Box<A>);",
        a__tests="mod deep; use crate::b::B;",
        a__tests__deep="use crate::b::B;",
        b="use crate::A; pub struct B(A);",
        main="use made_up::A;",
    )
    assert crate.rings() == []
    assert {*crate.beside()[()]} == {("b", "a")}


def test_crates_are_read_from_their_dependencies_alone(tmp_path: Path) -> None:
    for name, text in {
        "low": "[dev-dependencies]\nhigh = { path = '../high' }",
        "high": "[dependencies]\nlow.workspace = true\nserde = '1'",
    }.items():
        (tmp_path / "wing" / name).mkdir(parents=True)
        (tmp_path / "wing" / name / "Cargo.toml").write_text(
            f"[package]\nname = '{name}'\n{text}\n"
        )
    assert layers.crates(tmp_path) == {"low": set(), "high": {"low"}}
    assert layers.wings(tmp_path) == {"low": "wing", "high": "wing"}


def test_a_ring_of_crates_is_found() -> None:
    assert layers.ring({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) in (
        ["a", "b", "c", "a"],
        ["b", "c", "a", "b"],
        ["c", "a", "b", "c"],
    )
    assert layers.ring(CRATES) == []
