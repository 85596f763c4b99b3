"""The documentation site: every link has a target, and every page works in a browser."""

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from threading import Thread

import pytest

import pullstream as ps
from pullstream.checker import RULES
from tests.programs import printed
from tests.pullstream.trace.browser import CHROMIUM, Browser, Page
from tutorials.contents import CHAPTERS
from tutorials.site.__main__ import main
from tutorials.site.contents import ALL, PAGES, ROOT
from tutorials.site.examples import fenced
from tutorials.site.links import dead_links
from tutorials.site.tree import DeadLinkError, assemble, places_of


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    assemble(folder)
    return folder


def test_every_page_is_assembled(pages):
    places = {"index.md", *(page.place for page in ALL)}
    assert len(places) == len(ALL)
    assert [place for place in places if not (pages / place).read_text().startswith("# ")] == []


def test_every_written_page_is_listed():
    assert set(PAGES.rglob("*.md")) <= {page.source for page in ALL}


def test_every_chapter_is_a_page_with_code_and_output(pages):
    for chapter in CHAPTERS:
        (page,) = [page for page in ALL if page.chapter is chapter]
        text = (pages / page.place).read_text()
        assert text.count('title="prints"') == len(chapter.pieces)
        assert all(exercise.number in text for exercise in chapter.exercises)
    page = (pages / "learn/could_result_in.md").read_text()
    assert "Read this chapter after [When is it done](when_is_it_done.md)" in page
    assert "[the literature](../literature.md)" in page
    assert "['tea', 'and', 'rice', 'salt', 'tea']" in (pages / "learn/a_first_pipeline.md").read_text()


def test_readme_leads_to_every_chapter():
    page = (ROOT / "tutorials/site/pages/more.md").read_text()
    assert [chapter.name for chapter in CHAPTERS if f"(../../{chapter.name}.py)" not in page] == []


def test_every_rule_has_breaking_code(pages):
    _, *sections = (pages / "rules.md").read_text().split("\n## ")
    assert [page.partition("\n")[0] for page in sections] == list(RULES)
    assert [page for page in sections if "```py\n    " not in page or "-broken.svg" not in page] == []


def test_every_exported_name_is_described(pages):
    text = (pages / "reference/pullstream.md").read_text()
    assert [name for name in ps.__all__ if f"::: pullstream.{name}\n" not in text] == []


def test_names_are_described_as_they_are_imported(pages):
    """Users do not import a checkout's folders."""
    titles = [path.read_text().partition("\n")[0] for path in (pages / "reference").glob("*.md")]
    assert [title for title in titles if title.startswith(("# adapters", "# timely"))] == []
    assert "# pullstream.files" in titles


def test_examples_of_docstrings_are_code():
    """Markdown would take Python prompts for quotations."""
    example = ">>> for n in [1]:\n...     print(n)\n1\n>>> [2]\n[2]"

    assert fenced(f"Say it.\n\n{example}\n\nMore.") == f"Say it.\n\n```pycon\n{example}\n```\n\nMore."
    assert fenced("A: b\n    >>> 1\n    1\n") == "A: b\n    ```pycon\n    >>> 1\n    1\n    ```\n"
    assert fenced("No example.") == "No example."


def test_a_dead_link_is_refused(pages, tmp_path, monkeypatch):
    wrong = tmp_path / "wrong.md"
    page = next(page for page in ALL if page.place == "changes.md")
    monkeypatch.setattr("tutorials.site.tree.ROOT", tmp_path)
    for link in ("nowhere.md", "there.md#no-such-place"):
        (tmp_path / "there.md").write_text("# There\n")
        wrong.write_text(f"# Wrong\n\n[a link]({link})\n")
        monkeypatch.setattr("tutorials.site.tree.ALL", [type(page)("Wrong", "wrong.md", wrong)])
        with pytest.raises(DeadLinkError, match=r"wrong.md links"):
            assemble(tmp_path)
    assert places_of(ROOT / "CONTRIBUTING.md") == {"working-on-pullstream", "how-we-write"}


