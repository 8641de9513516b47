"""One packet of each kind, from recordings of an official server."""

from __future__ import annotations

from pathlib import Path

from tools.season.samples import pick_samples

RECORDING = """# a case (release 23.0.3): what it shows
    0.001  A      ->  (connects)
    0.002  A      <-  \\n  <joined roomId="1"/>
    0.003  A      <-  \\n  <room roomId="1">\\n    <data class="x.Move">\\n      <to x="10"/>\\n    </data>\\n  </room>
    0.004  A      <-  \\n  <room roomId="1">\\n    <data class="x.Move">\\n      <to x="1"/>\\n    </data>\\n  </room>
    0.005  A      <-  \\n  <room roomId="1">\\n    <data class="x.Move">\\n      <to y="1"/>\\n    </data>\\n  </room>
    0.006  A      ->  <left roomId="1"/>
    0.007  A      <-  (FIN)
"""


def result(first: int, second: int) -> str:
    scores = "".join(f'<score cause="REGULAR"><part>{part}</part></score>' for part in (first, second))
    return f'    0.001  b      <-  \\n  <room roomId="1">\\n    <data class="result">{scores}</data>\\n  </room>\n'


def test_the_shortest_packet_of_each_kind_that_the_server_sent_is_picked(tmp_path: Path) -> None:
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "one.txt").write_text(RECORDING, "utf-8")
    (tmp_path / "two.txt").write_text(result(0, 2) + result(1, 1) + result(1, 1), "utf-8")
    samples = dict(pick_samples(tmp_path))
    assert list(samples) == ["Move", "Move_2", "joined", "result", "result_2"]
    assert samples["joined"] == b'\n  <joined roomId="1"/>'
    assert b'x="1"' in samples["Move"]
    assert b"<part>1</part></score><score" in samples["result_2"]
