"""Chromium without a window, which the tests of pages and `bench/page.py` open."""

import shutil
from typing import Any


def options() -> Any:  # noqa: ANN401
    """The settings of a browser, to which the caller may add."""
    from selenium import webdriver  # noqa: PLC0415 - tests are skipped where it is not installed

    settings = webdriver.ChromeOptions()
    settings.binary_location = shutil.which("chromium") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        settings.add_argument(argument)
    return settings


def opened(settings: Any) -> Any:  # noqa: ANN401
    """A browser of these settings."""
    from selenium import webdriver  # noqa: PLC0415 - as above

    service = webdriver.ChromeService(shutil.which("chromedriver"))
    return webdriver.Chrome(options=settings, service=service)
