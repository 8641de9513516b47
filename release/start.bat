@echo off
rem Opens a window in which the command "spielleiter" works.
cd /d "%~dp0"
if not exist spielleiter.exe (
    echo Bitte zuerst das ganze ZIP entpacken: Rechtsklick auf das ZIP, "Alle extrahieren".
    echo Danach start.bat in dem entpackten Ordner oeffnen.
    pause
    exit /b 1
)
title spielleiter
set "PATH=%~dp0;%PATH%"
spielleiter.exe
cmd /k
