// Keeps the plan in this tab alone, where a reload finds it and no other tab, site or server does.
const KEY = "private-release-plan";

export default function ({ data, setTriggerValue }) {
  try {
    const kept = sessionStorage.getItem(KEY);
    if (data.todo === "keep") sessionStorage.setItem(KEY, data.plan);
    if (data.todo === "forget") sessionStorage.removeItem(KEY);
    if (data.todo === "tell" && kept) setTriggerValue("found", { asked: data.asked, plan: kept });
  } catch (error) {
    console.info("This browser keeps nothing for a page: a reload forgets the plan.", error.name);
  }
}
