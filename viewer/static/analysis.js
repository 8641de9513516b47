// "Why did I lose?": the moves of a finished game after which a side lost most, as estimated by the server. The better
// moves go into the record, so that the board shows each of them at its ply.

import { postForEvents } from "./api.js";
import { button, el, setText } from "./dom.js";
import { drawingFor } from "./games.js";
import { localized, number, t } from "./i18n.js";
import { errorText } from "./messages.js";

// A move of the estimate in words; `side` is the side that had to move.
function describeBetter(drawing, better, side) {
  if (!better) return "";
  return drawing.describeMove({ lastMove: { ...better, player: side?.player, color: side?.color, kind: "SET" } });
}

// Returns the panel. `source` names the game for the server, or is null if there is none; `addressOf(ply)` gives the
// address of a ply; `onBetter()` is called when the record has got new better moves.
export function analysisPanel(source, record, addressOf, onBetter) {
  const progress = el("progress", { max: 1, "aria-label": t("analysis.progress") });
  const explanation = el("p", { class: "muted", text: t("analysis.explanation") });
  const state = el("p", { class: "muted", role: "status" });
  const list = el("ol", { class: "moments" });
  let controller = null;
  const drawing = drawingFor(record.game);
  const show = ({ moments, method }) => {
    record.better = new Map();
    list.replaceChildren(...moments.map((item) => {
      const after = record.at(item.ply);
      const played = (after?.ply === item.ply && drawing.describeMove(after)) || localized(item.played);
      const side = record.at(item.ply - 1)?.sideToMove;
      const better = describeBetter(drawing, item.better, side);
      if (item.better) record.better.set(item.ply, { move: item.better, player: item.player, color: side?.color ?? null, text: better });
      return el("li", {},
        el("a", { href: addressOf(item.ply), text: t("analysis.moment", { ply: item.ply, turn: item.turn, player: record.playerName(item.player), loss: number(item.loss, Number.isInteger(item.loss) ? 0 : 1) }) }),
        el("div", { text: t("analysis.played", { text: played }) }),
        better ? el("div", { text: t("analysis.better", { text: better }) }) : null);
    }));
    setText(state, moments.length ? "" : t("analysis.none"));
    if (method) setText(explanation, localized(method));
  };
  const start = button(t("analysis.start"), async () => {
    controller = new AbortController();
    start.disabled = true;
    progress.hidden = false;
    progress.removeAttribute("value");
    setText(state, t("analysis.running"));
    let isDone = false;
    try {
      await postForEvents("api/analysis", source, {
        progress: ({ done, of }) => {
          progress.max = of;
          progress.value = done;
        },
        result: (result) => {
          isDone = true;
          show(result);
          onBetter();
        },
        failed: (data) => {
          isDone = true;
          setText(state, localized(data.error));
        },
      }, controller.signal);
      if (!isDone) setText(state, t("analysis.failed"));
    } catch (error) {
      if (error.name !== "AbortError") setText(state, errorText(error));
    }
    progress.hidden = true;
    start.disabled = false;
  });
  progress.hidden = true;
  const element = el("section", { class: "panel analysis" }, el("h2", { text: t("analysis.title") }), explanation, source ? start : null, progress, state, list);
  const known = record.game.analysis;
  if (known) show(known);
  element.hidden = true;
  return {
    element,
    // An unfinished game has nothing to explain.
    update(current) {
      element.hidden = !(known || (current.end && source));
    },
    // Shows the estimate, and makes it first if there is none.
    explain() {
      element.scrollIntoView({ block: "start" });
      if (source && !start.disabled && !list.childElementCount) start.click();
    },
    dispose: () => controller?.abort(),
  };
}
