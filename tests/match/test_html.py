"""report.html, parsed with an HTML parser."""

from __future__ import annotations

from lxml import etree
from lxml import html as lxml_html

from spielleiter.match.reports.match_reports import render_html
from spielleiter.match.reports.texts import elo_text
from spielleiter.match.statistics import Sprt
from spielleiter.match.summary import summarise
from spielleiter.match.verdict import Verdict
from tests.match.hostile import HOSTILE_NAMES, hostile_match
from tests.match.sample_records import fault, game, whole_match


def parse(text: str) -> etree._Element:
    return lxml_html.document_fromstring(text)


def words(root: etree._Element, path: str) -> list[str]:
    return ["".join(each.itertext()) for each in root.findall(path)]


def test_tables_plots_and_games_are_there() -> None:
    records = whole_match(12)
    summary = summarise(records, sprt=Sprt(0, 50))
    root = parse(render_html(summary, records))
    elo, ratio = root.findall(".//figure")[:2]
    assert [len(each.findall(".//circle")) for each in (elo, ratio)] == [12, 12]
    assert len(ratio.findall(".//line[@class='bound']")) == 2
    assert elo.findall(".//title")[-1].text == f"After 24 games: {elo_text(summary.elo)}"
    assert words(root, ".//caption") == ["Results", "greedy against random", "Faults", "Times"]
    assert len(root.findall(".//figure")) == 6
    assert len(root.findall(".//svg")) == 6
    assert len(root.findall(".//circle[@class='draw']")) == sum(record.winner is None for record in records)
    by_winner = [len(root.findall(f".//figure[3]//circle[@class='p{program}']")) for program in (0, 1)]
    assert by_winner == [sum(record.winner == program for record in records) for program in (0, 1)]
    assert len(root.findall(".//details//tr")) == 25
    assert [link.get("href") for link in root.findall(".//details//a")[:2]] == [
        "./games/00001/",
        "./games/00001/replay.xml.gz",
    ]
    with_page = parse(render_html(summary, records, {1}))
    assert with_page.findall(".//details//a")[1].get("href") == "./games/00001/replay.html"
    assert any(text.startswith("SPRT: LLR") for text in words(root, ".//p"))


def test_the_page_fetches_nothing() -> None:
    records = whole_match(2)
    text = render_html(summarise(records), records)
    root = parse(text)
    assert {each.tag for each in root.iter() if isinstance(each.tag, str)}.isdisjoint(
        {"script", "link", "img", "iframe", "object", "base"}
    )
    assert [each.get("src") for each in root.iter() if each.get("src")] == []
    assert "url(" not in text
    assert "@import" not in text
    [policy] = root.findall(".//meta[@http-equiv='Content-Security-Policy']")
    assert policy.get("content") == "default-src 'none'; style-src 'unsafe-inline'"


def test_hostile_texts_are_escaped() -> None:
    summary, records = hostile_match()
    root = parse(render_html(summary, records))
    tags = {each.tag for each in root.iter() if isinstance(each.tag, str)}
    assert tags.isdisjoint({"script", "img", "b"})
    assert not any(name.startswith("on") for each in root.iter() for name in each.attrib)
    links = [link.get("href") or "" for link in root.findall(".//a")]
    assert links
    assert all(link.startswith("./javascript%3Ax%22%27/%23%3F/") for link in links)
    assert HOSTILE_NAMES[0] in words(root, ".//th")
    assert not set("\x00\x08\x1b\x7f\x9b\u202e\ud800") & set(render_html(summary, records))
    assert r"\r\n| a | b |\n# heading\n\x08" in words(root, ".//li")[0]


def test_wide_parts_scroll_separately() -> None:
    records = whole_match(2)
    text = render_html(summarise(records), records)
    root = parse(text)
    for path, inside in ((".//table", ".//div[@class='wide']/table"), (".//svg", ".//figure/svg")):
        assert len(root.findall(path)) == len(root.findall(inside)) > 0
    assert ".wide, figure { overflow-x: auto; }" in text


def test_a_match_without_games_has_a_page_without_plots() -> None:
    root = parse(render_html(summarise([], names=("a", "b")), []))
    assert root.findall(".//svg") == []
    assert words(root, ".//summary") == ["All 0 games"]


def test_games_not_played_to_their_end_are_in_the_table_but_not_in_the_plot() -> None:
    records = [
        game(1, start=None),
        fault(2, 1, Verdict.HANGS, reason="silence", think_times=((), ()), replay=None),
        game(3, verdict=Verdict.LEFTOVERS, offender=1),
        game(4, points=(None, 3)),
    ]
    root = parse(render_html(summarise(records), records))
    assert len(root.findall(".//figure[2]//circle")) == 2
    assert "hangs: silence" in words(root, ".//details//td")
    assert words(root, ".//li")[0] == "Game 2: random, hangs: silence"
    assert words(root, ".//li")[1] == "Game 3: random, leaves processes behind: the rules' end (replay)"
    assert [[link.get("href") for link in item.findall("a")] for item in root.findall(".//li")] == [
        ["./games/00002/"],
        ["./games/00003/", "./games/00003/replay.xml.gz"],
    ]
    assert len(root.findall(".//details//a")) == 7
    assert "greedy first" in words(root, ".//figure[3]//text")


def test_a_game_whose_folder_was_not_kept_has_no_links() -> None:
    records = [game(1, folder="", replay=None), fault(2, 1, Verdict.HANGS, folder="", replay=None)]
    root = parse(render_html(summarise(records), records))
    assert "Game 2: random, hangs" in words(root, ".//li")[0]
    assert not root.findall(".//li//a")
    assert not root.findall(".//details//a")


def test_long_names_are_shortened_in_plots_only() -> None:
    name = "a program with a very long name indeed"
    record = game(1, names=(name, "random"), start="an opening with a long name.xml", think_times=((11.0,), ()))
    root = parse(render_html(summarise([record]), [record]))
    assert "an openin…, a program… first" in words(root, ".//figure[2]//text")
    assert "more" in words(root, ".//figure[3]//text")
    assert name in words(root, ".//th")
