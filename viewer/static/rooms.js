// The list of rooms, which keeps itself up to date, and the view of one room.

import { getJson, subscribe } from "./api.js";
import { el, setText } from "./dom.js";
import { t } from "./i18n.js";
import { adminPanel } from "./admin.js";
import { analysisPanel } from "./analysis.js";
import { commandList } from "./commands.js";
import { GameTable, replaysAsGames } from "./game_table.js";
import { GameRecord } from "./record.js";
import { GameView } from "./gameview.js";
import { emptyBox, errorBox, loading, playerNames } from "./messages.js";
import { address } from "./routes.js";

const MOST_EARLIER = 20;

// Returns what an empty list says: how a program, or a person, comes to play on this server, unless the games are begun
// by the site that these pages are part of.
export async function howToPlay() {
  const { gameTypes, home } = await getJson("api/info");
  if (home) return [el("p", { text: t("beamer.waiting") })];
  const commands = gameTypes[0]?.commands ?? [];
  const builtin = commands.filter(({ kind }) => kind === "builtin");
  return [
    el("p", { text: t("rooms.howToJoin") }),
    commandList([...builtin, ...commands.filter((command) => !builtin.includes(command))]),
    el("p", {}, el("a", { class: "as-button", href: address("play"), text: t("rooms.playYourself") })),
  ];
}

// Returns the view of all games: those in rooms, and the earlier ones that the server has kept.
export function roomsView() {
  const table = new GameTable(t("rooms.title"), (room) => room.id, (room) => address("room", room.id), { isPictured: true });
  const earlier = new GameTable(t("rooms.earlier"), (replay) => replay.name, (replay) => address("replay", replay.name));
  const earlierPart = el("section", { class: "earlier" }, el("h2", { text: t("rooms.earlier") }), earlier.element,
    el("p", {}, el("a", { href: address("replays"), text: t("replays.back") })));
  const commands = el("div", { class: "how-to-play" });
  const empty = emptyBox(el("p", { text: t("rooms.empty") }), commands);
  const connection = el("p", { class: "connection muted", role: "status" });
  const waiting = loading();
  earlierPart.hidden = empty.hidden = true;
  let kept = [];
  let rooms = null;
  const showEarlier = () => {
    const shown = new Set((rooms ?? []).map((room) => room.id));
    const others = kept.filter((replay) => !shown.has(replay.room)).slice(0, MOST_EARLIER);
    earlier.show(others);
    earlierPart.hidden = others.length === 0;
  };
  const load = async () => {
    try {
      kept = replaysAsGames((await getJson(`api/replays?newest=${2 * MOST_EARLIER}`)).replays);
      showEarlier();
    } catch {
      // without them, the list is still that of the rooms
    }
  };
  const show = (found) => {
    waiting.hidden = true;
    const hasLost = rooms?.some((room) => !found.some(({ id }) => id === room.id));
    rooms = found;
    table.show(found);
    if (hasLost) load(); // a game that the server does not show in a room any more
    showEarlier();
    empty.hidden = found.length > 0;
    if (!empty.hidden && !commands.firstChild) howToPlay().then((parts) => commands.replaceChildren(...parts), () => {});
  };
  load();
  const end = subscribe("api/events", { rooms: (data) => show(data.rooms ?? data), pictures: (data) => table.picture(data) }, (text) => setText(connection, text));
  return {
    title: t("rooms.title"),
    element: el("div", { class: "page" },
      el("header", { class: "game-head" }, el("h1", { tabindex: "-1", text: t("rooms.title") }), el("a", { class: "as-button", href: address("beamer", 1), text: t("beamer.title") })),
      connection, waiting, table.element, empty, earlierPart),
    dispose: end,
  };
}

const FILL_PAUSE_MS = 2000;

// Fetches a live game again when plies are missing, at most every two seconds, and at once when the game is over.
export class GapFiller {
  constructor(path, view) {
    this.path = path;
    this.view = view;
    this.timer = null;
    this.isDisposed = false;
  }

