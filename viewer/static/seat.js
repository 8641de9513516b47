// A seat at the board: the form that takes one, and the game as a person plays it.

import { getJson, postJson, subscribe } from "./api.js";
import { commandList } from "./commands.js";
import { announce, button, el, setText } from "./dom.js";
import { t, tOr } from "./i18n.js";
import { analysisPanel } from "./analysis.js";
import { GameRecord } from "./record.js";
import { GameView } from "./gameview.js";
import { emptyBox, errorBox, loading } from "./messages.js";
import { MoveButtons } from "./move_buttons.js";
import { GapFiller } from "./rooms.js";
import { address, plyOf } from "./routes.js";
import { readSetting, writeSetting } from "./settings.js";

const RETRY_INTERVAL = 100; // milliseconds
const ASKED = "seats"; // the setting with what the person asked for when it took its last seats, [{seat, form}, …]
const MOST_ASKED = 8;

function readAsked() {
  try {
    return JSON.parse(readSetting(ASKED)) ?? [];
  } catch {
    return [];
  }
}

// Takes a seat, and goes there. Throws a RequestError.
async function takeSeat(form) {
  const { seat } = await postJson("api/seat", form);
  writeSetting(ASKED, JSON.stringify([...readAsked(), { seat, form }].slice(-MOST_ASKED)));
  location.hash = address("seat", seat);
}

// Returns what the person asked for when it took this seat; null if that is not known, or if nobody can have it twice.
function askedFor(id) {
  const form = readAsked().find(({ seat }) => seat === id)?.form ?? null;
  return form?.opponent.room ? null : form;
}

function field(label, control) {
  return el("label", { class: "form-row" }, el("span", { text: label }), control);
}

function options(pairs) {
  return pairs.map(([value, text]) => el("option", { value, text }));
}

// Returns the form that starts a game. `from` is what to play on from: {kind: "replay"|"room", id, ply}, or null.
export function playView(from) {
  const element = el("div", { class: "page" }, loading());
  const load = async () => {
    let info;
    let rooms;
    try {
      [info, rooms] = await Promise.all([getJson("api/info"), getJson("api/rooms")]);
    } catch (error) {
      element.replaceChildren(el("h1", { tabindex: "-1", text: t("play.title") }), errorBox(error));
      return;
    }
    const waiting = (rooms.rooms ?? rooms).filter((room) => room.state === "waiting");
    const game = el("select", { name: "game", onchange: () => update() }, options(info.gameTypes.map((entry) => [entry.gameType, entry.title || tOr(`game.${entry.game}`, entry.gameType)])));
    const opponent = el("select", { name: "opponent", onchange: () => update() });
    const player = el("select", { name: "player" }, options([["", t("play.any")], ["0", t("play.first")], ["1", t("play.second")]]));
    const name = el("input", { type: "text", name: "name", maxlength: 50, required: true, value: t("play.defaultName") });
    const clock = el("input", { type: "checkbox", name: "clock" });
    const errors = el("div");
    const fromText = el("p", { text: from ? t("play.from", { ply: from.ply }) : "" });
    const update = () => {
      const entry = info.gameTypes.find((candidate) => candidate.gameType === game.value) ?? info.gameTypes[0];
      const before = opponent.value;
      opponent.replaceChildren(...options([
        ...(entry?.strategies ?? []).map((name) => [`strategy:${name}`, t("play.strategy", { name })]),
        ["program", t("play.program")],
        ...(from ? [] : waiting.filter((room) => room.gameType === entry?.gameType).map((room) => [`room:${room.id}`, t("play.room", { name: (room.players ?? []).filter(Boolean).join(", ") || room.id })])),
      ]));
      const wanted = [before, "strategy:greedy"].find((value) => [...opponent.options].some((option) => option.value === value));
      if (wanted) opponent.value = wanted;
      const isOthers = opponent.value.startsWith("room:");
      player.disabled = isOthers;
      if (clock.disabled !== isOthers) clock.checked = isOthers; // in somebody else's room, the server's clock applies
      clock.disabled = isOthers;
    };
    update();
    const form = el("form", {
      class: "form",
      onsubmit: async (event) => {
        event.preventDefault();
        start.disabled = true;
        const [kind] = opponent.value.split(":", 1);
        const chosen = opponent.value.slice(kind.length + 1);
        try {
          await takeSeat({
            gameType: from ? null : game.value,
            opponent: kind === "strategy" ? { strategy: chosen } : kind === "room" ? { room: chosen } : { program: true },
            name: name.value,
            clock: clock.checked,
            player: player.value === "" || player.disabled ? null : Number(player.value),
            from: from ? { [from.kind]: from.id, ply: from.ply } : null,
          });
        } catch (error) {
          errors.replaceChildren(errorBox(error));
          start.disabled = false;
        }
      },
    });
    const start = el("button", { type: "submit", class: "primary", text: t("play.start") });
    form.append(
      from ? fromText : field(t("rooms.game"), game),
      field(t("play.opponent"), opponent), field(t("play.player"), player), field(t("play.name"), name),
      el("label", { class: "form-row check" }, clock, el("span", { text: t("play.clock") })), start, errors);
    element.replaceChildren(el("h1", { tabindex: "-1", text: t("play.title") }), el("p", { text: t("play.explanation") }), form);
    if (from) useGameOf(from, game, update, fromText);
  };
  // the opponents on offer are those of the game that is played on
  const useGameOf = async ({ kind, id, ply }, game, update, fromText) => {
    try {
      const found = await getJson(kind === "room" ? `api/rooms/${encodeURIComponent(id)}` : `api/replays/${encodeURIComponent(id)}`);
      game.value = found.gameType;
      update();
      const position = new GameRecord(found).at(ply);
      if (position) setText(fromText, t("play.fromTurn", { ply, turn: position.turn }));
    } catch {
      // the server answers with the reason when the game is started
    }
  };
  load();
  return { title: t("play.title"), element, dispose: () => {} };
}

