// Sends a file as the body of one request, which the browser reads from the disk piece by piece, and shows the progress.
const running = new WeakMap(); // the request of each drop zone, while it is sent

function size(bytes, language) {
  const step = bytes < 1e6 ? [1e3, "kB"] : bytes < 1e9 ? [1e6, "MB"] : [1e9, "GB"];
  const digits = bytes < 1e9 ? 0 : 1;
  const form = { minimumFractionDigits: digits, maximumFractionDigits: digits, useGrouping: false };
  return `${(bytes / step[0]).toLocaleString(language, form)} ${step[1]}`;
}

function cookie(name) {
  return document.cookie.split("; ").find((c) => c.startsWith(name + "="))?.slice(name.length + 1) ?? "";
}

export default function ({ data, parentElement: root, setTriggerValue }) {
  const at = (name) => root.querySelector(name);
  const [zone, input, choose, cancel, way] = [".zone", "input", ".choose", ".cancel", ".way"].map(at);
  const { words } = data;
  const sized = (bytes) => size(bytes, data.language);
  const say = (text, places) => text.replace(/\{(\w+)\}/g, (whole, name) => places[name] ?? whole);
  at(".label").textContent = data.label;
  at(".upload").textContent = words.upload;
  cancel.textContent = words.cancel;
  at(".note").textContent = say(words.note, { size: sized(data.limit), kinds: words.kinds, note: data.note });
  input.accept = data.kinds.map((kind) => "." + kind).join(",");

  const show = (sending, fault = "") => {
    for (const part of [choose, at(".note")]) part.hidden = sending;
    for (const part of [cancel, way]) part.hidden = !sending;
    at(".fault").textContent = fault;
    at(".fault").hidden = !fault;
  };

  const stop = () => {
    running.get(root)?.abort();
    running.delete(root);
  };

  const send = (file) => {
    if (!file || running.has(root)) return;
    if (!data.kinds.includes(file.name.split(".").pop().toLowerCase())) {
      return show(false, say(words.unknown, { kinds: words.kinds }));
    }
    if (file.size > data.limit) return show(false, say(words.too_large, { size: sized(file.size) }));
    const request = new XMLHttpRequest();
    running.set(root, request);
    const ended = (fault) => {
      if (running.get(root) === request) running.delete(root);
      show(false, fault);
      choose.focus({ preventScroll: true });
    };
    at(".name").textContent = file.name;
    const showProgress = (sent) => {
      at("progress").value = file.size ? sent / file.size : 1;
      const part = say(words.sent, { sent: sized(sent), size: sized(file.size) });
      at(".share").textContent = sent < file.size ? part : words.reading;
    };
    showProgress(0);
    show(true);
    cancel.focus({ preventScroll: true });
    request.upload.onprogress = (event) => showProgress(event.loaded);
    request.onload = () => {
      if (request.status !== 204) return ended(request.responseText || words.refused);
      running.delete(root);
      cancel.hidden = true;
      setTriggerValue("received", `${Date.now()}`);
    };
    request.onerror = () => ended(words.broken);
    request.onabort = () => ended("");
    request.open("PUT", data.address);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.setRequestHeader("Accept-Language", data.language);
    request.setRequestHeader("X-Upload-Token", data.token);
    request.setRequestHeader("X-Xsrftoken", cookie("_streamlit_xsrf"));
    request.setRequestHeader("X-File-Name", encodeURIComponent(file.name));
    request.send(file);
  };

  choose.onclick = () => input.click();
  cancel.onclick = stop;
  input.onchange = () => {
    send(input.files[0]);
    input.value = "";
  };
  zone.ondragover = (event) => {
    event.preventDefault();
    zone.classList.add("over");
  };
  zone.ondragleave = () => zone.classList.remove("over");
  zone.ondrop = (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    send(event.dataTransfer.files[0]);
  };
  if (!running.has(root)) show(false, at(".fault").textContent);
  return stop;
}
