// Keeps the plan in this tab alone, where a reload finds it and no other tab, site or server does; and the language
// that was chosen, in a cookie that the server reads before it draws a page.
const KEY = "private-release-plan";

function cookie(name) {
  return document.cookie.split("; ").find((c) => c.startsWith(name + "="))?.slice(name.length + 1) ?? "";
}

export default function ({ data }) {
  if ((cookie("language") || "en") !== data.language) {
    document.cookie = `language=${data.language}; path=/; SameSite=Strict`;
  }
  document.documentElement.lang = data.spoken; // for those who have the page read to them
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
