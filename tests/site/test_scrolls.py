"""What scrolls sideways on a page of the site can be reached with a keyboard, formulas that come late included."""

from pathlib import Path

import pytest

from ..browser import lab

SCRIPT = Path(__file__).parents[2] / "site" / "static" / "figures.js"
WIDE = "<div style='width: 900px'>wide</div>"
PAGE = f"""<html><body class="bd-article"><table style="display: block; overflow-x: auto"><tr><td>{WIDE}</td></tr></table>
<table id="narrow"><tr><td>1</td></tr></table><script>
const made = () => {{ document.body.insertAdjacentHTML("beforeend",
  "<mjx-container style='display: block; overflow-x: auto'>{WIDE}</mjx-container>"); }};
window.MathJax = {{startup: {{promise: new Promise((done) => setTimeout(() => {{ made(); done(); }}, 300))}}}};
</script><script defer src="figures.js"></script></body></html>"""


@pytest.mark.browser
def test_a_table_and_a_formula_that_scroll_take_the_focus(tmp_path):
    chromium = lab.chromium()
    if chromium is None:
        pytest.skip("Chromium is not installed here.")
    sync_api = pytest.importorskip("playwright.sync_api")
    (tmp_path / "figures.js").write_bytes(SCRIPT.read_bytes())
    (tmp_path / "page.html").write_text(PAGE, encoding="utf-8")
    with sync_api.sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 360, "height": 600})
        page.set_default_timeout(lab.PATIENCE_ms)
        page.goto((tmp_path / "page.html").as_uri())
        page.wait_for_selector("mjx-container[tabindex='0']")
        assert page.locator("table[tabindex='0']").count() == 1
        page.set_viewport_size({"width": 1400, "height": 600})
        page.wait_for_selector("mjx-container:not([tabindex])")
        browser.close()
