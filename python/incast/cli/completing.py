"""Completion in shells: scripts, and the names that can stand where the cursor is.

Each key press of a shell asks `incast` itself, in the way of Typer: so it completes scenarios,
schemes and options of the version that is installed. Where nothing fits, shells complete files.
"""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import msgspec
import typer

# Typer's own, which it reaches by options of its own (--show-completion) alone.
from typer.completion import (  # type: ignore[attr-defined]
    completion_init,
    get_completion_script,
)

from incast import _core
from incast._core import IncastError
from incast.advice import cluster, trial
from incast.api import keys as scenario_keys
from incast.api.scenarios import TRACES, load, shipped
from incast.base import manual
from incast.figures.catalogue import ABOUT, FORMATS
from incast.reproduce import spec

PROGRAM = "incast"
VARIABLE = "_INCAST_COMPLETE"
"""The variable of the environment by which a shell asks for completions."""

_SHELLS = ("bash", "zsh", "fish")

KERNEL_COMMANDS = (
    "attach", "list", "show", "set", "detach", "observe", "object", "algorithms", "check", "lab",
)  # fmt: skip
"""The commands of incast-kernel, which may not be installed, and of the test bed."""
_KERNEL_ALGORITHMS = ("timely", "rtcp", "dctcp")

# Bash ends words at colons and equal signs, too, in what it hands over and in what it replaces.
# So the parts of a word such as timely:zhu are put together, and its first parts taken from what
# Bash inserts. Typer's script knows nothing of this.
_BASH = r"""
_incast_completion() {
    local IFS=$'\n' line=$COMP_LINE part before="" words=() index
    for ((index = 0; index <= COMP_CWORD; index++)); do
        part=${COMP_WORDS[index]}
        if ((index > 0)) && [[ -n $part && $line == "$part"* ]]; then
            before=${words[-1]}
            words[-1]+=$part
        else
            before=""
            words+=("$part")
        fi
        line=${line#*"$part"}
    done
    [[ $part == [:=] ]] && before=${words[-1]}
    [[ $before == --*=* ]] && before=${before#*=}
    COMPREPLY=($(env COMP_WORDS="${words[*]}" COMP_CWORD=$((${#words[@]} - 1)) \
        %(variable)s=complete_bash "$1" 2>/dev/null))
    COMPREPLY=("${COMPREPLY[@]#"$before"}")
    # A key goes on behind a dot, and its value behind an equal sign.
    [[ ${COMPREPLY[0]} == *[.=] ]] && compopt -o nospace
}

complete -o default -F _incast_completion %(program)s
"""


def scenarios(incomplete: str) -> list[str]:
    """The scenarios that ship."""
    return _of(shipped(), incomplete)


def schemes(incomplete: str) -> list[str]:
    """The algorithms, each alone and with its presets."""
    return _of(
        [
            name
            for one in _core.algorithms()
            for name in (one.name, *(f"{one.name}:{preset.name}" for preset in one.presets))
        ],
        incomplete,
    )


def carriers(incomplete: str) -> list[str]:
    """The carriers of `incast lab`."""
    return _of(("simulator", "linux-tcp", "udp"), incomplete)


def algorithms(incomplete: str) -> list[str]:
    """The algorithms."""
    return _of([one.name for one in _core.algorithms()], incomplete)


def advised(incomplete: str) -> list[str]:
    """The algorithms on whose thresholds `incast advise` has something to say."""
    return _of(trial.ALGORITHMS, incomplete)


def collectives(incomplete: str) -> list[str]:
    """The collectives that `incast expect` runs."""
    return _of(cluster.ALGORITHMS, incomplete)


def workloads(incomplete: str) -> list[str]:
    """The distributions of flow sizes."""
    return _of([one.name for one in _core.workloads()], incomplete)


def figures(incomplete: str) -> list[str]:
    """The figures of results."""
    return _of(ABOUT, incomplete)


def traces(incomplete: str) -> list[str]:
    """Traces: records of a run, event by event."""
    return _of(TRACES, incomplete)


def experiments(incomplete: str) -> list[str]:
    """The papers' experiments, and the sources, each of which is all of its experiments."""
    known = spec.known()
    return _of([*dict.fromkeys(name.partition("/")[0] for name in known), *known], incomplete)


def topics(incomplete: str) -> list[str]:
    """The pages of the manual."""
    return _of(manual.pages(), incomplete)


def formats(incomplete: str) -> list[str]:
    """The formats of figures."""
    return _of(FORMATS, incomplete)


TABLES = ("latex", "markdown", "csv")
"""The forms of tables beside the one for a terminal."""


def tables(incomplete: str) -> list[str]:
    """The forms of tables."""
    return _of(TABLES, incomplete)


def metrics(incomplete: str) -> list[str]:
    """The figures of runs."""
    return _of([name for name, _, _ in _core.summary_figures()], incomplete)


