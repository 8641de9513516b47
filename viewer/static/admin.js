// Administration: logging in, preparing a game, and pausing, stepping, resuming or cancelling a room.

import { getJson, postJson, setAdminToken } from "./api.js";
import { commandList, copyLabels } from "./commands.js";
import { button, copyable, el, refill, setText } from "./dom.js";
import { t, tOr } from "./i18n.js";
import { errorBox, errorText, loading } from "./messages.js";
import { address } from "./routes.js";

let session = null; // what is known about the session of an administrator: {isLoggedIn, token}

async function knownSession() {
  session ??= await getJson("api/admin");
  setAdminToken(session.token ?? null);
  return session;
}

async function logIn(password) {
  const { token } = await postJson("api/admin/login", { password });
  session = { isLoggedIn: true, token };
  setAdminToken(token);
}

async function logOut() {
  await postJson("api/admin/logout", {});
  session = { isLoggedIn: false, token: null };
  setAdminToken(null);
}

// The buttons that pause, step, resume and cancel one room, for an administrator; otherwise nothing is shown.
export function adminPanel(room) {
  const state = el("p", { class: "muted", role: "status" });
  const act = async (action) => {
    setText(state, "");
    try {
      await postJson(`api/admin/${action}`, { room });
      setText(state, t(`admin.done.${action}`));
    } catch (error) {
      setText(state, errorText(error));
      if (error.status === 401 || error.status === 403) session = null;
    }
  };
  const pause = button(t("admin.pause"), () => act("pause"));
  const step = button(t("admin.step"), () => act("step"));
  const resume = button(t("admin.resume"), () => act("resume"));
  const cancel = button(t("admin.cancel"), () => confirm(t("admin.confirmCancel")) && act("cancel"), { class: "danger" });
  const tools = el("div", { class: "tools" }, pause, step, resume, cancel);
  const element = el("section", { class: "panel admin-panel" }, el("h2", { text: t("admin.title") }), tools, state);
  element.hidden = true;
  let isDisposed = false;
  knownSession().then((found) => {
    if (!isDisposed) element.hidden = !found.isLoggedIn;
  }, () => {});
  return {
    element,
    update(record) {
      const isOver = Boolean(record.end);
      pause.disabled = isOver || record.isPaused;
      resume.disabled = isOver || !record.isPaused;
      step.disabled = isOver || !record.isPaused;
      cancel.disabled = isOver;
    },
    dispose: () => {
      isDisposed = true;
    },
  };
}

function loginForm(onDone) {
  const password = el("input", { type: "password", name: "password", autocomplete: "current-password", required: true });
  const errors = el("div");
  return el("form", {
    class: "form",
    onsubmit: async (event) => {
      event.preventDefault();
      try {
        await logIn(password.value);
        onDone();
      } catch (error) {
        password.value = "";
        errors.replaceChildren(errorBox(error));
      }
    },
  },
  el("p", { text: t("admin.loginExplanation") }),
  el("label", { class: "form-row" }, el("span", { text: t("admin.password") }), password),
  el("button", { type: "submit", class: "primary", text: t("admin.login") }), errors);
}

function prepareForm(info) {
  const game = el("select", {}, info.gameTypes.map((entry) => el("option", { value: entry.gameType, text: entry.title || tOr(`game.${entry.game}`, entry.gameType) })));
  const players = [1, 2].map((number) => ({
    name: el("input", { type: "text", maxlength: 100, value: t("admin.playerName", { number }) }),
    clock: el("input", { type: "checkbox", checked: true }),
  }));
  const isPaused = el("input", { type: "checkbox" });
  const result = el("div", { class: "prepared", "aria-live": "polite" });
  const form = el("form", {
    class: "form",
    onsubmit: async (event) => {
      event.preventDefault();
      try {
        const prepared = await postJson("api/admin/prepare", {
          gameType: game.value, isPaused: isPaused.checked,
          players: players.map(({ name, clock }) => ({ name: name.value, canTimeout: clock.checked })),
        });
        refill(result,
          el("h3", {}, el("a", { href: address("room", prepared.room), text: t("admin.preparedRoom") })),
          prepared.reservations.map((code, index) => el("div", {},
            el("h4", {}, el("bdi", { text: players[index].name.value })), el("p", { text: t("admin.reservation") }), copyable(code, copyLabels()),
            el("p", { text: t("admin.command") }), commandList(prepared.commands[index]))));
      } catch (error) {
        result.replaceChildren(errorBox(error));
      }
    },
  },
  el("label", { class: "form-row" }, el("span", { text: t("rooms.game") }), game),
  players.map(({ name, clock }, index) => el("fieldset", {}, el("legend", { text: t("admin.player", { number: index + 1 }) }),
    el("label", { class: "form-row" }, el("span", { text: t("admin.name") }), name),
    el("label", { class: "form-row check" }, clock, el("span", { text: t("admin.canTimeout") })))),
  el("label", { class: "form-row check" }, isPaused, el("span", { text: t("admin.isPaused") })),
  el("button", { type: "submit", class: "primary", text: t("admin.prepare") }));
  return el("div", { class: "prepare" }, form, result);
}

// Returns the view of administration.
export function adminView() {
  const element = el("div", { class: "page" }, loading());
  const show = async () => {
    const title = el("h1", { tabindex: "-1", text: t("admin.title") });
    try {
      const [found, info] = await Promise.all([knownSession(), getJson("api/info")]);
      if (!found.isLoggedIn) {
        element.replaceChildren(title, loginForm(show));
        element.querySelector("input")?.focus();
        return;
      }
      const out = button(t("admin.logout"), async () => {
        await logOut();
        show();
      });
      element.replaceChildren(title, el("p", { text: t("admin.roomsExplanation") }), el("h2", { text: t("admin.prepareTitle") }), prepareForm(info), el("div", { class: "actions" }, out));
    } catch (error) {
      session = null;
      element.replaceChildren(title, errorBox(error));
    }
  };
  show();
  return { title: t("admin.title"), element, dispose: () => {} };
}