  update() {
    if (!this.view.record.hasGaps || this.timer !== null) return;
    this.timer = setTimeout(() => this.fill(), this.view.record.end ? 0 : FILL_PAUSE_MS);
  }

  async fill() {
    try {
      const game = await getJson(this.path);
      if (!this.isDisposed) this.view.fill(game);
    } catch {
      // the next update tries again
    }
    this.timer = null;
    if (!this.isDisposed && this.view.record.end) this.update();
  }

  dispose() {
    this.isDisposed = true;
    clearTimeout(this.timer);
  }
}

// Returns the name of the replay of a game that was played in a room which the server has forgotten; null without one.
async function replayOf(id) {
  try {
    return (await getJson(`api/replays?room=${encodeURIComponent(id)}`)).replays[0]?.name ?? null;
  } catch {
    return null;
  }
}

// Returns the view of one room, at a ply or at its newest one.
export function roomView(id, ply, replaceAddress) {
  const element = el("div", { class: "page wide" }, loading());
  const path = `api/rooms/${encodeURIComponent(id)}`;
  const connection = el("p", { class: "connection muted", role: "status" });
  const disposables = [];
  let view = null;
  let isDisposed = false;
  // A room whose game has not begun has no position yet.
  const waitForStart = (game, admin) => {
    element.replaceChildren(connection, el("h1", { tabindex: "-1" }, playerNames(game.players, game.freeSeats)),
      emptyBox(el("p", { text: t("room.notBegun") })), admin.element);
    const end = subscribe(`${path}/events`, {
      position: (event) => {
        if (!event.positions?.length) return;
        end();
        admin.dispose();
        load();
      },
      gone: () => {
        setText(connection, t("room.gone"));
        end();
      },
    }, (text) => setText(connection, text));
    disposables.push({ dispose: end }, admin);
  };
  const load = async () => {
    let game;
    try {
      game = await getJson(path);
    } catch (error) {
      const kept = error.status === 404 ? await replayOf(id) : null;
      if (isDisposed) return;
      if (kept) {
        location.replace(ply === null ? address("replay", kept) : address("replay", kept, ply));
        return;
      }
      element.replaceChildren(el("h1", { tabindex: "-1", text: t("rooms.title") }), errorBox(error), el("p", {}, el("a", { href: address("rooms"), text: t("rooms.back") })));
      return;
    }
    if (isDisposed) return;
    const admin = adminPanel(id);
    if (!game.positions?.length) {
      waitForStart(game, admin);
      return;
    }
    const record = new GameRecord(game);
    const analysis = analysisPanel({ room: id }, record, (target) => address("room", id, target), () => view.show());
    const playOn = el("a", { class: "as-button play-on", href: address("play", "room", id), text: t("replay.playOn") });
    view = new GameView(record, {
      ply,
      loadLegal: (at) => getJson(`${path}/legal?ply=${at}`),
      onPly: (at, isNewest) => {
        replaceAddress(isNewest ? address("room", id) : address("room", id, at));
        playOn.href = address("play", "room", id, at);
      },
      actions: [el("a", { class: "as-button", href: address("beamer", 1, id), text: t("beamer.title") }), playOn],
      extras: [admin.element, analysis.element],
      result: { explain: () => analysis.explain(), files: `${path}/file` },
    });
    const filler = new GapFiller(path, view);
    const follow = (event) => {
      view.update(event);
      filler.update();
      admin.update(record);
      analysis.update(record);
    };
    follow({});
    element.replaceChildren(connection, view.element);
    const unsubscribe = subscribe(`${path}/events`, {
      position: follow,
      gone: () => {
        setText(connection, t("room.gone"));
        unsubscribe();
      },
    }, (text) => setText(connection, text));
    disposables.push({ dispose: unsubscribe }, filler, view, admin, analysis);
  };
  load();
  return {
    title: t("room.title"),
    element,
    setPly: (at) => view?.goTo(at ?? view.record.lastPly),
    dispose: () => {
      isDisposed = true;
      for (const disposable of disposables) disposable.dispose();
    },
  };
}
