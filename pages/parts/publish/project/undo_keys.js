// Ctrl+Z and Ctrl+Y, or Ctrl+Shift+Z, press the buttons of the bar; a text box and the grid keep these keys.
const OWN_UNDO = "input:not([type=radio], [type=checkbox], [type=range]), textarea, [contenteditable=true], .stDataFrame, #portal";
let heard = false;

export default function () {
  if (heard) return;
  heard = true;
  document.addEventListener("keydown", (event) => {
    const key = event.key.toLowerCase();
    if (!(event.ctrlKey || event.metaKey) || event.altKey || !(key === "z" || key === "y")) return;
    if (document.activeElement?.closest(OWN_UNDO)) return;
    if (key === "y" && event.metaKey) return; // on a Mac, it opens the browser's history
    const name = key === "y" || event.shiftKey ? "redo" : "undo";
    const button = document.querySelector(`.st-key-${name} button:not(:disabled)`);
    if (button === null) return;
    event.preventDefault();
    button.click();
  });
}
