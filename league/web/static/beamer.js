// The big screen: shows its scenes in turn, or one of them.
"use strict";

(() => {
  const scenes = [...document.querySelectorAll(".scene")];
  const seconds = Number(document.querySelector(".scenes").dataset.seconds);
  const rotate = document.querySelector("[data-rotate]");
  let isRotating = true;
  let timer = null;

  function show(scene) {
    for (const each of scenes) each.hidden = each !== scene;
    for (const button of document.querySelectorAll("[data-scene]")) {
      if (button.dataset.scene === scene.id) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    }
    clearTimeout(timer);
    if (isRotating && scenes.length > 1) timer = setTimeout(() => show(scenes[(scenes.indexOf(scene) + 1) % scenes.length]), seconds * 1000);
  }
  function setRotating(is) {
    isRotating = is;
    rotate.setAttribute("aria-pressed", String(is));
  }
  for (const button of document.querySelectorAll("[data-scene]")) {
    button.addEventListener("click", () => {
      setRotating(false);
      show(document.getElementById(button.dataset.scene));
    });
  }
  rotate.addEventListener("click", () => {
    setRotating(!isRotating);
    show(scenes.find((each) => !each.hidden));
  });
  document.querySelector("[data-full]").addEventListener("click", () => {
    if (document.fullscreenElement) document.exitFullscreen();
    else document.documentElement.requestFullscreen().catch(() => {});
  });
  show(scenes[0]);
})();
