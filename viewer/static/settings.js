// What a person has chosen on this page: language and theme. A page that was opened from a file or in a private window
// may have no storage; the choice then lasts as long as the page.

const chosen = new Map();

export function readSetting(name) {
  if (chosen.has(name)) return chosen.get(name);
  try {
    return localStorage.getItem(`spielleiter.${name}`);
  } catch {
    return null;
  }
}

export function writeSetting(name, value) {
  chosen.set(name, value);
  try {
    localStorage.setItem(`spielleiter.${name}`, value);
  } catch {
    // kept in `chosen`
  }
}

// Applies the theme "light", "dark" or "auto", which is the theme of the system.
export function applyTheme() {
  const theme = readSetting("theme");
  if (theme === "light" || theme === "dark") document.documentElement.setAttribute("data-theme", theme);
  else document.documentElement.removeAttribute("data-theme");
}
