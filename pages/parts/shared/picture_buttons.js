// Saves a chart as a picture, by pressing the button of the chart itself after setting its options. The picture gets the
// background of the page, so that light letters are not saved without their dark background, and a font that other
// programs have: the page's own is not in the picture, and letters of another width would overlap.
const FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif";

export default function ({ data, parentElement }) {
  const row = parentElement.querySelector(".row");
  row.chart = data;
  if (row.textContent.startsWith(data.words)) return; // drawn again: the buttons stay, and so does the focus on one
  const words = document.createElement("span");
  words.textContent = data.words;
  const buttons = data.formats.map((format, k) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = format.toUpperCase();
    button.title = data.titles[k];
    button.setAttribute("aria-label", button.title);
    button.onclick = () => save(row.chart, format);
    return button;
  });
  row.replaceChildren(words, ...buttons);
}

function save({ place, name, width, scale }, format) {
  const chart = document.querySelector(`.st-key-${CSS.escape(place)} .js-plotly-plot`);
  const saves = [...(chart?.querySelectorAll(".modebar-btn") ?? [])].find((button) =>
    /^Download plot/.test(button.dataset.title ?? button.getAttribute("aria-label") ?? ""));
  if (!saves) return;
  const { _context: context, layout } = chart;
  const before = [context.toImageButtonOptions, layout.paper_bgcolor, layout.font];
  context.toImageButtonOptions = { format, filename: name, width, height: layout.height, scale: format === "png" ? scale : 1 };
  layout.paper_bgcolor = getComputedStyle(document.querySelector(".stApp")).backgroundColor;
  layout.font = { ...layout.font, family: FONT };
  saves.click();
  [context.toImageButtonOptions, layout.paper_bgcolor, layout.font] = before;
}
