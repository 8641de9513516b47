"""What is wrong with a program, in one German and one English sentence with what to do.

The English sentences are those of the check (`programs/packages/faults.py`, `contest/runtime_faults.py`); the German
ones are here, by the same codes and with the same placeholders. Reasons of games are translated as far as their form is
known; what a program has written stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from spielleiter.contest.runtime_faults import FAULTS as RUNTIME_FAULTS
from spielleiter.league.model import Fault
from spielleiter.programs.packages.faults import FAULTS as PACKAGE_FAULTS
from spielleiter.programs.packages.faults import Finding

_GERMAN: Final[Mapping[str, str]] = {
    # -- the ZIP file
    "unreadable-file": "Die Datei lässt sich nicht lesen ({reason}). Prüfe Pfad und Rechte.",
    "not-a-zip": "Die Datei ist keine ZIP-Datei{kind}. Packe die Dateien des Programms als ZIP.",
    "damaged-zip": "Die ZIP-Datei ist unvollständig oder beschädigt ({reason}). Erzeuge sie neu.",
    "empty-zip": "Die ZIP-Datei enthält keine Dateien. Packe die Dateien des Programms hinein.",
    "too-many-files": "Die ZIP-Datei hat mehr als {limit} Einträge. Lass weg, was das Programm nicht braucht.",
    "too-large": "Ausgepackt sind die Dateien größer als {limit} MiB. Lass weg, was das Programm nicht braucht.",
    "zip-bomb": (
        "{file} wird beim Auspacken mehr als {limit}-mal so groß, wie bei einer ZIP-Bombe. Lass die Datei weg oder "
        "erzeuge sie erst, wenn das Programm läuft."
    ),
    "overlapping-files": (
        "{file} teilt sich in der ZIP-Datei Bytes mit einem anderen Eintrag, wie bei einer ZIP-Bombe. Erzeuge die "
        "ZIP-Datei neu."
    ),
    "wrong-checksum": "{file} ist beschädigt (falsche Prüfsumme). Erzeuge die ZIP-Datei neu.",
    "encrypted": "{file} ist verschlüsselt. Erzeuge die ZIP-Datei ohne Passwort.",
    "unsupported-compression": (
        "{file} ist mit einem anderen Verfahren als Deflate komprimiert ({method}). Erzeuge die ZIP-Datei mit dem "
        "üblichen Verfahren."
    ),
    # -- names
    "leaves-folder": "{file} würde außerhalb des Ordners ausgepackt (..). Verwende Pfade ohne „..“.",
    "absolute-path": "{file} ist ein absoluter Pfad. Packe die Dateien mit relativen Pfaden.",
    "drive-letter": "{file} beginnt mit einem Laufwerksbuchstaben. Packe die Dateien mit relativen Pfaden.",
    "backslash-in-name": (
        "{file} hat umgekehrte Schrägstriche im Namen, dadurch fehlen unter Linux die Ordner. Erzeuge die ZIP-Datei "
        "mit einem anderen Programm."
    ),
    "symbolic-link": "{file} ist eine symbolische Verknüpfung. Packe die Datei ein, auf die sie zeigt.",
    "special-file": "{file} ist weder Datei noch Ordner. Lass sie weg.",
    "duplicate-name": "{file} ist zweimal in der ZIP-Datei. Erzeuge sie neu.",
    "file-and-folder": "{file} ist in der ZIP-Datei Datei und Ordner zugleich. Erzeuge sie neu.",
    "control-character": "{file} hat ein Steuerzeichen im Namen. Benenne die Datei um.",
    "long-name": "{file} hat einen Namen von mehr als {limit} Bytes, zu lang für Linux. Kürze ihn.",
    "long-path": (
        "{file} hat einen Pfad von mehr als {path} Bytes oder {depth} Ordnern. Packe die Datei mit einem kürzeren Pfad."
    ),
    "uninspectable": (
        "Die ZIP-Datei lässt sich nicht untersuchen ({reason}). Erzeuge sie neu, mit dem üblichen Programm und "
        "einfacherem Inhalt."
    ),
    "broken-utf8-name": (
        "{file} hat einen Namen, der UTF-8 sein will und es nicht ist. Benenne die Datei ohne Umlaute und erzeuge die "
        "ZIP-Datei neu."
    ),
    # -- the main file
    "no-main-file": (
        "Oben in der ZIP-Datei liegt keine Datei zum Starten. Lege ein Skript dazu, das mit #! beginnt, etwa start.sh."
    ),
    "several-main-files": (
        "Mehrere Dateien kommen als Hauptdatei in Frage ({names}). Gib beim Hochladen eine davon als Hauptdatei an."
    ),
    "main-missing": "In der ZIP-Datei gibt es keine Datei {file}{hint}. Berichtige die Hauptdatei.",
    "main-is-folder": "{file} ist ein Ordner. Gib eine Datei darin als Hauptdatei an.",
    "folder-inside": (
        "Alles liegt im Ordner {file}, gestartet wird aber im Ordner darüber, wo das Programm nicht findet, was es "
        "braucht. Packe den Inhalt des Ordners statt des Ordners."
    ),
    "zip-inside": "Die ZIP-Datei enthält nur die ZIP-Datei {file}. Lade diese hoch.",
    "source-only": (
        "Die ZIP-Datei enthält nur Quelltext ({file}) und kein Programm. Übersetze es und packe das Programm zusammen "
        "mit einem Skript, das es startet."
    ),
    "empty-main": "{file} ist leer. Packe die Datei noch einmal.",
    "not-a-program": (
        "{file} lässt sich nicht als Programm starten. Gib ein Skript oder ein Programm als Hauptdatei an."
    ),
    "class-file": (
        "{file} ist eine Java-Klasse und lässt sich nicht direkt starten. Starte sie in einem Skript mit java."
    ),
    "jar-without-java": (
        '{file} lässt sich nicht direkt starten. Starte die Datei in einem Skript mit java -jar {file} "$@".'
    ),
    "windows-script": (
        "{file} ist ein Skript für Windows, das Linux nicht ausführt. Schreibe ein Shell-Skript, das mit #!/bin/sh "
        "beginnt."
    ),
    # -- the first line and the encoding of a script
    "crlf": "{file} hat die Zeilenenden von Windows (CR LF), so führt Linux es nicht aus. Speichere es mit LF.",
    "byte-order-mark": (
        "{file} beginnt mit einer Byte-Order-Mark, dadurch wird die erste Zeile nicht erkannt. Speichere es als UTF-8 "
        "ohne BOM."
    ),
    "utf-16": "{file} ist in UTF-16 kodiert, so führt Linux es nicht aus. Speichere es als UTF-8 ohne BOM.",
    "no-first-line": (
        "{file} beginnt nicht mit #! und einem Interpreter, so führt Linux es nicht aus. Beginne es mit {example}."
    ),
    "blank-before-first-line": (
        "{file} hat vor #! eine Leerzeile oder Leerzeichen, dadurch wird die erste Zeile nicht erkannt. Entferne sie."
    ),
    "incomplete-first-line": (
        "{file} nennt in der ersten Zeile keinen Interpreter. Beginne es mit #!/bin/sh oder #!/usr/bin/env python3."
    ),
    "first-line-options": (
        "{file} hat in der ersten Zeile mehrere Wörter nach dem Interpreter, die Linux als eines übergibt ({words}). "
        "Lass die Optionen weg."
    ),
    "missing-interpreter": (
        "{file} nennt den Interpreter {interpreter}, den es im Wettbewerb nicht gibt. Nimm etwa #!/bin/sh oder "
        "#!/usr/bin/env python3."
    ),
    # -- programs and libraries
    "windows-program": "{file} ist ein Programm für Windows. Übersetze es für 64-Bit-Linux (x86-64).",
    "macos-program": "{file} ist ein Programm für macOS. Übersetze es für 64-Bit-Linux (x86-64).",
    "elf-32-bit": "{file} ist ein 32-Bit-Programm. Übersetze es für 64-Bit-Linux (x86-64).",
    "other-processor": (
        "{file} ist ein Programm für einen anderen Prozessor ({processor}). Übersetze es für 64-Bit-Linux (x86-64)."
    ),
    "damaged-program": "{file} ist ein unvollständiges Programm. Erzeuge die ZIP-Datei neu.",
    # -- what may fail: names
    "name-encoding": (
        "{file} hat Umlaute oder Sonderzeichen im Namen, aber nicht als UTF-8, und heißt nach dem Auspacken anders. "
        "Benenne die Datei ohne Umlaute."
    ),
    "unmarked-utf8-name": (
        "{file} hat einen Namen in UTF-8, der nicht so gekennzeichnet ist, und heißt nach dem Auspacken vielleicht "
        "anders. Benenne die Datei ohne Umlaute."
    ),
    "decomposed-name": (
        "{file} hat zerlegte Umlaute im Namen, wie macOS sie schreibt; das Programm findet die Datei vielleicht nicht. "
        "Benenne sie ohne Umlaute."
    ),
    "case-collision": (
        "{file} unterscheidet sich von einer anderen Datei nur durch Groß- und Kleinschreibung. Benenne eine um."
    ),
    "windows-name": "{file} hat einen Namen, den Windows nicht erlaubt. Benenne die Datei um.",
    "jar-main-file": (
        "{file} ist eine JAR-Datei, die mit java -jar gestartet wird. Wähle im Wettbewerb ein Image mit Java, oder "
        'besser: starte sie in einem Skript mit java -jar {file} "$@".'
    ),
    "uncertain-interpreter": (
        "{file} nennt den Interpreter {interpreter}, den es im Wettbewerb vielleicht nicht gibt. Nimm etwa #!/bin/sh "
        "oder #!/usr/bin/env python3."
    ),
    "crlf-in-script": (
        "{file} wird in der Hauptdatei genannt und hat die Zeilenenden von Windows (CR LF), die eine Shell unter Linux "
        "für einen Teil der letzten Wörter hält. Speichere es mit LF."
    ),
    "background-start": (
        "{file} endet, während das Programm noch läuft, das es mit & gestartet hat. Starte das Programm ohne & oder "
        "beende das Skript mit wait."
    ),
    "foreign-program": (
        "{file} ist ein Programm für ein anderes System, das die Hauptdatei nennt; keines in der ZIP-Datei ist für "
        "64-Bit-Linux (x86-64). Übersetze es dafür."
    ),
    "unusual-loader": (
        "{file} braucht den Loader {loader}, den es im Wettbewerb vielleicht nicht gibt. Binde das Programm statisch."
    ),
    "missing-library": (
        "{file} braucht Bibliotheken, die es im Wettbewerb vielleicht nicht gibt ({libraries}). Binde sie statisch "
        "oder packe sie dazu."
    ),
    "newer-glibc": (
        "{file} braucht glibc {version}, der Wettbewerb hat vielleicht eine ältere. Übersetze es auf einem System mit "
        "höchstens glibc {newest} oder binde es statisch."
    ),
    "newer-java": (
        "{file} ist für Java {version} übersetzt, der Wettbewerb hat vielleicht ein älteres. Übersetze es mit "
        "--release {newest} oder niedriger."
    ),
    "newer-syntax": (
        "{file} braucht ein neueres Python als {version} (Zeile {line}: {reason}). Schreibe es für dieses oder wähle "
        "im Wettbewerb ein Image mit dem neueren."
    ),
    "missing-module": (
        "{file} importiert {module}, das weder in der ZIP-Datei ist noch zu Python gehört. Packe es dazu mit pip "
        "install --target . {module}"
    ),
    "requirements-missing": (
        "{file} nennt Pakete, die nicht in der ZIP-Datei sind ({names}); im Wettbewerb gibt es kein Netz. Packe sie "
        "dazu mit pip install --target ."
    ),
    "wheel-platform": ("{file} ist ein Wheel für ein anderes System als 64-Bit-Linux. Nimm das für manylinux x86_64."),
    "wheel-python": "{file} ist ein Wheel für ein altes Python. Nimm eines für Python 3.8 oder neuer.",
    "extension-platform": (
        "{file} ist ein übersetztes Python-Modul für ein anderes System als 64-Bit-Linux. Packe das für Linux dazu."
    ),
    "virtual-environment": (
        "{file} gehört zu einer virtuellen Umgebung von Python, die nur in dem Ordner funktioniert, in dem sie erzeugt "
        "wurde. Packe die Module stattdessen mit pip install --target . dazu."
    ),
    "macos-files": "{file} stammt von macOS und bewirkt nichts. Du kannst es weglassen.",
    "main-in-folder": (
        "Die Hauptdatei ist {file}. Wähle sie nach dem Hochladen zum Wettbewerb in der Liste der Dateien aus."
    ),
    # -- a game
    "does-not-start": (
        "{game}: Das Programm startet nicht ({reason}). Starte die Hauptdatei von Hand und behebe, was sie meldet."
    ),
    "takes-no-seat": (
        "{game}: Das Programm nimmt seinen Platz nicht ein ({reason}). Es muss sich mit dem Host und dem Port "
        "verbinden, die es bekommt, und mit dem Reservierungscode beitreten."
    ),
    "wrong-server": (
        "Das Programm verbindet sich mit einem Server, den es nicht gibt ({reason}). Nimm den Host nach -h und den "
        "Port nach -p: Im Wettbewerb ist der Server nicht auf localhost."
    ),
    "speaks-nonsense": (
        "{game}: Die ersten Bytes des Programms gehören nicht zum Protokoll ({reason}). Sende zuerst <protocol> und "
        "joinPrepared."
    ),
    "ends-early": (
        "{game}: Das Programm beendet sich mitten im Spiel ({reason}). Es muss laufen, bis der Server das Ergebnis "
        "geschickt hat."
    ),
    "crash": ("{game}: Das Programm stürzt ab ({reason}). Lies seine Ausgabe und behebe den Fehler."),
    "leaves": (
        "{game}: Das Programm trennt die Verbindung mitten im Spiel ({reason}). Lass sie offen, bis das Ergebnis da "
        "ist."
    ),
    "tampers": "{game}: Das Programm hält andere Prozesse an ({reason}). Lass sie in Ruhe.",
    "timeout": (
        "{game}: Ein Zug kommt zu spät ({reason}). Lass das Programm deutlich vor dem Limit aufhören zu rechnen."
    ),
    "hangs": (
        "{game}: Das Programm antwortet nicht mehr ({reason}). Suche nach einer Endlosschleife oder einem Warten."
    ),
    "illegal-move": (
        "{game}: Das Programm macht einen regelwidrigen Zug ({reason}). Vergleiche den Zug mit den Regeln."
    ),
    "bad-message": ("{game}: Das Programm sendet etwas, das kein Zug ist ({reason}). Vergleiche es mit dem Protokoll."),
    "does-not-end": (
        "{game}: Das Programm beendet sich nicht ({reason}). Es muss enden, sobald das Ergebnis da ist, denn der "
        "offizielle Server lässt die Verbindung offen."
    ),
    "leaves-processes": (
        "{game}: Das Programm lässt Prozesse zurück ({reason}). Beende sie, oder starte das letzte Programm eines "
        "Skripts mit exec."
    ),
    # -- options
    "option-order": (
        "Das Programm scheitert, wenn seine Optionen in anderer Reihenfolge stehen, wie {form} ({reason}). Lies sie "
        "nach ihrem Namen, nicht nach ihrer Stelle."
    ),
    "option-names": (
        "Das Programm scheitert mit langen Optionen, wie {form} ({reason}). Nimm auch --host, --port und "
        "--reservation an."
    ),
    "parameter-order": (
        "Das Programm scheitert, wenn seine weiteren Parameter am Ende stehen, wie {form} ({reason}). Lies Optionen "
        "nach ihrem Namen, nicht nach ihrer Stelle."
    ),
    "plain-join": (
        "Das Programm tritt ohne Reservierungscode bei und bekommt so im Wettbewerb keinen Platz. Sende joinPrepared "
        "mit dem Code nach -r."
    ),
    "not-twice": (
        "Das Programm scheitert, wenn es zweimal gleichzeitig läuft ({reason}). Verwende keinen festen Port und keine "
        "Sperrdatei (im Wettbewerb hat jedes Programm einen eigenen Rechner, hier nicht)."
    ),
    "failed-step": "{title}: Erwartet war: {expected}. Es kam: {reason}.",
    "missed-step": "{title}: Erwartet war: {expected}. Es kam: {reason} ({remark}, aber es ist guter Stil).",
    # -- times
    "slow-start": (
        "Das Programm braucht {seconds}, bis es seinen Platz hat. Lade beim Start weniger, denn der Wettbewerb wartet "
        "vielleicht nicht."
    ),
    "too-slow": (
        "Züge dauern hier bis zu {slowest}, und mehrere davon im Wettbewerb etwa {expected} oder länger; erlaubt sind "
        "2 s (eine Schätzung). Rechne kürzer."
    ),
    "nearly-too-slow": (
        "Der langsamste Zug dauert hier {slowest}, das sind im Wettbewerb etwa {expected}; erlaubt sind 2 s (eine "
        "Schätzung). Halte mehr Zeit in Reserve."
    ),
    # -- memory and output
    "too-much-memory": (
        "Das Programm braucht {peak} Speicher und wird im Wettbewerb bei {limit} beendet. Speichere weniger oder "
        "begrenze es (bei Java mit -Xmx1g)."
    ),
    "out-of-memory": (
        "Das Programm bekommt keinen Speicher mehr ({reason}). Speichere weniger oder begrenze es (bei Java mit "
        "-Xmx1g)."
    ),
    "much-memory": (
        "Das Programm braucht {peak} von {limit} Speicher. Speichere weniger oder begrenze es (bei Java mit -Xmx1g)."
    ),
    "too-many-processes": (
        "Das Programm hat mehr als {limit} Prozesse und Threads zugleich und wird beendet. Suche nach einer Schleife, "
        "die sie startet."
    ),
    "memory-not-limited": (
        "Der Speicher ließ sich hier nicht begrenzen ({reason}). Prüfe unter Linux mit bubblewrap oder in einem "
        "Container."
    ),
    "processes-not-limited": (
        "Die Zahl der Prozesse ließ sich hier nicht begrenzen ({reason}). Prüfe unter Linux mit bubblewrap oder in "
        "einem Container."
    ),
    "disk-not-limited": (
        "Was das Programm schreibt, ließ sich hier nicht begrenzen ({reason}). Prüfe unter Linux mit bubblewrap oder "
        "in einem Container."
    ),
    "hides-files": (
        "Das Programm verbirgt offene Dateien oder Speicher, so ließen sie sich nicht ganz überwachen. Lass das weg."
    ),
    "too-much-disk": (
        "Das Programm schreibt in einem Spiel mehr als {size} oder {files} Dateien oder verbirgt sie und wird beendet. "
        "Schreibe weniger, und in gewöhnliche Ordner."
    ),
    "much-disk": (
        "Das Programm schreibt in einem Spiel {size} in {count}. Schreibe weniger, das kostet Zeit zum Rechnen."
    ),
    "much-output": ("Das Programm gibt in einem Spiel {size} aus. Gib weniger aus, das kostet Zeit zum Rechnen."),
    "endless-output": (
        "Das Programm gibt in einem Spiel {size} aus. Suche eine Endlosschleife mit Ausgaben und gib weniger aus."
    ),
    # -- what the contest does not allow
    "uses-network": (
        "Das Programm will ins Netz ({reason}). Packe alles, was es braucht, in die ZIP-Datei; im Wettbewerb gibt es "
        "kein Internet."
    ),
    "needs-network": (
        "Das Programm scheitert ohne Internet ({reason}). Packe alles, was es braucht, in die ZIP-Datei."
    ),
    "opens-window": (
        "Das Programm will ein Fenster öffnen ({reason}). Lass weg, was zeichnet; im Wettbewerb gibt es keinen "
        "Bildschirm."
    ),
    "needs-window": (
        "Das Programm scheitert, weil es kein Fenster öffnen kann ({reason}). Lass weg, was zeichnet; im Wettbewerb "
        "gibt es keinen Bildschirm."
    ),
    "needs-input": (
        "Das Programm wartet auf eine Eingabe oder braucht ein Terminal ({reason}). Lass input(), Scanner(System.in) "
        "und Ähnliches weg."
    ),
    "writes-elsewhere": (
        "Das Programm scheitert, weil es eine Datei nicht schreiben darf ({reason}). Schreibe in den eigenen Ordner "
        "oder in den für temporäre Dateien."
    ),
    # -- what is not there
    "options-in-one-word": (
        '{file} gibt alle Optionen als ein Wort weiter ("$*"), so erfährt das Programm weder Host noch Port noch '
        'Reservierung ({reason}). Schreibe "$@", damit nimmt es seinen Platz ein.'
    ),
    "wheel-for-other-python": (
        "Das Paket enthält Module für Python {wheel}, geprüft wurde mit {python} ({reason}). Erzeuge es neu mit der "
        "Version, die hier läuft, nach --python-version."
    ),
    "other-python": (
        "Das Programm ist kein gültiges Programm für {python}, mit dem geprüft wurde ({reason}). Berichtige es."
    ),
    "other-spelling": (
        "Das Programm sucht {name}, in der ZIP-Datei ist {there} ({reason}). Unter Linux zählt Groß- und "
        "Kleinschreibung, schreibe beides gleich."
    ),
    "other-place": (
        "Das Programm sucht {name} an anderer Stelle, in der ZIP-Datei ist {there} ({reason}). Schreibe Pfade, die in "
        "dem Ordner beginnen, in den die ZIP-Datei ausgepackt wird, und ./ vor den Namen eines Programms."
    ),
    "missing-when-run": (
        "Das Programm braucht etwas, das weder in der ZIP-Datei noch auf dem Rechner ist ({reason}). Packe es dazu."
    ),
    "not-executable-when-run": (
        "Ein zweites Programm darf nicht ausgeführt werden ({reason}), denn eine ZIP-Datei bewahrt dieses Recht nicht. "
        "Schreibe `chmod +x DATEI` in die Hauptdatei."
    ),
    "wrong-format-when-run": (
        "Ein zweites Programm lässt sich hier nicht ausführen ({reason}). Übersetze es für 64-Bit-Linux (x86-64) und "
        "starte eine JAR-Datei mit java -jar."
    ),
}

_SEATS: Final = {"first": "erster", "second": "zweiter"}
_PHRASES: Final = (
    (re.compile(r"\bended with exit code (\d+)"), r"beendet mit Exitcode \1"),
    (re.compile(r"\bended by signal (\d+)"), r"beendet durch Signal \1"),
    (re.compile(r" and had not connected\b"), ", ohne sich verbunden zu haben"),
    (re.compile(r" and connected, but had not taken its seat\b"), ", verbunden, aber ohne Platz"),
    (re.compile(r"\bits last words: "), "letzte Ausgabe: "),
    (re.compile(r"\bit connected and then did not take its seat\b"), "verbunden, aber dann kein Platz eingenommen"),
    (
        re.compile(r"\bit did not connect to the host and port that it was given \(-h, -p\)"),
        "keine Verbindung mit dem Host und dem Port nach -h und -p",
    ),
    (re.compile(r"\b([\d.]+) s, allowed are ([\d.]+) s"), r"\1 s, erlaubt sind \2 s"),
    (re.compile(r"\b([\d.]+) s of it waiting for a processor"), r"davon \1 s Warten auf einen Prozessor"),
    (re.compile(r"\bit still ran ([\d.]+) s after the end of the game"), r"es lief \1 s nach dem Spielende noch"),
    (re.compile(r"\b(\d+) process(?:es)? outlived it: "), r"\1 Prozesse liefen weiter: "),
    (re.compile(r"\bit ended its connection, its process runs on\b"), "Verbindung getrennt, der Prozess läuft weiter"),
    (re.compile(r"\bthe server(?: had)? refused: "), "der Server lehnte ab: "),
    (re.compile(r"\bit sent something that is not a message: "), "gesendet wurde keine Nachricht: "),
    (
        re.compile(r"\bit was on turn when the time for the game was over\b"),
        "es war am Zug, als die Zeit für das Spiel um war",
    ),
    (re.compile(r"; the same happened once more$"), "; das Gleiche geschah noch einmal"),
    (re.compile(r"; the same happened (\d+) more times$"), r"; das Gleiche geschah noch \1-mal"),
)


_GERMAN_KINDS: Final[Mapping[str, str]] = {
    ", it is empty": ", sondern leer",
    " but a 7z archive": ", sondern ein 7z-Archiv",
    " but a RAR archive": ", sondern ein RAR-Archiv",
    " but a gzip file, such as .tar.gz": ", sondern eine gzip-Datei, etwa .tar.gz",
    " but a bzip2 file": ", sondern eine bzip2-Datei",
    " but an xz file": ", sondern eine xz-Datei",
    " but a program": ", sondern ein Programm",
    " but a program for Windows": ", sondern ein Programm für Windows",
    " but a script": ", sondern ein Skript",
}
"""What a file is that is no ZIP, as `not-a-zip` says it."""


def fault_of(finding: Finding) -> Fault:
    """Return a finding as a sentence in each language."""
    german = _GERMAN[finding.code]
    values = dict(finding.values)
    for name, value in values.items():
        if name in {"reason", "game", "title"}:
            values[name] = german_reason(str(value))
        elif name == "kind":
            values[name] = _GERMAN_KINDS.get(str(value), value)
    english = finding.text[:1].upper() + finding.text[1:]
    return Fault(finding.code, german.format_map(values), english)


def german_reason(reason: str) -> str:
    """Translate what is known of a reason of a game or of a check into German."""
    game = re.match(r"game (\d+) as (first|second) player", reason)
    if game is not None:
        return f"Spiel {game[1]} als {_SEATS[game[2]]} Spieler{reason[game.end() :]}"
    for pattern, german in _PHRASES:
        reason = pattern.sub(german, reason)
    return reason


def codes() -> frozenset[str]:
    """Return the codes of all faults that a check can find."""
    return frozenset({*PACKAGE_FAULTS, *RUNTIME_FAULTS})
