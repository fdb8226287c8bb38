// Keeps the plan in the storage of this tab, where a reload finds it and no other tab, site or server does. Keeps the chosen
// language in a cookie, unless it is the browser's own; the server reads the cookie before it draws a page.
const KEY = "private-release-plan";

function cookie(name) {
  return document.cookie.split("; ").find((c) => c.startsWith(name + "="))?.slice(name.length + 1) ?? "";
}

export default function ({ data }) {
  if ((cookie("language") || data.unless) !== data.language) {
    document.cookie = `language=${data.language}; path=/; SameSite=Strict`;
  }
  document.documentElement.lang = data.spoken; // for screen readers
  let kept = "";
  try {
    kept = sessionStorage.getItem(KEY) ?? "";
    if (data.todo === "keep") sessionStorage.setItem(KEY, data.plan);
    if (data.todo === "forget") sessionStorage.removeItem(KEY);
  } catch (error) {
    console.info("This browser keeps nothing for a page: a reload forgets the plan.", error.name);
  }
  if (data.todo !== "send") return;
  const headers = { "X-Tab-Token": data.token, "X-Xsrftoken": cookie("_streamlit_xsrf") };
  fetch(data.address, { method: "PUT", headers, body: kept }).catch((error) => {
    console.info("The plan of this tab could not be sent: the page is gone.", error.name);
  });
}