// Returns what to play on from, as the address names it, or null.
export function parseFrom([kind, id, ply]) {
  return (kind === "replay" || kind === "room") && id ? { kind, id, ply: plyOf(ply) ?? 0 } : null;
}

// Returns the view of a seat that was taken.
export function seatView(id) {
  const element = el("div", { class: "page wide" }, loading());
  const path = `api/seat/${encodeURIComponent(id)}`;
  const connection = el("p", { class: "connection muted", role: "status" });
  const problems = { seat: "", room: "" }; // of the two streams
  const showProblem = (changed) => {
    Object.assign(problems, changed);
    setText(connection, problems.seat || problems.room);
  };
  const errors = el("div");
  let state = { room: null, player: null, state: "waiting", commands: [] };
  let request = null;
  let offeredPly = null; // that of the request whose moves are shown
  let view = null;
  let input = null;
  let filler = null;
  let analysis = null;
  let endRoom = () => {};
  let isLoading = false;
  let isDisposed = false;

  const pass = button(t("seat.pass"), () => send({ skip: true }), { class: "pass" });
  const leave = button(t("seat.leave"), async () => {
    try {
      await postJson(`${path}/leave`, {});
    } catch (error) {
      errors.replaceChildren(errorBox(error));
    }
  });
  // What a person wants after a game: the same again, or from the other side.
  const again = (key, choosePlayer) => button(t(key), async (event) => {
    const pressed = event.currentTarget;
    const form = askedFor(id);
    if (!form) {
      location.hash = address("play");
      return;
    }
    pressed.disabled = true;
    try {
      await takeSeat({ ...form, player: choosePlayer(state.player) });
    } catch (error) {
      view.result.errors.replaceChildren(errorBox(error));
      pressed.disabled = false;
    }
  });
  const send = async (move) => {
    const answered = request;
    request = null;
    offer();
    errors.replaceChildren();
    try {
      await postJson(`${path}/move`, { ply: answered?.ply, ...move });
    } catch (error) {
      errors.replaceChildren(errorBox(error));
      // a request that the server has taken back is refused again, with its reason
      if (request === null) {
        request = answered;
        offer();
      }
    }
  };
  // Offers the moves once the board shows the position that they belong to.
  const offer = () => {
    if (!view || !input) return;
    const isReady = Boolean(request?.moves) && view.record.lastPly === request.ply && !view.record.isOver;
    const canSkip = isReady && request.canSkip;
    pass.disabled = !canSkip;
    pass.hidden = !canSkip && !view.drawing.hasSkips;
    leave.hidden = view.record.isOver;
    // Drawing the same moves again would replace the button below the pointer, and a click in that moment is lost.
    if (!isReady || offeredPly !== request.ply) {
      if (!view.drawing.createInput) view.offer(isReady ? request.moves : null);
      input.request(isReady ? request : null, view.record.at(view.record.lastPly));
      if (isReady && !view.isNewest) view.playback.jump(view.record.lastPly);
    }
    offeredPly = isReady ? request.ply : null;
    if (view.record.isOver) view.seatPlace.replaceChildren();
    analysis.update(view.record);
    document.title = isReady ? t("seat.yourTurnTitle") : t("seat.title");
  };
  const showWaiting = () => {
    element.replaceChildren(connection, el("h1", { tabindex: "-1", text: t("seat.waiting") }),
      emptyBox(el("p", { text: t("seat.waitingExplanation") }), commandList(state.commands ?? [])), el("div", { class: "actions" }, leave), errors);
  };
  const showRoom = async () => {
    if (isLoading || view || isDisposed) return;
    isLoading = true;
    const roomPath = `api/rooms/${encodeURIComponent(state.room)}`;
    try {
      const game = await getJson(roomPath);
      if (isDisposed) return;
      if (!game.positions?.length) {
        showWaiting();
        // a seat knows of the start of its game a little earlier than the list of rooms
        if (state.state === "playing") setTimeout(showRoom, RETRY_INTERVAL);
        return;
      }
      const record = new GameRecord(game);
      analysis = analysisPanel({ room: state.room }, record, (ply) => address("seat", id, ply), () => view.show());
      view = new GameView(record, {
        isInput: true,
        loadLegal: (ply) => getJson(`${roomPath}/legal?ply=${ply}`),
        actions: [leave],
        extras: [analysis.element],
        result: {
          actions: [
            again("seat.again", (player) => player),
            askedFor(id) ? again("seat.otherSide", (player) => 1 - player) : null,
          ],
          player: state.player,
          explain: () => analysis.explain(),
          files: `${roomPath}/file`,
        },
        onField: (index) => input?.pick?.(index),
      });
      input = view.drawing.createInput ? view.drawing.createInput(view, (index) => send({ index })) : new MoveButtons(view.drawing, (index) => send({ index }));
      filler = new GapFiller(roomPath, view);
      (input.tools ?? input.element).append(pass);
      view.seatPlace.append(el("section", { class: "seat-panel", "aria-label": t("seat.title") }, input.element, errors));
      element.replaceChildren(connection, view.element);
      endRoom = subscribe(`${roomPath}/events`, {
        position: (event) => {
          view.update(event);
          filler.update();
          offer();
        },
        gone: () => {
          endRoom();
          interrupt();
        },
      }, (text) => {
        if (text) record.toMove = null; // nobody knows whose clock runs
        showProblem({ room: text });
      });
      offer();
    } catch (error) {
      element.replaceChildren(errorBox(error));
    } finally {
      isLoading = false;
    }
  };
  // A server that was started again knows neither the seat nor the game. Where only its pages were, the end of the game
  // comes by the stream of the room, and takes the place of this sentence.
  const interrupt = () => {
    request = null;
    view.interrupt(t("seat.interrupted"));
    showProblem({ seat: "", room: "" });
    offer();
  };
  const onKey = (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest?.("input:not([type=range]), select, textarea")) return;
    if (event.key.toLowerCase() === "p" && !pass.disabled && !pass.hidden && view) {
      event.preventDefault();
      pass.click();
    }
  };
  document.addEventListener("keydown", onKey);
  const endSeat = subscribe(`${path}/events`, {
    seat: (data) => {
      state = data;
      if (state.room && state.state !== "waiting") showRoom();
      else if (!view) showWaiting();
    },
    request: (data) => {
      request = data;
      if (state.room && !view) showRoom();
      offer();
      if (data.moves && view) announce(t("seat.yourTurn"));
    },
    gone: ({ error }) => {
      endSeat();
      if (view) interrupt();
      else element.replaceChildren(el("h1", { tabindex: "-1", text: t("seat.title") }), errorBox({ text: error }), el("p", {}, el("a", { href: address("play"), text: t("play.title") })));
    },
  }, (text) => showProblem({ seat: text }));
  return {
    title: t("seat.title"),
    element,
    setPly: (ply) => view?.goTo(ply ?? view.record.lastPly),
    dispose: () => {
      isDisposed = true;
      analysis?.dispose();
      document.removeEventListener("keydown", onKey);
      endSeat();
      endRoom();
      input?.dispose();
      filler?.dispose();
      view?.dispose();
    },
  };
}
