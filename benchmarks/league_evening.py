"""An evening of a league in earnest: forty teams upload through real browsers while games run and others look on.

Run it as `python -m benchmarks.league_evening`; it needs Chromium, and compilers for the languages that it is to use. A
teacher makes the league in the browser. Within some minutes every team logs in, uploads its package and waits for the
verdict and then for its first rank in the table, all in Chromium. Meanwhile others look at the table, a live game and
the big screen. Afterwards the league goes on, by turns without visitors, with readers, and with readers and windows of
Chromium on this machine: how late the programs' answers are at the server must not depend on them. Tables at the end
show the times of each upload, planted strengths against ratings, how late the clock was, how long the table took, and
the memory.

The browsers have a lower priority than the league, since pupils' browsers run on machines of their own.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import multiprocessing
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from http.client import HTTPConnection
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import psutil
from playwright.async_api import Browser, BrowserContext, Page, async_playwright
from playwright.async_api import Error as BrowserError

from benchmarks.evening_packages import Package, make_packages
from spielleiter.common.own_python import own_python
from spielleiter.league.database import open_database
from spielleiter.league.games import all_games, get_recording
from spielleiter.league.versions import list_versions
from tests.viewer.browser.browsers import find_chromium

PASSWORD: Final = "ein langes Passwort"
VERDICT_GOAL: Final = 60.0
"""Seconds from the upload to the first rank."""
PATIENCE: Final = 240.0
"""Seconds after which a browser waits no longer."""
SETUP_PATIENCE: Final = 30.0
NICENESS: Final = 10
STOPWATCH_INTERVAL: Final = 1.0
"""Seconds between two requests of the table that are timed."""
READER_PAUSE: Final = 5.0
"""Seconds between two loads of the table by one reader, as in `league.js`."""
SAMPLE_INTERVAL: Final = 5.0
_QUICK_KINDS: Final = ("C++", "Rust")
"""The programs whose own time does not count: how late their answers are is how late the machine is."""
NOBODY, READERS, EVERYBODY = "nobody", "readers", "readers and windows"
VISITORS: Final = (NOBODY, READERS, EVERYBODY)
"""Who looks on, by turns."""
_OPTIONS: Final = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")


@dataclass
class Upload:
    """What became of a package; times in seconds after the upload, None: it did not come to that."""

    package: Package
    at: float = 0.0
    verdict: str = ""
    reason: str = ""
    decided: float | None = None
    ranked: float | None = None
    problem: str = ""

    @property
    def is_as_expected(self) -> bool:
        """Whether the verdict is the one that the package deserves."""
        if self.problem or not self.verdict:
            return False
        return self.package.is_sound in (None, self.verdict == "accepted")


@dataclass
class Evening:
    """Everything that was seen."""

    uploads: list[Upload] = field(default_factory=list)
    turns: list[tuple[float, float, str]] = field(default_factory=list)
    """Beginning and end, as seconds since 1970, and which of VISITORS there were; the first is that of the uploads."""
    table: list[tuple[float, float]] = field(default_factory=list)
    """When the table was asked for, and the seconds until it was there."""
    memory: dict[str, float] = field(default_factory=dict)
    """The most MiB of each process of the league, by its name."""
    reads: int = 0
    failed_reads: int = 0


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


# -- the league -----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def running_league(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """Run a league in `folder`; gives its process, its address, and the one where it is set up."""
    command = [
        *own_python(),
        "-P",
        "-u",
        "-m",
        "spielleiter",
        "league",
        str(folder),
        "--port",
        "0",
        "--helpers-port",
        "0",
    ]
    log = (folder.parent / "league.log").open("w", encoding="utf-8")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    assert process.stdout is not None
    try:
        url = setup = ""
        while not setup:
            line = process.stdout.readline()
            if not line:
                raise RuntimeError(f"the league does not start: {(folder.parent / 'league.log').read_text()}")
            if found := re.search(r"http://\S+setup\?code=\S+", line):
                setup = found[0]
            elif found := re.match(r"(http://\S+)/", line):
                url = found[1]
        # what it says later must not fill the pipe
        threading.Thread(target=process.stdout.read, daemon=True).start()
        yield process, url, setup
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(30)
        process.kill()
        log.close()


def _process_name(process: psutil.Process) -> str:
    """The module of a process of the league; empty for other programs."""
    line = " ".join(process.cmdline())
    found = re.search(r"spielleiter\.league\.(\w+)", line)
    if found:
        return found[1]
    return "pages and director" if "-m spielleiter league" in line else ""


async def watch_memory(pid: int, evening: Evening) -> None:
    """Note the most memory of the processes of the league, until cancelled."""
    while True:
        sums: dict[str, float] = defaultdict(float)
        with contextlib.suppress(psutil.Error):
            for process in [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]:
                with contextlib.suppress(psutil.Error):
                    if name := _process_name(process):
                        sums[name] += process.memory_info().rss / 2**20
        sums["all together"] = sum(sums.values())
        for name, size in sums.items():
            evening.memory[name] = max(size, evening.memory.get(name, 0.0))
        await asyncio.sleep(SAMPLE_INTERVAL)


# -- people with browsers -------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def window(browser: Browser, **options: Any) -> AsyncIterator[Page]:
    """A browser window of its own, with its own cookies."""
    context: BrowserContext = await browser.new_context(
        locale="de-DE", viewport={"width": 1280, "height": 800}, **options
    )
    context.set_default_timeout(1000 * PATIENCE)
    try:
        yield await context.new_page()
    finally:
        with contextlib.suppress(BrowserError):
            await context.close()


async def make_league(browser: Browser, setup: str, names: Sequence[str]) -> tuple[dict[str, str], str]:
    """Make the league as a teacher does; return the codes by team, and the link for spectators."""
    async with window(browser) as page:
        page.set_default_timeout(1000 * SETUP_PATIENCE)
        await page.goto(setup)
        await page.get_by_label("Passwort für die Lehrkraft").fill(PASSWORD)
        await page.get_by_label("Name der Liga").fill("Ein Abend")
        await page.locator("select[name=edition]").select_option("blokus-2027")
        await page.get_by_label("Namen der Schüler").fill("\n".join(names))
        await page.get_by_role("button", name="Liga anlegen").click()
        await page.locator(".sheet code").first.wait_for()
        codes = await page.locator(".sheet code").all_inner_texts()
        strips = await page.locator(".sheet li strong").all_inner_texts()
        by_team = dict(zip(strips, codes, strict=True))
        assert set(by_team) == set(names), "each name has to be as it was typed"
        await page.goto(urlsplit(setup)._replace(path="/teacher", query="").geturl())
        await page.get_by_role("button", name="Link erzeugen").click()
        link = (await page.locator("pre.example", has_text="/watch/").inner_text()).strip()
        # the link names this machine as others in the network see it
        link = urlsplit(link)._replace(netloc=urlsplit(setup).netloc).geturl()
        return by_team, link


async def upload(browser: Browser, url: str, code: str, path: Path, upload: Upload) -> None:
    """Log in as a team, upload, and wait for the verdict and the first rank."""
    try:
        async with window(browser) as page:
            await page.goto(f"{url}/")
            await page.get_by_label("Code vom Zettel").fill(code)
            await page.get_by_role("button", name="Anmelden").first.click()
            await page.get_by_role("link", name="Hochladen", exact=True).click()
            await page.locator("input[type=file]").set_input_files(path)
            upload.at = time.time()
            await page.get_by_role("button", name="Hochladen").click()
            decided = page.locator(".verdict.is-accepted, .verdict.is-refused, .verdict.is-withdrawn")
            await decided.or_(page.locator("#upload [role=alert]:not([hidden])")).first.wait_for()
            upload.decided = time.time() - upload.at
            if not await decided.count():
                upload.verdict, upload.reason = "not taken", await page.locator("#upload [role=alert]").inner_text()
                return
            shown = await decided.get_attribute("class") or ""
            upload.verdict = shown.rpartition("is-")[2]
            if upload.verdict != "accepted":
                upload.reason = await page.locator("#check .error").inner_text()
                return
            await page.get_by_role("link", name="Tabelle").click()
            team = await page.locator("body").get_attribute("data-team")
            # the sixth column has the number of games
            await page.wait_for_function(
                "(team) => Number(document.querySelector(`tr[data-team='${team}'] td:nth-child(6)`)?.textContent) > 0",
                arg=team,
            )
            upload.ranked = time.time() - upload.at
    except BrowserError as error:
        upload.problem = f"{error}".strip().splitlines()[0]


class Visitors:
    """Spectators: a few in Chromium, the others speak as `league.js` does, which takes less of the processor."""

    def __init__(self, browser: Browser, url: str, link: str, readers: int, evening: Evening) -> None:
        self._browser, self._url, self._link, self._readers, self._evening = browser, url, link, readers, evening
        self._host = urlsplit(url).netloc
        self.cookie = ""

    async def log_in(self) -> None:
        """Get a session by the link for spectators."""
        async with window(self._browser) as page:
            await page.goto(self._link)
            cookies = await page.context.cookies()
        self.cookie = "; ".join(f"{each.get('name')}={each.get('value')}" for each in cookies)

    async def run(self, who: str) -> None:
        """Look at the league until cancelled: `who` is one of VISITORS."""
        async with asyncio.TaskGroup() as group:
            for route in ("/", "/beamer", "/viewer/") if who == EVERYBODY else ():
                group.create_task(self._look(route))
            for _ in range(self._readers if who != NOBODY else 0):
                group.create_task(self._read())

    async def _look(self, route: str) -> None:
        while True:
            with contextlib.suppress(BrowserError):
                await self._look_once(route)
            self._evening.failed_reads += 1
            await asyncio.sleep(1)

    async def _look_once(self, route: str) -> None:
        async with window(self._browser) as page:
            await page.goto(self._link)
            await page.goto(f"{self._url}{route}")
            while route == "/viewer/":  # one of the games that are being played, and then another one
                with contextlib.suppress(BrowserError):
                    await page.locator("main a[href*='#/room/']").first.click(timeout=20_000)
                await asyncio.sleep(15)
                await page.goto("about:blank")
                await page.goto(f"{self._url}{route}")
            await asyncio.Event().wait()

    async def _read(self) -> None:
        """Load the table whenever it has changed, some seconds later at the earliest."""
        await asyncio.sleep(random.uniform(0, READER_PAUSE))
        while True:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                changes, writer = await self._request("/api/changes")
                try:
                    while await changes.readuntil(b"event: changed"):
                        await self._load("/")
                        await asyncio.sleep(READER_PAUSE)
                finally:
                    writer.close()
            self._evening.failed_reads += 1
            await asyncio.sleep(1)

    async def _request(self, route: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host, _, port = self._host.partition(":")
        reader, writer = await asyncio.open_connection(host, int(port), limit=1 << 22)
        head = f"GET {route} HTTP/1.1\r\nHost: {self._host}\r\nCookie: {self.cookie}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode())
        return reader, writer

    async def _load(self, route: str) -> None:
        reader, writer = await self._request(route)
        try:
            is_there = b" 200 " in await reader.readline()
            await reader.read()
        finally:
            writer.close()
        self._evening.reads += is_there
        self._evening.failed_reads += not is_there


def time_table(host: str, cookie: str, is_wanted: Event, results: Connection) -> None:
    """Load the table again and again while it `is_wanted` and send how long each took, until the other end is closed.

    It runs in a process of its own with the usual priority, so that it measures the league and not the driver.
    """
    while True:
        is_wanted.wait()
        begin = time.time()
        connection = HTTPConnection(host, timeout=60)
        try:
            connection.request("GET", "/", headers={"Cookie": cookie})
            is_there = connection.getresponse().read() != b""
        except OSError:
            is_there = False
        connection.close()
        try:
            results.send((begin, time.time() - begin if is_there else float("inf")))
        except OSError:
            return
        time.sleep(STOPWATCH_INTERVAL)


# -- the evening ----------------------------------------------------------------------------------------------------


async def play_evening(options: argparse.Namespace, packages: Sequence[Package], folder: Path) -> Evening:
    """Play all of it, and return what was seen."""
    evening = Evening()
    with running_league(folder / "league") as (process, url, setup):
        context = multiprocessing.get_context("spawn")
        timed, sending = context.Pipe(duplex=False)
        async with asyncio.TaskGroup() as group, async_playwright() as playwright:
            tasks = [group.create_task(watch_memory(process.pid, evening))]
            browser = await playwright.chromium.launch(executable_path=find_chromium(), args=list(_OPTIONS))
            codes, link = await make_league(browser, setup, [each.team for each in packages])
            visitors = Visitors(browser, url, link, options.readers, evening)
            await visitors.log_in()
            _lower_priority()
            is_wanted = context.Event()
            is_wanted.set()
            stopwatch = context.Process(
                target=time_table,
                args=(urlsplit(url).netloc, visitors.cookie, is_wanted, sending),
                daemon=True,
            )
            stopwatch.start()
            begin = time.time()
            looking = group.create_task(visitors.run(EVERYBODY))
            await _upload_all(options, packages, codes, browser, url, folder, evening)
            evening.turns.append((begin, time.time(), EVERYBODY))
            _say(f"all uploads are done; the league goes on for {options.minutes:g} minutes")
            end = time.monotonic() + 60 * options.minutes
            for who in itertools.cycle(VISITORS):
                looking.cancel()
                await asyncio.wait([looking])
                if time.monotonic() >= end:
                    break
                (is_wanted.clear if who == NOBODY else is_wanted.set)()
                looking = group.create_task(visitors.run(who))
                await asyncio.sleep(3)  # windows open and close, which is not what is measured
                begin = time.time()
                await asyncio.sleep(min(options.turn, max(0.0, end - time.monotonic())))
                evening.turns.append((begin, time.time(), who))
                _say(f"{max(0.0, end - time.monotonic()) / 60:.1f} minutes left")
            for task in tasks:
                task.cancel()
            await browser.close()
        stopwatch.terminate()
        while timed.poll():
            evening.table.append(timed.recv())
    return evening


def _lower_priority() -> None:
    """Let this process and the browsers give way to the league, where that is possible."""
    if sys.platform == "win32":
        return
    me = psutil.Process()
    for each in [me, *me.children(recursive=True)]:
        with contextlib.suppress(psutil.Error):
            line = " ".join(each.cmdline())
            if each == me or "chrom" in line or "playwright" in line:
                each.nice(NICENESS)


async def _upload_all(
    options: argparse.Namespace,
    packages: Sequence[Package],
    codes: dict[str, str],
    browser: Browser,
    url: str,
    folder: Path,
    evening: Evening,
) -> None:
    pause = 60 * options.upload_minutes / len(packages)
    async with asyncio.TaskGroup() as group:
        for number, package in enumerate(packages, 1):
            own = folder / f"{number}"
            own.mkdir()
            path = own / package.file_name
            path.write_bytes(package.content)
            evening.uploads.append(Upload(package))
            group.create_task(_upload_and_tell(browser, url, codes[package.team], path, evening.uploads[-1], number))
            if number < len(packages):
                await asyncio.sleep(pause)


async def _upload_and_tell(browser: Browser, url: str, code: str, path: Path, each: Upload, number: int) -> None:
    await upload(browser, url, code, path, each)
    ranked = f", first rank after {each.ranked:.0f} s" if each.ranked is not None else ""
    decided = f"{each.verdict} after {each.decided:.0f} s" if each.decided is not None else "no verdict"
    _say(f"{number}. {each.package.team} ({each.package.kind}): {decided}{ranked} {each.reason or each.problem}")


# -- what came of it ------------------------------------------------------------------------------------------------


def _seconds(value: float | None) -> str:
    return "     –" if value is None else f"{value:6.1f}"


def report_uploads(evening: Evening) -> None:
    """Print what became of each upload."""
    print(f"\n{'team':24} {'kind':24} {'verdict':>8} {'rank':>8}  in seconds after the upload")
    for each in evening.uploads:
        mark = "" if each.is_as_expected else "  NOT AS EXPECTED"
        text = f"{each.verdict}{mark} {each.reason or each.problem}"
        times = f"{_seconds(each.decided):>8} {_seconds(each.ranked):>8}"
        print(f"{each.package.team:24} {each.package.kind:24} {times}  {text}")
    decided = [each.decided for each in evening.uploads if each.decided is not None]
    ranked = [each.ranked for each in evening.uploads if each.ranked is not None]
    for name, values in (("verdict", decided), ("first rank", ranked)):
        if values:
            late = sum(value > VERDICT_GOAL for value in values)
            print(f"{name}: median {statistics.median(values):.1f} s, longest {max(values):.1f} s, "
                  f"{late} of {len(values)} later than {VERDICT_GOAL:.0f} s")  # fmt: skip
    wrong = [each.package.team for each in evening.uploads if not each.is_as_expected]
    print(f"verdicts not as expected: {', '.join(wrong) or 'none'}")


def report_games(evening: Evening, folder: Path) -> None:
    """Print faults, games a minute, how late the clock was, and the ratings."""
    with contextlib.closing(open_database(folder)) as database:
        games = [game for game in database.read_now(lambda db: list(all_games(db))) if game.purpose != "check"]
        recordings = {game.id: database.read_now(get_recording, game.id) for game in games}
        versions = {version.id: version for version in database.read_now(list_versions)}
    kinds = {each.package.team: each.package for each in evening.uploads}
    verdicts = Counter(game.verdict for game in games)
    failed = sum(not each.is_counted for each in games)
    print(f"\n{len(games)} games, {dict(verdicts.most_common())}, not counted: {failed}")
    late: dict[str, list[float]] = {who: [] for who in VISITORS}
    lasted, played = dict.fromkeys(VISITORS, 0.0), Counter[str]()
    for begin, end, who in evening.turns[1:]:
        lasted[who] += end - begin
        for game in games:
            if not begin <= game.finished_at <= end:
                continue
            played[who] += 1
            recording = recordings[game.id]
            if recording is None:
                continue
            started = datetime.fromisoformat(recording.details["started_at"]).timestamp()
            if started < begin:
                continue
            for version, times in zip((game.first, game.second), recording.details["think_times"], strict=True):
                package = kinds.get(versions[version].team_name)
                if package is not None and package.kind in _QUICK_KINDS:
                    late[who] += times
    uploading = evening.turns[0]
    count = sum(uploading[0] <= game.finished_at <= uploading[1] for game in games)
    print(f"games a minute: {60 * count / (uploading[1] - uploading[0]):.0f} while uploads came, ", end="")
    rates = [f"{60 * played[who] / lasted[who]:.0f} beside {who}" for who in VISITORS if lasted[who]]
    print(", ".join(rates))
    print(f"answers of programs in {' and '.join(_QUICK_KINDS)}, as the server's clock saw them, by who looked on:")
    without = 0.0
    for who, times in late.items():
        if len(times) < 100:
            continue
        cuts = statistics.quantiles(times, n=1000)
        without = without or cuts[989]
        print(
            f"  {who:20}: {len(times):6} answers, median {1000 * statistics.median(times):6.2f} ms, 99 % "
            f"{1000 * cuts[989]:6.2f} ms ({cuts[989] / without:.2f} of the first), 99.9 % {1000 * cuts[998]:6.2f} ms, "
            f"longest {1000 * max(times):6.1f} ms"
        )


def report_ratings(evening: Evening, folder: Path) -> None:
    """Print planted strengths against ratings."""
    from spielleiter.league.games import pairing_results
    from spielleiter.league.standings import compute_standings

    with contextlib.closing(open_database(folder)) as database:
        versions = database.read_now(list_versions)
        table = compute_standings(versions, database.read_now(pairing_results), {})
    packages = {each.package.team: each.package for each in evening.uploads}
    print(f"\n{'rank':>4} {'team':24} {'kind':24} {'planted':>7} {'rating':>6} {'±':>4} {'games':>5} {'faults':>6}")
    found: list[tuple[float, str, float]] = []
    for row in table.rows:
        package = packages.get(row.name) if row.team_id is not None else None
        planted = "" if package is None or package.strength is None else f"{package.strength:.2f}"
        kind = package.kind if package is not None else "anchor" if row.team_id is None else ""
        print(
            f"{row.rank or '–':>4} {row.name:24} {kind:24} {planted:>7} {row.rating:6.0f} "
            f"{(row.high - row.low) / 2:4.0f} {row.games:5} {row.faults:6}{' paused' * row.is_paused}"
        )
        if package is not None and package.strength is not None:
            found.append((package.strength, row.name, row.rating))
    inversions = [
        f"{weaker[1]} above {stronger[1]} by {weaker[2] - stronger[2]:.0f}"
        for weaker in found
        for stronger in found
        if weaker[0] < stronger[0] and weaker[2] > stronger[2] + 50
    ]
    print(
        f"planted order violated by more than 50 Elo: {len(inversions)} of {len(found) * (len(found) - 1) // 2} pairs"
    )
    for text in inversions:
        print(f"  {text}")
    by_strength: dict[float, list[float]] = defaultdict(list)
    for strength, _, rating in found:
        by_strength[strength].append(rating)
    for strength, ratings in sorted(by_strength.items()):
        if len(ratings) > 1:
            print(f"  strength {strength:.2f}: {len(ratings)} programs within {max(ratings) - min(ratings):.0f} Elo")


def report_pages(evening: Evening) -> None:
    """Print how quick the pages were, and the memory."""
    seconds = [value for _, value in evening.table]
    if len(seconds) > 1:
        cuts = statistics.quantiles(seconds, n=100)
        print(f"\ntable: {len(seconds)} timed requests, median {1000 * statistics.median(seconds):.0f} ms, "
              f"95 % {1000 * cuts[94]:.0f} ms, slowest {1000 * max(seconds):.0f} ms")  # fmt: skip
    print(f"readers: {evening.reads} loads of the table, {evening.failed_reads} failed")
    print("most memory in MiB: " + ", ".join(f"{name} {size:.0f}" for name, size in sorted(evening.memory.items())))


def main(arguments: Sequence[str] | None = None) -> None:
    """Play an evening and print what came of it."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0],
        epilog="With default options it takes about 15 minutes. Progress goes to standard error.",
    )
    parser.add_argument("--teams", type=int, default=1000, help="take only the first N packages [default: all, 40]")
    parser.add_argument("--upload-minutes", type=float, default=8.0, help="minutes in which all upload [8]")
    parser.add_argument("--minutes", type=float, default=5.5, help="minutes that the league goes on after that [5.5]")
    parser.add_argument(
        "--turn", type=float, default=30.0, help="seconds of a turn without, with some, with all visitors [30]"
    )
    parser.add_argument("--readers", type=int, default=20, help="spectators beside three windows of Chromium [20]")
    parser.add_argument(
        "--client", type=Path, action="append", default=[], help="another package that is uploaded, too"
    )
    parser.add_argument("--seed", type=int, default=1, help="the order of the uploads")
    parser.add_argument("--keep", type=Path, help="a new folder for the league, which is kept")
    options = parser.parse_args(arguments)
    if find_chromium() is None:
        parser.error("Chromium is missing (install it, or set CHROMIUM)")
    packages = make_packages(_say)
    packages += [
        Package(path.stem, "real client", path.read_bytes(), is_sound=None, file_name=path.name)
        for path in options.client
    ]
    random.Random(options.seed).shuffle(packages)
    packages = packages[: options.teams]
    _say(f"{len(packages)} packages: {dict(Counter(each.kind for each in packages))}")
    with tempfile.TemporaryDirectory() as name:
        folder = options.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        evening = asyncio.run(play_evening(options, packages, folder))
        report_uploads(evening)
        report_games(evening, folder / "league")
        report_ratings(evening, folder / "league")
        report_pages(evening)


if __name__ == "__main__":
    main()
