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

export function loading() {
  return el("p", { class: "muted loading", text: t("loading") });
}
