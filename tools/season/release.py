"""An official server that `season build` has built: where its parts lie, and how a program of it is started."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

DRIVER = Path(__file__).with_name("driver")
# As the release is started; its XStream reads collections of Java by reflection.
# Java would otherwise leave out the texts of frequent exceptions.
_JAVA = (
    *("java", "-Xmx1g", "-XX:+UseSerialGC", "-Dfile.encoding=UTF-8", "--add-opens", "java.base/java.util=ALL-UNNAMED"),
    "-XX:-OmitStackTraceInFastThrow",
    f"-Dlogback.configurationFile={DRIVER / 'quiet.xml'}",
)


class ReleaseError(Exception):
    """The folder has no built release, or Java refuses it; the text says what to do."""


@dataclass(frozen=True)
class Release:
    """An official server in the folder that `season build` wrote."""

    folder: Path

    @property
    def version(self) -> str:
        return self.folder.resolve().name

    @property
    def class_path(self) -> str:
        """The release's classes and libraries. Raises ReleaseError if nothing was built here."""
        try:
            return (self.folder / "classpath").read_text("utf-8").strip()
        except OSError as error:
            message = f"{self.folder} has no built release ({error.strerror}): python -m tools.season build"
            raise ReleaseError(message) from error

    def java(self, main_class: str, *arguments: str) -> list[str]:
        """The command that runs a class of the release or of the driver."""
        return [*_JAVA, "-cp", f"{self._driver_classes()}:{self.class_path}", main_class, *arguments]

    def server_command(self) -> list[str]:
        """The command that starts the release's server; options of the server may follow."""
        return self.program("sc.server.Application")

    def program(self, main_class: str) -> list[str]:
        """The command that runs a class of the release alone."""
        return [*_JAVA, "-cp", self.class_path, main_class]

    def _driver_classes(self) -> Path:
        """The driver, compiled against this release; again only when its sources have changed."""
        sources = sorted(DRIVER.glob("*.java"))
        classes = self.folder / "driver"
        newest = max(source.stat().st_mtime for source in sources)
        oldest = min((made.stat().st_mtime for made in classes.glob("*.class")), default=0.0)
        if oldest <= newest:
            command = [
                "javac",
                "-nowarn",
                "-Xmaxerrs",
                "9",
                "-encoding",
                "UTF-8",
                "-cp",
                self.class_path,
                "-d",
                str(classes),
            ]
            compiled = subprocess.run([*command, *map(str, sources)], capture_output=True, text=True, check=False)
            if compiled.returncode:
                raise ReleaseError(f"the driver does not fit {self.version}:\n{compiled.stderr}")
        return classes
