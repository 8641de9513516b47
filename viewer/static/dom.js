// Building elements. Everything that comes from the server is data: it becomes text nodes and attribute values, never
// markup. No other module creates elements in another way.

const SVG = "http://www.w3.org/2000/svg";
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

// Returns a text with escapes such as \u202e for characters that nobody sees. Some of them turn the direction of what
// follows, so that a player's name could change how the sentence around it reads.
export function visible(text) {
  return String(text).replace(UNSEEN, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "text") element.textContent = visible(value);
    else if (name === "value") element.value = value;
    else if (name === "checked") element.checked = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  const kept = children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
  element.append(...kept.map((child) => (child instanceof Node ? child : visible(child))));
  return element;
}

// Replaces what is inside an element. `children` may hold lists, and null for nothing.
export function refill(element, ...children) {
  element.replaceChildren();
  return fill(element, null, children);
}

// Returns a new HTML element. `properties` are attributes; "on..." are listeners, `text` is the text inside.
export function el(tag, properties, ...children) {
  return fill(document.createElement(tag), properties, children);
}

// Returns a new SVG element; the arguments are those of `el`.
export function svg(tag, properties, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

// Sets the text only if it differs: screen readers and the layout are left alone otherwise.
export function setText(element, text) {
  const shown = visible(text);
  if (element.textContent !== shown) element.textContent = shown;
}

// A button with a text, or with a symbol and a label.
export function button(text, onclick, properties = {}) {
  return el("button", { type: "button", onclick, ...properties }, text);
}

// A text that can be copied with one click, such as a command line or a reservation code.
export function copyable(text, labels) {
  const state = el("span", { class: "copied", "aria-live": "polite" });
  const code = el("code", { text, tabindex: "0" });
  const copy = button(labels.copy, async () => {
    try {
      await navigator.clipboard.writeText(text);
      state.textContent = labels.copied;
    } catch {
      // Without permission for the clipboard the text is selected, so that the usual key copies it.
      getSelection().selectAllChildren(code);
      state.textContent = labels.selected;
    }
  }, { class: "small" });
  return el("div", { class: "copyable" }, code, copy, state);
}

let live = null;

// Tells screen readers about a move or an error. The newest text replaces the one before.
export function announce(text) {
  if (!live) {
    live = el("div", { class: "visually-hidden", role: "status", "aria-live": "polite", id: "announcements" });
    document.body.append(live);
  }
  live.textContent = visible(text);
}
