// Errors and empty states, all in one form.

import { announce, el } from "./dom.js";
import { localized, t } from "./i18n.js";

export function errorText(error) {
  return error?.text ? localized(error.text) : t("error.unexpected", { text: String(error?.message ?? error) });
}

// An error on the page: what happened, in the server's words.
export function errorBox(error) {
  const text = errorText(error);
  announce(text);
  return el("p", { class: "error", role: "alert", text });
}

export function emptyBox(...content) {
  return el("div", { class: "empty" }, content);
}

// The two players of a game in a list; `freeSeats` of them have not come yet, `winner` is the seat of the winner or null.
export function playerNames(players, freeSeats = 0, winner = null) {
  const names = [0, 1].map((seat) => {
    const name = typeof players?.[seat] === "string" ? players[seat] : players?.[seat]?.name;
    return name || (seat >= 2 - freeSeats ? t("game.nobody") : t("game.player", { number: seat + 1 }));
  });
  const [first, second] = names.map((name, seat) => el("bdi", { class: seat === winner ? "has-won" : null, text: name }));
  return [first, ` ${t("game.versus")} `, second];
}

export function loading() {
  return el("p", { class: "muted loading", text: t("loading") });
}
