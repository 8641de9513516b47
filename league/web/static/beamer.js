// The big screen: shows its scenes in turn, or one of them; what is higher than the screen, part by part. Nothing glides:
// each change is a cut, so there is no motion that somebody could want to reduce.
"use strict";

(() => {
  const scenes = [...document.querySelectorAll(".scene")];
  const seconds = Number(document.querySelector(".scenes").dataset.seconds);
  const rotate = document.querySelector("[data-rotate]");
  let isRotating = true;
  let timer = null;

  function show(scene) {
    scene.scrollTop = 0;
    for (const each of scenes) each.hidden = each !== scene;
    for (const button of document.querySelectorAll("[data-scene]")) {
      if (button.dataset.scene === scene.id) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    }
    clearTimeout(timer);
    timer = setTimeout(() => goOn(scene), seconds * 1000);
  }
  function goOn(scene) {
    const top = scene.scrollTop;
    if (!scene.matches(":focus-within")) scene.scrollTop += scene.clientHeight * 0.9; // a row that was cut is whole then
    if (scene.scrollTop > top + 1) timer = setTimeout(() => goOn(scene), seconds * 1000);
    else show(isRotating ? scenes[(scenes.indexOf(scene) + 1) % scenes.length] : scene);
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
