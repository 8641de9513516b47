// Which ply of a game is shown: stepping, playing at a speed, following a live game.
//
// Invariants: the ply is always one that exists. A live game is followed as long as its newest ply is shown.

export const SPEEDS = [1, 2, 5, 10];
const FRAME_MS = 1000;

export class Playback {
  // `record` is the GameRecord, `onChange` is told each new ply.
  constructor(record, ply, onChange) {
    this.record = record;
    this.ply = record.clamp(ply);
    this.onChange = onChange;
    this.speed = 2;
    this.timer = null;
    this.listeners = [];
  }

  get isPlaying() {
    return this.timer !== null;
  }

  go(ply) {
    const next = this.record.clamp(ply);
    if (next === this.ply) return;
    this.ply = next;
    this.onChange(next);
  }

  step(by) {
    this.pause();
    this.go(this.ply + by);
  }

  jump(ply) {
    this.pause();
    this.go(ply);
  }

  toggle() {
    if (this.isPlaying) this.pause();
    else this.play();
  }

  play() {
    if (this.isPlaying) return;
    if (this.ply >= this.record.lastPly) this.go(this.record.firstPly);
    this.timer = setInterval(() => this.tick(), FRAME_MS / this.speed);
    this.onChange(this.ply);
  }

  pause() {
    if (!this.isPlaying) return;
    clearInterval(this.timer);
    this.timer = null;
    this.onChange(this.ply);
  }

  setSpeed(speed) {
    this.speed = speed;
    if (this.isPlaying) {
      clearInterval(this.timer);
      this.timer = setInterval(() => this.tick(), FRAME_MS / speed);
    }
    this.onChange(this.ply);
  }

  changeSpeed(by) {
    const index = SPEEDS.indexOf(this.speed) + by;
    if (SPEEDS[index]) this.setSpeed(SPEEDS[index]);
  }

  tick() {
    if (this.ply >= this.record.lastPly) this.pause();
    else this.go(this.ply + 1);
  }

  // Carries out a key of the replay. Returns whether the key is one.
  press(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return false;
    const by = event.shiftKey ? 10 : 1;
    switch (event.key) {
      case "ArrowLeft": this.step(-by); return true;
      case "ArrowRight": this.step(by); return true;
      case "PageUp": this.step(-10); return true;
      case "PageDown": this.step(10); return true;
      case "Home": this.jump(this.record.firstPly); return true;
      case "End": this.jump(this.record.lastPly); return true;
      case " ": case "k": this.toggle(); return true;
      case "+": this.changeSpeed(1); return true;
      case "-": this.changeSpeed(-1); return true;
      default: return false;
    }
  }
}
