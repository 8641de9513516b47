// The controls of a game: first, back, play, forward, last, the scrubber, the speed and the overlay of legal moves.

import { el, svg } from "./dom.js";
import { t } from "./i18n.js";
import { SPEEDS } from "./playback.js";

const ICONS = {
  first: "M5 4v16M19 4L8 12L19 20Z",
  back10: "M20 5L12 12L20 19ZM12 5L4 12L12 19Z",
  back: "M16 4L6 12L16 20Z",
  play: "M7 4L19 12L7 20Z",
  pause: "M6 4h4v16H6zM14 4h4v16h-4z",
  forward: "M8 4L18 12L8 20Z",
  forward10: "M4 5L12 12L4 19ZM12 5L20 12L12 19Z",
  last: "M19 4v16M5 4L16 12L5 20Z",
};

function icon(name) {
  return svg("svg", { class: "icon", viewBox: "0 0 24 24", width: 22, height: 22, "aria-hidden": "true" }, svg("path", { d: ICONS[name] }));
}

export class Controls {
  // `onLegal` is told whether the overlay is wanted; null if legal moves are not to be had.
  constructor(playback, onLegal) {
    this.playback = playback;
    const control = (name, key, action) =>
      el("button", { type: "button", class: `control ${name}`, "aria-label": t(key), title: t(key), onclick: action }, icon(name));
    this.playIcon = icon("play");
    this.pauseIcon = icon("pause");
    this.play = el("button", { type: "button", class: "control play", onclick: () => playback.toggle() }, this.playIcon);
    this.scrubber = el("input", {
      type: "range", class: "scrubber", step: 1, "aria-label": t("replay.scrubber"),
      oninput: () => playback.jump(Number(this.scrubber.value)),
    });
    this.count = el("output", { class: "ply-count" });
    this.speed = el("select", { "aria-label": t("replay.speed"), onchange: () => playback.setSpeed(Number(this.speed.value)) },
      SPEEDS.map((speed) => el("option", { value: String(speed), text: `${speed}×` })));
    this.legal = onLegal
      ? el("button", { type: "button", class: "toggle legal-toggle", "aria-pressed": "false", onclick: () => this.toggleLegal() }, t("game.showLegal"))
      : null;
    this.onLegal = onLegal;
    this.element = el("div", { class: "controls", role: "group", "aria-label": t("replay.controls") },
      el("div", { class: "scrub-row" }, this.scrubber, this.count),
      el("div", { class: "button-row" },
        control("first", "replay.first", () => playback.jump(playback.record.firstPly)),
        control("back10", "replay.back10", () => playback.step(-10)),
        control("back", "replay.back", () => playback.step(-1)),
        this.play,
        control("forward", "replay.forward", () => playback.step(1)),
        control("forward10", "replay.forward10", () => playback.step(10)),
        control("last", "replay.last", () => playback.jump(playback.record.lastPly)),
        this.speed, this.legal));
    this.update();
  }

  get isLegalShown() {
    return this.legal?.getAttribute("aria-pressed") === "true";
  }

  toggleLegal() {
    if (!this.legal) return;
    this.legal.setAttribute("aria-pressed", String(!this.isLegalShown));
    this.onLegal(this.isLegalShown);
  }

  update() {
    const { record, ply, speed, isPlaying } = this.playback;
    this.scrubber.min = String(record.firstPly);
    this.scrubber.max = String(record.lastPly);
    this.scrubber.value = String(ply);
    this.scrubber.setAttribute("aria-valuetext", t("replay.plyOf", { ply, last: record.lastPly }));
    this.count.textContent = `${ply} / ${record.lastPly}`;
    this.speed.value = String(speed);
    const name = isPlaying ? "replay.pause" : "replay.play";
    if (this.play.dataset.name !== name) {
      this.play.dataset.name = name;
      this.play.setAttribute("aria-label", t(name));
      this.play.setAttribute("title", t(name));
      this.play.replaceChildren(isPlaying ? this.pauseIcon : this.playIcon);
    }
  }
}
