// The script of every page. After a press that opens something new, the focus goes to its heading, so that a keyboard and
// a screen reader go on there. The menu of a phone, which covers most of the page, closes once a page is chosen. When the
// system turns dark or light, the server draws its charts anew, since it chooses their colours. And some of Streamlit's
// own elements are mended for keyboards and screen readers.
const PATIENCE = 5000; // milliseconds
const NARROW = 640; // pixels
const SETTLED = 1000; // milliseconds until the first screen is drawn whole
const DARK = matchMedia("(prefers-color-scheme: dark)");
const MAIN = '[data-testid="stMain"]';
const OF_BOX = "Help for "; // how Streamlit begins the name of the help of a box
const MOVED = 50; // milliseconds after which a focus that is moving from one element to another has arrived
let shown = null;
let held = null; // the element with the focus, or that had it until it was removed or disabled
let entered = null; // the popover into which the focus was moved
let redraw = null;

export default function ({ data, setTriggerValue }) {
  const before = shown;
  shown = data;
  redraw = () => setTriggerValue("turned", true);
  if (before === null) {
    new MutationObserver(repair).observe(document.body, { childList: true, characterData: true, subtree: true,
      attributeFilter: ["disabled"] });
    document.addEventListener("mousedown", keepHelp);
    document.addEventListener("focusin", ({ target }) => (held = target.closest(MAIN) && target));
    document.addEventListener("focusout", ({ target }) => setTimeout(() => {
      if (held === target && target.checkVisibility() && !target.disabled) held = null; // it was left
    }));
    DARK.addEventListener("change", () => followGround(performance.now() + PATIENCE));
    repair();
    setTimeout(() => (window.requestIdleCallback ?? setTimeout)(fetchLater), SETTLED);
    return;
  }
  if (before.page !== data.page && innerWidth <= NARROW) {
    document.querySelector('[data-testid="stSidebarCollapseButton"] button[aria-expanded="true"]')?.click();
  }
  if (data.at && before.at !== data.at) {
    focusOn(data, data.scroll || before.scroll, performance.now() + PATIENCE); // also away from a long release
  }
}

// The script that draws charts is the largest. The first screen does without it; by the time that somebody has chosen a
// table, it is here.
function fetchLater() {
  for (const address of shown.later) {
    const link = document.createElement("link");
    Object.assign(link, { rel: "modulepreload", crossOrigin: "", href: address });
    document.head.append(link);
  }
}

// The page turns dark a little after the system, and tells the server so with its next run. It does not turn at all if
// the visitor has chosen dark or light for good.
function followGround(until) {
  const ground = getComputedStyle(document.querySelector(".stApp")).colorScheme;
  if (ground !== shown.ground) redraw();
  else if (performance.now() < until) requestAnimationFrame(() => followGround(until));
}

function hold(heading) {
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
}

// A button that is removed once it is pressed, or disabled while it works, loses the focus, and a screen reader its
// place. The focus goes back to the button, or to the heading above it.
function keepFocus() {
  if (held === null || document.activeElement !== document.body) return;
  const lost = held;
  if (lost.checkVisibility() && lost.disabled) return; // until it is enabled again
  held = null;
  if (lost.checkVisibility()) return lost.focus({ preventScroll: true });
  const heading = document.querySelector(`${shown.at ? `.st-key-${shown.at}` : MAIN} :is(h1, h2, h3)`);
  if (heading) hold(heading);
}

function repair() {
  if (held !== null && document.activeElement === document.body) setTimeout(keepFocus, MOVED);
  enterPopover();
  repairMenu();
  nameHelp();
  sayServerIsAway();
  sayWhyNot();
  translateBoxes();
}

// A popover stands at the end of the document, where Tab would come last. So the focus goes into it once it opens, and
// from its ends back to its button.
function enterPopover() {
  const opened = document.querySelector('[data-testid="stPopoverBody"]');
  if (opened === entered) return;
  entered = opened;
  const button = opened && document.querySelector('.stPopover button[aria-expanded="true"]');
  if (!button || ![button, document.body].includes(document.activeElement)) return;
  hold(opened);
  opened.addEventListener("keydown", (event) => {
    const stops = [...opened.querySelectorAll("a[href], button, input, textarea, summary, [tabindex]")]
      .filter((stop) => stop.tabIndex >= 0 && !stop.disabled && stop.checkVisibility());
    const ends = event.shiftKey ? [opened, stops[0]] : [stops.at(-1) ?? opened];
    if (event.key !== "Tab" || !ends.includes(event.target)) return;
    if (event.shiftKey) event.preventDefault(); // forwards, Tab goes on from the button
    button.focus();
  });
}

