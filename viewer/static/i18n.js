// German and English: which one is spoken, and how texts, numbers and times are put.

import { readSetting, writeSetting } from "./settings.js";
import { TEXTS } from "./texts.js";

export const LANGUAGES = ["de", "en"];

function preferred() {
  const saved = readSetting("language");
  if (LANGUAGES.includes(saved)) return saved;
  const wanted = (navigator.languages ?? [navigator.language ?? "en"]).map((tag) => tag.slice(0, 2).toLowerCase());
  return wanted.find((tag) => LANGUAGES.includes(tag)) ?? "en";
}

let current = preferred();

// Adds the texts of a game. Their keys begin with its name, so that no other text has them.
export function addTexts(texts) {
  Object.assign(TEXTS, texts);
}

export function language() {
  return current;
}

export function setLanguage(tag) {
  current = tag;
  writeSetting("language", tag);
}

// Returns the text of a key, with {name} replaced by the values, and {name:one|more} by what fits the number of this name.
// A key that is unknown is a mistake in this page.
export function t(key, values = {}) {
  const pair = TEXTS[key];
  if (!pair) throw new Error(`no text for ${key}`);
  return pair[LANGUAGES.indexOf(current)].replace(/\{(\w+)(?::([^|{}]*)\|([^|{}]*))?\}/g, (whole, name, one, more) => {
    if (!(name in values)) return whole;
    if (more === undefined) return String(values[name]);
    return /^[+−±-]?1$/.test(String(values[name])) ? one : more;
  });
}

// Returns the text of a key that may be unknown to this page, such as a type of field; `otherwise` if there is none.
export function tOr(key, otherwise) {
  return TEXTS[key] ? t(key) : otherwise;
}

// Returns a text of the server: a string, or an object with a text for each language.
export function localized(text) {
  if (text === null || text === undefined) return "";
  if (typeof text === "object") return String(text[current] ?? text.en ?? text.de ?? "");
  return String(text);
}

export function number(value, digits = 0) {
  return new Intl.NumberFormat(current, { minimumFractionDigits: digits, maximumFractionDigits: digits }).format(value);
}

// Returns a number of any size as briefly as it reads well, with about this many digits that count.
export function shortNumber(value, digits = 4) {
  const size = Math.abs(value);
  const whole = Math.floor(Math.log10(Math.max(1, size))) + 1; // the digits before the point, which are all shown
  const notation = whole > digits + 2 ? "compact" : size > 0 && size < 1e-4 ? "scientific" : "standard";
  return new Intl.NumberFormat(current, { notation, maximumSignificantDigits: notation === "standard" ? Math.max(digits, whole) : digits }).format(value);
}

// Returns a think time: milliseconds below one second, seconds above.
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 0.9995) return `${number(seconds * 1000)} ms`;
  return `${number(seconds, seconds < 99.95 ? 1 : 0)} s`;
}

// Returns a date and time; of today the time only.
export function moment(iso) {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return String(iso);
  if (date.toDateString() === new Date().toDateString()) return new Intl.DateTimeFormat(current, { timeStyle: "short" }).format(date);
  return new Intl.DateTimeFormat(current, { dateStyle: "medium", timeStyle: "short" }).format(date);
}
