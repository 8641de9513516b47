// Command lines that let a program take a seat, to be copied.

import { copyable, el } from "./dom.js";
import { t, tOr } from "./i18n.js";

export function copyLabels() {
  return { copy: t("copy"), copied: t("copied"), selected: t("copySelected") };
}

// Returns a list of command lines, each with the kind of program that it is for: {kind, text}.
export function commandList(commands) {
  const items = commands.map(({ kind, text }) =>
    el("li", {}, el("span", { class: "muted", text: tOr(`command.${kind}`, kind) }), copyable(text, copyLabels())));
  return el("ul", { class: "commands" }, items);
}
