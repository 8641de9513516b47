// How a game ended, in one sentence above it, and what can be done then: why it was lost, play again, files to keep.

import { getFile } from "./api.js";
import { button, el, setText } from "./dom.js";
import { localized, t } from "./i18n.js";
import { errorBox } from "./messages.js";

const FORMS = ["replay", "png", "gif", "html"];

// Lets the browser keep a file.
async function keep(path) {
  const { blob, name } = await getFile(path);
  const url = URL.createObjectURL(blob);
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000); // some browsers read it a while later
}

// Returns how the game ended for the person in the seat `player`; "" if nobody sits there.
function personalText(end, player) {
  if (player === null || end.winner === null) return "";
  return t(end.winner === player ? "result.youWon" : "result.youLost");
}

export class ResultPanel {
  // `actions` are elements that stand first; `player` is the seat of the person who looks at it, or null; `explain()`
  // shows why the game was lost, or is null; `files` is the address of the game's files, or null; `isComplete` says that
  // no more moves will come, also without a result; `plyOf()` is the ply of a picture.
  constructor(record, { actions = [], player = null, explain = null, files = null, isComplete = false, plyOf = () => record.lastPly } = {}) {
    this.record = record;
    this.isComplete = isComplete;
    this.player = player;
    this.text = el("p", { class: "end-text" });
    this.errors = el("div");
    const fileButtons = FORMS.map((form) => button(t(`result.${form}`), async (event) => {
      const pressed = event.currentTarget;
      pressed.disabled = true;
      this.errors.replaceChildren();
      try {
        await keep(`${files}/${form}${form === "png" ? `?ply=${plyOf()}` : ""}`);
      } catch (error) {
        this.errors.replaceChildren(errorBox(error));
      }
      pressed.disabled = false;
    }, { class: `small file-${form}` }));
    this.files = files
      ? el("div", { class: "files", role: "group", "aria-label": t("result.keep") }, el("span", { class: "muted", text: t("result.keep") }), fileButtons)
      : null;
    this.explain = explain ? button(t("analysis.title"), explain, { class: "explain" }) : null;
    this.element = el("section", { class: "result", "aria-label": t("result.title") }, this.text,
      el("div", { class: "actions" }, actions, this.explain, this.files), this.errors);
  }

  // Shows the end, if there is one.
  show() {
    const { end, interruption } = this.record;
    const words = end ? [personalText(end, this.player), localized(end.words) || localized(end.reason) || String(end.cause ?? "")]
      : [localized(interruption) || (this.isComplete ? t("result.none") : "")];
    setText(this.text, words.filter(Boolean).join(" "));
    this.text.hidden = this.element.hidden = !(end || interruption || this.isComplete);
    if (this.explain) this.explain.hidden = !end;
    if (this.files) this.files.hidden = !end && !this.isComplete; // what was forgotten cannot be had as a file
    this.element.classList.toggle("is-interrupted", !end && Boolean(interruption));
  }
}
