"""The picture of a network: every node and link is in it, and the colour of what is used."""

from pathlib import Path

import polars as pl
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import incast
from conftest import Command
from incast.api import scenarios
from incast.figures import network
from synthetic import made_up


def names(figure: Figure) -> list[str]:
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


@pytest.mark.parametrize("name", list(scenarios.shipped()))
def test_every_network_that_ships_is_drawn(name: str) -> None:
    scenario = incast.load(name)
    found = scenario.topology()
    figure = network.draw(scenario)
    counted = [int(text.rpartition("(")[2].rstrip(")")) for text in legend(figure)]
    assert sum(counted) == len(found["cables"])
    there = names(figure)
    for layer in {layer for _, layer in found["switches"]}:
        own = [switch for switch, of in found["switches"] if of == layer]
        assert set(own) <= set(there) or f"{len(own)} x\n{layer}" in there
    if len(found["hosts"]) <= 32:
        assert set(found["hosts"]) <= set(there)


def test_the_topology_has_nodes_and_cables(short: incast.Scenario) -> None:
    found = short.topology()
    assert found["hosts"] == [*(f"client{n}" for n in range(10)), "server"]
    assert found["switches"] == [("switch", "switch")]
    assert found["cables"][0] == ("client0", "switch", 10.0, 4.5)
    assert found["cables"][-1] == ("server", "switch", 20.0, 4.5)
    assert legend(network.draw(short)) == [
        "host to switch: 10 Gb/s, 4.5 us (10)", "host to switch: 20 Gb/s, 4.5 us (1)",
    ]  # fmt: skip


def test_switches_of_one_layer_are_joined_straight_or_above_others() -> None:
    text = """
        title = "A ring"
        run = { duration = "1ms", schemes = ["timely"] }
        [network.graph]
        hosts = [{ name = "host", count = 3 }]
        switches = [{ name = "switch", count = 3 }]
        links = [
            { ends = ["host0", "switch0"], rate = "10Gbps", delay = "1us" },
            { ends = ["host1", "switch1"], rate = "10Gbps", delay = "1us" },
            { ends = ["host2", "switch2"], rate = "10Gbps", delay = "1us" },
            { ends = ["switch0", "switch1"], rate = "40Gbps", delay = "2us" },
            { ends = ["switch1", "switch2"], rate = "40Gbps", delay = "2us" },
            { ends = ["switch2", "switch0"], rate = "40Gbps", delay = "2us" },
        ]
        [[traffic]]
        kind = "connections"
        from = "host0"
        to = "host1"
    """
    figure = network.draw(incast.Scenario.parse(text, "ring.toml"))
    tops = [max(line.get_ydata()) for line in figure.axes[0].lines]
    assert tops[:5] == [1.0] * 5
    assert tops[5] > 1.1


def links(scenario: incast.Scenario, **used: float) -> pl.DataFrame:
    both = [
        f"{one}->{other}"
        for cable in scenario.topology()["cables"]
        for one, other in (cable[:2], cable[1::-1])
    ]
    values = [used.get(link.replace("->", "_"), 0.0) for link in both]
    return pl.DataFrame({"link": both, "layer": "any", "utilisation": values})


def test_halves_have_the_colour_of_what_is_sent_there(short: incast.Scenario) -> None:
    rows = links(short, client3_switch=0.5, switch_server=1.0)
    figure = network.draw(short, incast.Results((made_up(short, "timely", "dctcp", links=rows),)))
    panels = figure.axes[:2]
    assert [axes.get_title(loc="left") for axes in panels] == ["timely", "dctcp"]
    assert figure.axes[2].get_ylabel() == "utilisation (%)"
    low, middle, high = (to_hex(network._COLOURS(value)) for value in (0.0, 0.5, 1.0))
    for axes in panels:
        colours = [to_hex(line.get_color()) for line in axes.lines]
        assert len(colours) == 22
        assert colours[6:8] == [middle, low]
        assert colours[20:] == [low, high]
        assert colours.count(low) == 20


def test_of_hosts_in_one_box_the_busiest_counts() -> None:
    scenario = incast.load("timely-clos-rpc")
    rows = links(scenario, host5_leaf0=0.7)
    figure = network.draw(scenario, incast.Results((made_up(scenario, "timely", links=rows),)))
    assert "host0 ... host15" in names(figure)
    colours = [to_hex(line.get_color()) for line in figure.axes[0].lines]
    assert colours.count(to_hex(network._COLOURS(0.7))) == 1


def test_other_results_are_refused(short: incast.Scenario) -> None:
    rows = links(short).filter(pl.col("link") != "switch->client7")
    results = incast.Results((made_up(short, "timely", links=rows),))
    with pytest.raises(incast.FigureError, match=r"^switch->client7: not among the links"):
        network.draw(short, results)
    many = incast.Results((made_up(short, "timely", "dctcp", "hpcc", "swift", "bbr"),))
    with pytest.raises(incast.FigureError, match="5 schemes: expected at most 4"):
        network.draw(short, many)
    none = incast.Results((made_up(short, "timely"),))
    with pytest.raises(incast.FigureError, match="no table links with utilisation"):
        network.draw(short, none)


def test_the_command_draws_it(command: Command) -> None:
    settings = ("--set", "run.duration=5ms", "--set", "run.warmup=1ms")
    assert command("run", "incast", *settings, "--quiet", "--out", "out").code == 0
    done = command("scenario", "show", "incast", "--svg", "network.svg")
    assert (done.code, done.out) == (0, "Wrote network.svg\n")
    assert "client9" in Path("network.svg").read_text()
    done = command(
        "scenario",
        "show",
        "incast",
        "--svg",
        "used.svg",
        "--result",
        "out",
        "--cc",
        "timely=TIMELY",
    )
    assert done.code == 0, done.err
    drawn = Path("used.svg").read_text()
    assert "TIMELY" in drawn
    assert "line-rate" not in drawn
    assert "ends in .svg" in command("scenario", "show", "incast", "--svg", "x.gif").error
    assert "name it with --svg" in command("scenario", "show", "incast", "--result", "out").error
    error = command("scenario", "show", "incast", "--svg", "no/such/x.svg").error
    assert "no/such/x.svg: cannot be written" in error
