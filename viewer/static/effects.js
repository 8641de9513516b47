// What lets a person notice a move without looking for it: its mark fades in, and a short sound, which is off until it
// is switched on. For people whose system asks for reduced motion there is neither.

import { readSetting, writeSetting } from "./settings.js";

const LONGEST_STEP = 3; // plies; going further is no move that somebody makes
const FADE_MS = 300;
const SOUND_SECONDS = 0.07;
const SOUND_PAUSE_MS = 80;

const reduced = matchMedia("(prefers-reduced-motion: reduce)");
let audio = null;
let playedAt = 0;

export function isSoundOn() {
  return readSetting("sound") === "on";
}

export function switchSound(isOn) {
  writeSetting("sound", isOn ? "on" : "off");
  if (isOn) playSound();
}

// Calls `onChange` with whether there may be a sound at all, now and whenever that changes.
export function watchSound(onChange) {
  onChange(!reduced.matches);
  reduced.addEventListener("change", () => onChange(!reduced.matches));
}

// A short knock, made here, since a file would be one more request.
function playSound() {
  // a browser lets a page sound only after the person has done something there
  if (!navigator.userActivation?.hasBeenActive || performance.now() - playedAt < SOUND_PAUSE_MS) return;
  playedAt = performance.now();
  audio ??= new AudioContext();
  audio.resume();
  const start = audio.currentTime;
  const tone = new OscillatorNode(audio, { type: "triangle", frequency: 420 });
  const volume = new GainNode(audio, { gain: 0.25 });
  tone.frequency.exponentialRampToValueAtTime(180, start + SOUND_SECONDS);
  volume.gain.exponentialRampToValueAtTime(0.001, start + SOUND_SECONDS);
  tone.connect(volume).connect(audio.destination);
  tone.start(start);
  tone.stop(start + SOUND_SECONDS);
}

// Is told that the board `element` shows `ply` now, and `before` a moment ago; null for nothing.
export function showMove(element, ply, before) {
  if (reduced.matches || before === null || ply <= before || ply - before > LONGEST_STEP) return;
  for (const mark of element.querySelectorAll(".last-move-under, .last-move, .is-last")) {
    mark.animate([{ opacity: 0 }, { opacity: 1 }], { duration: FADE_MS, easing: "ease-out" });
  }
  if (isSoundOn()) playSound();
}
