// Search for pages that were opened from disk: browsers start no worker there, so a hidden frame does its work.
if (location.protocol === "file:") {
  const importScripts = (...addresses) =>
    addresses.reduce(
      (before, address) =>
        before.then(
          () =>
            new Promise((resolve) => {
              const script = document.createElement("script");
              script.src = address;
              script.onload = resolve;
              document.body.append(script);
            }),
        ),
      Promise.resolve(),
    );

  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.frame = frame;
      const inside = frame.contentWindow.document;
      inside.open();
      inside.write(
        `<script>postMessage = (data) => parent.postMessage(data, "*"); importScripts = ${importScripts};</script>` +
          `<script src="${new URL(address, location.href)}"></script>`,
      );
      inside.close();
      // An empty frame has been loaded before this: what counts is when the script has.
      this.ready = new Promise((resolve) => (frame.contentWindow.onload = resolve));
      addEventListener("message", (event) => {
        if (event.source !== frame.contentWindow) return;
        const passed = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(passed);
        if (this.onmessage) this.onmessage(passed);
      });
    }

    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
