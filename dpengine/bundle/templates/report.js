"use strict";
(() => {
  const PRINTED = { width: 680, height: 780 }; // pixels: a sheet of A4 or letter within its margins, below a heading
  const SAVED = 1000;
  const onDark = matchMedia("(prefers-color-scheme: dark)"), onPaper = matchMedia("print");
  const colours = JSON.parse(document.getElementById("dark-colours").textContent);
  const light = new RegExp(Object.keys(colours).join("|"), "gi");
  const places = [...document.querySelectorAll(".chart")];
  const folded = (place) => place.closest("details:not([open])") !== null;
  const options = { responsive: true, displayModeBar: false, showSendToCloud: false, plotlyServerURL: "" };
  const figureOf = (place, dark) => {
    const text = document.getElementById(place.id + "-data").textContent;
    return JSON.parse(dark ? text.replace(light, (colour) => colours[colour.toLowerCase()]) : text);
  };
  let printing = false;
  const look = () => (printing ? "paper" : onDark.matches ? "dark" : "light");
  const draw = (place) => {
    if (place.dataset.look === look()) return;
    place.dataset.look = look();
    const { data, layout } = figureOf(place, look() === "dark");
    const height = Math.min(layout.height ?? 450, PRINTED.height);
    place.style.minHeight = printing ? `${height}px` : place.dataset.high + "px";
    Plotly.react(place, data, printing ? { ...layout, width: PRINTED.width, height } : layout, options);
    // Readers who do not see the drawing get the figure's label and the table, not all of its letters one by one.
    place.querySelectorAll(".main-svg").forEach((drawing) => drawing.setAttribute("aria-hidden", "true"));
  };
  // A chart in a folded table is drawn when it is opened, so that a report of many tables opens at once.
  const drawOpen = () => places.filter((place) => !folded(place)).forEach(draw);
  document.querySelectorAll("details").forEach((each) => each.addEventListener("toggle", drawOpen));
  const follow = () => {
    const fold = document.getElementById(location.hash.slice(1))?.querySelector(".fold");
    if (fold) fold.open = true;
  };
  addEventListener("hashchange", follow);
  follow();
  drawOpen();
  onDark.addEventListener("change", drawOpen);

  let closed = [];
  const print = (begins) => {
    if (begins === printing) return;
    printing = begins;
    if (begins) closed = [...document.querySelectorAll("details:not([open])")];
    closed.forEach((each) => { each.open = begins; });
    drawOpen();
  };
  onPaper.addEventListener("change", () => print(onPaper.matches));
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(onPaper.matches));

  // A saved chart is for paper and slides, so it is light on any page.
  const save = ({ dataset: { chart, format } }) => {
    const place = document.getElementById(chart), { data, layout } = figureOf(place, false);
    const size = { width: SAVED, height: layout.height ?? 450, scale: format === "png" ? 2 : 1 };
    Plotly.downloadImage(
      { data, layout: { ...layout, paper_bgcolor: "#ffffff" } }, { format, filename: place.dataset.name, ...size });
  };
  document.querySelectorAll("[data-format]").forEach((each) => each.addEventListener("click", () => save(each)));
})();