// In Streamlit's menu of a phone, the section of labs is a <div> in a list, and its items are in no list. A screen reader
// gets one item with links instead.
function repairMenu() {
  // In another language the items are new ones, in the same section.
  const sections = '[data-testid="stSidebarNavItems"] > :is(div:not([role]), [role="listitem"])';
  for (const section of document.querySelectorAll(sections)) {
    section.setAttribute("role", "listitem");
    section.querySelectorAll("li").forEach((item) => item.setAttribute("role", "none"));
  }
}

// The help of a term ends with a link. A press on it would take the focus from the help, which would close before the
// press is over, and the link would never open.
function keepHelp(event) {
  if (event.target.closest?.('[data-testid="stTooltipContent"] a')) event.preventDefault();
}

// Streamlit names each help beside a text "Help". It is named by the words before it instead, also when they change. The
// help of a box has the box's name already, after English words.
function nameHelp() {
  for (const help of document.querySelectorAll(`.stTooltipIcon button[aria-label^="${OF_BOX}"]:not([data-named])`)) {
    const box = help.ariaLabel.slice(OF_BOX.length);
    help.ariaLabel = shown.help.replace("{words}", () => box);
  }
  for (const help of document.querySelectorAll('.stTooltipIcon button:is([aria-label="Help"], [data-named])')) {
    help.dataset.named = "";
    const text = help.closest(".stMarkdown, .stHeading")?.cloneNode(true);
    text?.querySelectorAll('[data-testid="stIconMaterial"]').forEach((icon) => icon.remove()); // their names are texts
    const words = text?.textContent.trim().split(/\s+/) ?? [];
    if (words[0]) help.ariaLabel = shown.help.replace("{words}", () => words.slice(0, 6).join(" "));
  }
}

// When the server is away, Streamlit says to run "yourscript.py" in a terminal. A visitor can only wait.
function sayServerIsAway() {
  const command = document.querySelector('[role="dialog"] [data-testid="stErrorCodeBlock"]');
  const words = command?.previousElementSibling?.firstChild;
  if (!words || !command.textContent.includes("yourscript.py") || words.nodeValue === shown.away) return;
  command.style.display = "none";
  words.nodeValue = shown.away;
  const title = command.closest('[role="dialog"]').querySelector("h1, h2, h3");
  if (title) title.textContent = shown.awayTitle;
}

// A file that could not be made: Streamlit says so in English for five seconds. The next run shows the reason for good.
function sayWhyNot() {
  for (const fault of document.querySelectorAll('[data-testid="stDownloadButtonError"]:not([data-told])')) {
    fault.dataset.told = "";
    if (fault.firstChild) fault.firstChild.nodeValue = shown.unmade;
    redraw();
  }
}

// A few words in boxes are Streamlit's own, and English: in menus, below a text that is typed, and in a box for files.
const WORDS = [
  [/^Select all$/, "all"],
  [/^Select (.+) matches$/, "matches"],
  [/^Add: (.*)$/s, "add"],
  [/^No results$/, "none"],
  [/^Press (\S+) to apply$/, "apply"],
  [/^Upload$/, "upload"],
  [/^(\S+) per file( • .*)?$/s, "upTo"],
];
const BOXES =
  '[role="listbox"] [data-key^="__"], [role="listbox"] [role="option"]:not([data-key]), [data-testid="InputInstructions"], ' +
  '[data-testid="stFileUploaderDropzone"]';
function translateBoxes() {
  for (const box of document.querySelectorAll(BOXES)) {
    const texts = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const text = texts.currentNode;
      for (const [english, name] of WORDS) {
        const found = text.nodeValue.match(english);
        const said = found && shown.boxes[name].replace("{text}", () => found[1]) + (found[2] ?? "");
        if (said && said !== text.nodeValue) text.nodeValue = said;
      }
    }
  }
}

function focusOn(data, scroll, until) {
  const heading = document.querySelector(`.st-key-${data.at} :is(h1, h2, h3)`);
  if (heading === null) {
    if (shown === data && performance.now() < until) requestAnimationFrame(() => focusOn(data, scroll, until));
    return;
  }
  if (document.activeElement?.matches("input, textarea")) return; // somebody is typing, or moves ε
  hold(heading);
  if (scroll) heading.scrollIntoView({ block: "nearest" });
}