def test_dead_links_of_a_built_site_are_found(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html#here"></a><a href="b.html#there"></a><img src="no.svg">')
    (tmp_path / "b.html").write_text('<h1 id="here"></h1><autoref identifier="gone"></autoref>')

    assert sorted(dead_links(tmp_path)) == [
        "a.html: b.html#there leads to a place that does not exist on that page",
        "a.html: no.svg does not exist",
        "b.html: the reference gone is unresolved",
    ]


def test_other_folders_are_not_overwritten(tmp_path, capsys):
    kept = tmp_path / "thesis.md"
    kept.write_text("years of work")
    with pytest.raises(SystemExit, match="2"):
        main([str(tmp_path)])
    assert "not a site built by this command" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main([str(kept)])
    assert kept.read_text() == "years of work"


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        (["rich"], "the site needs rich, which is not installed here: run `pip install '.[display]'`"),
        (
            ["zensical", "mkdocstrings", "rich"],
            "mkdocstrings, rich, which is not installed here: run `pip install --group docs '.[display]'`",
        ),
    ],
)
def test_missing_packages_are_named_and_nothing_is_left(missing, message, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name in missing else name)
    (tmp_path / "zensical.toml").write_text("a site of this command")
    for folder in (tmp_path, tmp_path / "new"):
        with pytest.raises(SystemExit, match="2"):
            main([str(folder)])
        assert message in capsys.readouterr().err
    assert [*tmp_path.iterdir()] == [tmp_path / "zensical.toml"]


def test_a_failed_build_leaves_nothing(tmp_path, monkeypatch):
    """The next build would refuse a partial site."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    monkeypatch.setattr("tutorials.site.__main__.assemble", lambda folder: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        main([str(tmp_path / "site")])
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    ("docstring", "message"),
    [
        ("Add one.\n\nArgs:\n    m: A number.\n", "Parameter 'm' does not appear in the function signature"),
        pytest.param("As [this][broken.none].", "unresolved autoref `broken.none`", marks=pytest.mark.slow),
    ],
)
def test_a_wrong_docstring_fails_the_build(docstring, message, tmp_path, monkeypatch, capfd):
    if find_spec("zensical") is None:
        pytest.skip("there is no Zensical here: pip install '.[docs]'")
    (tmp_path / "broken.py").write_text(f"def one_more(n: int) -> int:\n    {docstring!r}\n    return n + 1\n")
    page = "# One\n\n::: broken.one_more\n"
    monkeypatch.setattr("tutorials.site.__main__.ROOT", tmp_path)
    monkeypatch.setattr("tutorials.site.__main__.SECTIONS", {})
    monkeypatch.setattr("tutorials.site.__main__.assemble", lambda pages: (pages / "index.md").write_text(page))
    assert main([str(tmp_path / "site")]) == 1
    assert message in capfd.readouterr().out


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if find_spec("zensical") is None:
        pytest.skip("there is no Zensical here: pip install '.[docs]'")
    folder = tmp_path_factory.mktemp("site")
    printed("-m", "tutorials.site", folder, cwd=ROOT)
    handler = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=folder / "html")) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield folder / "html", f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if CHROMIUM is None:
        pytest.skip("there is no Chromium here: apt-get install chromium")
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


TOO_WIDE = """[...document.querySelectorAll("main *")].filter(one => {
  for (let box = one; box.tagName != "MAIN"; box = box.parentElement)
    if (getComputedStyle(box).overflowX != "visible") return false;
  const {right, width} = one.getBoundingClientRect();
  return width > 0 && right > document.documentElement.clientWidth + 1;
}).map(one => one.outerHTML.slice(0, 100))"""
"""Elements that are cut off at the right, except for those that scroll."""


@pytest.mark.slow
@pytest.mark.xdist_group("browser")
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (360, False), (360, True)])
def test_every_page_fits_without_errors(site, browser, width, dark):
    folder, address = site
    loaded = "document.readyState == 'complete' && location.protocol == 'http:'"
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.html") if path.name != "404.html")
    assert len(names) >= len(ALL)
    for name in names:
        page = Page(browser, f"{address}/{name}", width=width, dark=dark, ready=loaded)
        try:
            assert page.run("document.body.dataset.mdColorScheme") == ("slate" if dark else "default"), name
            browser.drain(0.05)
            assert page.complaints == [], name
            assert [url for url in page.requests if not url.startswith((address, "blob:"))] == [], name
            assert page.run("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0, name
            assert page.run(TOO_WIDE) == [], name
            assert page.run("[...document.images].filter(one => !one.complete || !one.naturalWidth).length") == 0, name
        finally:
            page.close()
