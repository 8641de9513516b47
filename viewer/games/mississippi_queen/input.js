// Putting a move of Mississippi Queen together, action by action.
//
// The server's list of legal moves decides what can come next; what is chosen so far is the beginning of at least one of
// them. Invariant: a move is sent only if it is one of that list.

import { announce, button, el, setText } from "../../static/dom.js";
import { t } from "../../static/i18n.js";
import { Boat, actionText, key, stepFrom, turnsBetween } from "./river.js";

const KINDS = ["advance", "push", "turn", "accelerate"];

function isSame([kind, value], other) {
  return other !== undefined && kind === other[0] && value === other[1];
}

export class MoveBuilder {
  // `view` is the GameView whose board shows the plan. `choose(index)` is told the chosen legal move.
  constructor(view, choose) {
    this.board = view.board;
    this.choose = choose;
    this.hint = el("p", { class: "seat-hint", "aria-live": "polite" });
    this.groups = el("div", { class: "mq-groups takes-keys" });
    this.undoButton = button(t("mq.undo"), () => this.undo());
    this.sendButton = button(t("mq.send"), () => this.send(), { class: "primary" });
    this.tools = el("div", { class: "tools" }, this.undoButton, this.sendButton);
    this.element = el("div", { class: "seat-input mq-input" }, this.hint, this.groups, this.tools);
    this.request(null);
  }

  // Takes over the legal moves of the person's turn; null if it is not the person's turn.
  request(legal, position = null) {
    this.moves = legal?.moves ?? [];
    this.seat = position?.sideToMove?.player ?? null;
    this.player = position?.players?.[this.seat] ?? null;
    this.actions = [];
    this.isAsked = Boolean(legal && this.player);
    this.draw();
  }

  // The legal moves that begin with the chosen actions.
  following() {
    return this.moves.filter((move) => this.actions.every((action, index) => isSame(action, move.actions[index])));
  }

  complete() {
    return this.following().find((move) => move.actions.length === this.actions.length) ?? null;
  }

  draw() {
    const hadFocus = this.element.contains(document.activeElement);
    const following = this.following();
    const boat = this.player ? new Boat(this.player, this.board).after(this.actions) : null;
    const next = new Map();
    for (const move of following) {
      const action = move.actions[this.actions.length];
      if (action) next.set(action.join(" "), action);
    }
    this.targets = new Map();
    const options = this.isAsked ? [...next.values()] : [];
    for (const action of options) if (action[0] === "advance") this.targets.set(key(stepFrom(boat.place, boat.direction, action[1])), action);
    for (const action of options) if (action[0] === "push") this.targets.set(key(stepFrom(boat.place, action[1])), action);
    this.groups.replaceChildren(...KINDS.map((kind) => [kind, options.filter((action) => action[0] === kind).sort((a, b) => a[1] - b[1])])
      .filter(([, actions]) => actions.length)
      .map(([kind, actions]) => el("div", { class: "mq-group", role: "group", "aria-label": t(`mq.group.${kind}`) },
        el("span", { class: "mq-group-name", text: t(`mq.group.${kind}`) }),
        el("div", { class: "tools" }, actions.map((action) => this.optionButton(action, boat))))));
    const complete = this.isAsked ? this.complete() : null;
    this.sendButton.disabled = !complete;
    this.undoButton.disabled = !this.actions.length;
    this.tools.hidden = !this.isAsked;
    setText(this.hint, this.hintText(boat, complete));
    this.board.showPlan(this.isAsked ? { boat, targets: this.targets, seat: this.seat, isTurned: this.actions.length > 0 } : null);
    if (hadFocus && this.isAsked) (complete ? this.sendButton : this.groups.querySelector("button") ?? this.undoButton).focus();
  }

  hintText(boat, complete) {
    if (!this.isAsked) return t("seat.notYourTurn");
    const soFar = this.actions.length ? t("mq.soFar", { text: this.actions.map(actionText).join(", ") }) : t("mq.choose");
    return [soFar, t("mq.left", { movement: boat.movement, coal: boat.coal }), complete ? t("mq.complete") : null].filter(Boolean).join(" ");
  }

  optionButton(action, boat) {
    const [kind, value] = action;
    const cost = kind === "accelerate" ? Math.max(0, Math.abs(value) - 1) : kind === "turn" ? Math.max(0, turnsBetween(boat.direction, value) - boat.freeTurns) : 0;
    const name = kind === "accelerate" ? t("mq.toSpeed", { speed: boat.speed + value }) : kind === "advance" ? actionText(action) : t(`mq.direction.${value}`);
    return button([el("span", { text: name }), cost ? el("small", { text: t("mq.cost", { cost }) }) : null], () => this.add(action), { class: "mq-option", "data-action": action.join(" ") });
  }

  add(action) {
    this.actions = [...this.actions, action];
    announce(actionText(action));
    this.draw();
  }

  undo() {
    this.actions = this.actions.slice(0, -1);
    this.draw();
  }

  send() {
    const move = this.complete();
    if (move) this.choose(move.index);
  }

  // A click on a field of the board: goes there, or pushes the other ship there, if one action does that.
  pick(field) {
    const action = this.targets.get(field);
    if (action) this.add(action);
  }

  dispose() {
    this.board.showPlan(null);
  }
}
