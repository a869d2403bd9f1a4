"""Times of the page in headless Chromium: its first figure, the demo, and how soon it answers.

    make page && .venv/bin/python bench/page.py [REPEATS]
    .venv/bin/python bench/page.py --picture docs/images/page.png    # the README's picture

The page is opened from disk, each number anew. A long task is one that kept the page from answering
for more than 50 ms, by the browser's own observer; their number and the longest are said. Times of
a clock are those of the machine as it is: where others work, threads wait. So the processor time of
the page's thread and of its workers is said, too, and how long they waited for a processor (Linux).
"""

import io
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from PIL import Image

from incast.base import links

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/python"))
import chromium

PICTURE = sys.argv[2] if sys.argv[1:2] == ["--picture"] else None
REPEATS = int(sys.argv[1]) if len(sys.argv) == 2 else 5
# Keeps what the browser says of tasks of more than 50 ms.
OBSERVED = """
window.tasks = [];
new PerformanceObserver(list => {
  for (const { startTime, duration } of list.getEntries()) window.tasks.push([startTime, duration]);
}).observe({ type: "longtask", buffered: true });
"""
RUNS = {
    "demo, both schemes": "s=incast",
    "320 links, two schemes": "s=timely-network-imbalance",
    "guide, three figures": "guide=gradient",
}


def browser() -> Any:  # noqa: ANN401
    """Chromium, which keeps what it says of long tasks."""
    opened = chromium.opened(chromium.options())
    opened.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": OBSERVED})
    opened.set_window_size(1280, 900)
    return opened


def ended(opened: Any) -> bool:  # noqa: ANN401
    """Whether all that the page was opened for has run."""
    return bool(
        opened.execute_script(
            "window.scrollBy(0, 300);"
            "const live = [...document.querySelectorAll('.live')];"
            "return live.length ? live.every(one => one.dataset.state === 'ended')"
            " : document.body.dataset.state === 'ended'"
        )
    )


def threads(opened: Any) -> str:  # noqa: ANN401
    """Processor time and waiting time of the page's thread and of its workers, in ms."""
    said = []
    profile = str(opened.capabilities["chrome"]["userDataDir"])
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_text()
            if "--type=renderer" not in line or profile not in line:
                continue
            for task in (process / "task").iterdir():
                name = (task / "comm").read_text().strip()
                busy, waited = map(int, (task / "schedstat").read_text().split()[:2])
                if (task.name == process.name or name.startswith("Dedicated")) and busy > 2e8:
                    said.append(f"{name} {busy // 10**6} (waited {waited // 10**6})")
        except OSError:
            continue
    return ", ".join(said)


def draw(opened: Any, file: str) -> None:  # noqa: ANN401
    """Writes a picture of the demo when it has run, from its networks to its figures."""
    opened.set_window_size(1280, 1100)
    opened.get(f"{links.PAGE.as_uri()}#s=incast")
    while not ended(opened):
        time.sleep(0.1)
    opened.execute_script("window.scrollTo(0, 0)")
    time.sleep(0.5)
    # A palette takes a third of the bytes.
    Image.open(io.BytesIO(opened.get_screenshot_as_png())).quantize(256).save(file, optimize=True)


def main() -> None:
    """Prints a line for each run, or writes a picture."""
    if not links.PAGE.is_file():
        sys.exit("the page is not built: make page")
    opened = browser()
    if PICTURE:
        draw(opened, PICTURE)
        opened.quit()
        return
    print("run; first figure, s; all of it, s; long tasks and the longest, ms: opening, running;")
    print("threads since the browser was opened, ms of a processor")
    for name, state in RUNS.items():
        first, whole, opening, running = [], [], [0.0], [0.0]
        for _ in range(REPEATS):
            opened.get("about:blank")
            began = time.monotonic()
            opened.get(f"{links.PAGE.as_uri()}#{state}")
            while not ended(opened):
                time.sleep(0.02)
            whole.append(time.monotonic() - began)
            drawn = opened.execute_script("return document.body.dataset.first")
            first.append(float(drawn or "nan") / 1e3)
            until = float(drawn or 0)
            for start, duration in opened.execute_script("return window.tasks"):
                (opening if start < until else running).append(duration)
        medians = f"{statistics.median(first):.2f}; {statistics.median(whole):.2f}"
        tasks = [f"{len(of) - 1}, {max(of):.0f}" for of in (opening, running)]
        print(f"{name}; {medians}; {'; '.join(tasks)}; {threads(opened)}", flush=True)
    opened.quit()


if __name__ == "__main__":
    main()
