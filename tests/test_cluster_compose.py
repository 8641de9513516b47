"""docker/cluster.compose.yaml, read without a container engine."""

from __future__ import annotations

import re
import shlex
from typing import Any

import yaml

from spielleiter.cli.match import match_command
from spielleiter.match.cluster.address import ClusterAddress
from tests.commands import ROOT

TEXT = (ROOT / "docker" / "cluster.compose.yaml").read_text(encoding="utf-8")
FILE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = FILE["services"]


def test_nothing_is_reachable_from_outside() -> None:
    assert FILE["networks"] == {"cluster": {"internal": True}}
    assert all(each["networks"] == ["cluster"] and "ports" not in each for each in SERVICES.values())


def test_all_connections_are_encrypted() -> None:
    for name, service in SERVICES.items():
        if name != "certificate":
            assert service["environment"]["DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION"] == "True"
            assert "certificate:/tls:ro" in service["volumes"]
    assert "tcp:" not in TEXT
    assert SERVICES["scheduler"]["entrypoint"][2:4] == ["--protocol", "tls"]


def test_the_match_and_both_workers_use_the_same_scheduler() -> None:
    words = shlex.split(re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", SERVICES["match"]["command"]))
    assert words[0] == "match"
    context = match_command.make_context("match", words[1:])
    address = ClusterAddress.parse(context.params["cluster"])
    assert address.text.startswith("tls://")
    for name in ("worker1", "worker2"):
        assert address.text in SERVICES[name]["entrypoint"]
        assert SERVICES[name]["command"] == [name]
    assert SERVICES["certificate"]["build"]["args"] == {"LOCK": "cluster"}