def tests(incomplete: str) -> list[str]:
    """The statistical tests."""
    return _of(("t", "wilcoxon"), incomplete)


def exports(incomplete: str) -> list[str]:
    """The formats of traces for other tools."""
    return _of(("pcapng", "perfetto"), incomplete)


def threads(incomplete: str) -> list[str]:
    """The number of threads that needs no number."""
    return _of(("auto",), incomplete)


def keys(incomplete: str) -> list[str]:
    """The keys of scenarios, up to the next dot where there are many."""
    known = scenario_keys.keys()
    depth = incomplete.count(".")
    return _of([path for path in known if path.count(".") == depth and "<" not in path], incomplete)


def assignments(ctx: typer.Context, incomplete: str) -> list[str]:
    """The keys that `--set` and `--vary` take, up to the next dot; after a key its words."""
    key, equal, _ = incomplete.partition("=")
    if equal:
        found = [one for one in scenario_keys.keys().values() if one.key == _unnumbered(key)]
        words = {word for one in found for word, _ in one.values}
        if any(one.kind == "true or false" for one in found):
            words |= {"true", "false"}
        return _of([f"{key}={word}" for word in sorted(words)], incomplete)
    # An option whose value is not there yet ends the parsing before the arguments.
    named = next((one for one in (*ctx.args, ctx.params.get("scenario")) if one), "incast")
    try:
        scenario = load(str(named))
    except IncastError:
        return []
    document = msgspec.toml.decode(scenario.toml())
    paths = dict.fromkeys([*_values(document, ""), *_missing(document), *_parameters()])
    start = len(incomplete)
    ends = ((path, path.find(".", start)) for path in paths if path.startswith(incomplete))
    cut = [f"{path}=" if end < 0 else path[: end + 1] for path, end in ends]
    return list(dict.fromkeys(cut))


def _unnumbered(key: str) -> str:
    return ".".join(part for part in key.split(".") if not part.isdigit())


def _values(node: object, path: str) -> Iterator[str]:
    """The keys of the values in a scenario."""
    if isinstance(node, dict):
        inside: Iterable[tuple[object, object]] = node.items()
    elif isinstance(node, list) and any(isinstance(one, dict) for one in node):
        inside = enumerate(node)
    else:
        yield path
        return
    for key, value in inside:
        yield from _values(value, f"{path}.{key}" if path else str(key))


def _missing(document: dict[str, Any]) -> Iterator[str]:
    """The keys of a scenario's sections and of its traffic that may have no value yet."""
    known = scenario_keys.keys()
    lists = tuple(f"{path}." for path, key in known.items() if key.kind.startswith("list of sec"))
    others = tuple(
        f"{path}."
        for path in known["network"].inside
        if path.partition(".")[2] not in document["network"]
    )
    for path, key in known.items():
        if not (key.inside or key.of_kind or "<" in path or path.startswith((*lists, *others))):
            yield path
    for place, traffic in enumerate(document.get("traffic", ())):
        kind = f"traffic.{traffic['kind']}."
        for path, key in known.items():
            if path.startswith(kind) and not key.inside:
                yield f"traffic.{place}.{path.removeprefix(kind)}"


def _parameters() -> Iterator[str]:
    """The parameters of the algorithms."""
    for one in _core.algorithms():
        yield from (f"cc.{one.name}.{parameter.name}" for parameter in one.parameters)


def kernel_words(ctx: typer.Context, incomplete: str) -> list[str]:
    """The commands of `incast kernel`, and the algorithms of those that take one."""
    words = ctx.params.get("words") or []
    if not words:
        return _of(KERNEL_COMMANDS, incomplete)
    return _of(_KERNEL_ALGORITHMS, incomplete) if words[-1] in ("attach", "object") else []


def shells(incomplete: str) -> list[str]:
    """The shells that there is a script for."""
    return _of(_SHELLS, incomplete)


def _of(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def completion(
    shell: Annotated[str, typer.Argument(metavar="|".join(_SHELLS), autocompletion=shells)],
) -> None:
    """Print a script by which a shell completes with Tab.

    It completes commands, options, scenarios, schemes and figures. For Bash, write
    eval "$(incast completion bash)" into ~/.bashrc.
    """
    if shell not in _SHELLS:
        raise typer.BadParameter(f"{shell}: expected {', '.join(_SHELLS)}")
    print(script(shell))


def script(shell: str) -> str:
    """The script of a shell."""
    if shell == "bash":
        return _BASH.strip() % {"program": PROGRAM, "variable": VARIABLE}
    return str(get_completion_script(prog_name=PROGRAM, complete_var=VARIABLE, shell=shell))


def offer() -> None:
    """Lets shells ask for completions, as VARIABLE says."""
    completion_init()
