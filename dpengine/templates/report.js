"use strict";
(() => {
  const onDark = matchMedia("(prefers-color-scheme: dark)");
  const colours = JSON.parse(document.getElementById("dark-colours").textContent);
  const light = new RegExp(Object.keys(colours).join("|"), "gi");
  const places = [...document.querySelectorAll(".chart")];
  const options = (name) => ({
    responsive: true,
    displaylogo: false,
    toImageButtonOptions: { filename: name, scale: 2 },
    modeBarButtonsToAdd: [{
      name: "Download as SVG",
      icon: Plotly.Icons.disk,
      click: (place) => Plotly.downloadImage(place, { format: "svg", filename: name }),
    }],
  });
  const draw = (dark) => {
    for (const place of places) {
      let text = document.getElementById(place.id + "-data").textContent;
      if (dark) text = text.replace(light, (colour) => colours[colour.toLowerCase()]);
      const figure = JSON.parse(text);
      Plotly.react(place, figure.data, figure.layout, options(place.dataset.name));
    }
  };
  draw(onDark.matches);
  onDark.addEventListener("change", () => draw(onDark.matches));
  const closed = [...document.querySelectorAll("details:not([open])")];
  addEventListener("beforeprint", () => {
    closed.forEach((each) => { each.open = true; });
    draw(false);
  });
  addEventListener("afterprint", () => {
    closed.forEach((each) => { each.open = false; });
    draw(onDark.matches);
  });
})();
