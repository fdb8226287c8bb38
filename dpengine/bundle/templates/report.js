"use strict";
(() => {
  const onDark = matchMedia("(prefers-color-scheme: dark)");
  const colours = JSON.parse(document.getElementById("dark-colours").textContent);
  const light = new RegExp(Object.keys(colours).join("|"), "gi");
  const places = [...document.querySelectorAll(".chart")];
  const options = (name) => ({
    responsive: true,
    displaylogo: false,
    showSendToCloud: false,
    plotlyServerURL: "",
    displayModeBar: matchMedia("(hover: hover)").matches ? "hover" : false,
    toImageButtonOptions: { filename: name, scale: 2 },
    modeBarButtons: [["toImage", {
      name: "Download picture as SVG",
      icon: Plotly.Icons.disk,
      click: (place) => Plotly.downloadImage(place, { format: "svg", filename: name }),
    }], ["zoom2d", "pan2d", "resetScale2d"]],
  });
  const bar = (dark) => ({
    bgcolor: "rgba(0,0,0,0)",
    color: dark ? "#a3b0b2" : "#5b686a",
    activecolor: dark ? "#4fc3c7" : "#0b6e75",
  });
  const draw = (dark) => {
    for (const place of places) {
      let text = document.getElementById(place.id + "-data").textContent;
      if (dark) text = text.replace(light, (colour) => colours[colour.toLowerCase()]);
      const figure = JSON.parse(text);
      figure.layout.modebar = bar(dark);
      Plotly.react(place, figure.data, figure.layout, options(place.dataset.name));
      // Readers who do not see the drawing get the figure's label and the table, not all of its letters one by one.
      place.querySelectorAll(".main-svg").forEach((drawing) => drawing.setAttribute("aria-hidden", "true"));
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
