// After a press that opens something new: the focus goes to its heading, so that a keyboard and a screen reader go on
// there; and the menu of a phone, which covers most of the page, closes once a page is chosen.
const PATIENCE = 5000; // milliseconds
const NARROW = 640; // pixels
let shown = null;

export default function ({ data }) {
  const before = shown;
  shown = data;
  if (before === null) {
    new MutationObserver(repairMenu).observe(document.body, { childList: true, subtree: true });
    repairMenu();
    return;
  }
  if (before.page !== data.page && innerWidth <= NARROW) {
    document.querySelector('[data-testid="stSidebarCollapseButton"] button[aria-expanded="true"]')?.click();
  }
  if (data.at && before.at !== data.at) focusOn(data, performance.now() + PATIENCE);
}

// Streamlit's menu of a phone holds its section of labs as a <div> in a list, and items of no list in that <div>. A
// screen reader is told of one item that holds links.
function repairMenu() {
  for (const section of document.querySelectorAll('[data-testid="stSidebarNavItems"] > div:not([role])')) {
    section.setAttribute("role", "listitem");
    section.querySelectorAll("li").forEach((item) => item.setAttribute("role", "none"));
  }
}

function focusOn(data, until) {
  const heading = document.querySelector(`.st-key-${data.at} :is(h1, h2, h3)`);
  if (heading === null) {
    if (shown === data && performance.now() < until) requestAnimationFrame(() => focusOn(data, until));
    return;
  }
  if (document.activeElement?.matches("input, textarea")) return; // somebody is typing
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
  if (data.top) document.querySelector('[data-testid="stMain"]')?.scrollTo(0, 0);
}
