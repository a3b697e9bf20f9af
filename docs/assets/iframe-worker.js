// A browser starts no Worker from a page that was opened as a file. There the
// search runs in a hidden frame, which is spoken to like a Worker.
if (location.protocol === "file:") {
  class FrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.srcdoc = "<!doctype html>";
      this.ready = new Promise((resolve) => {
        this.frame.addEventListener("load", () => this.start(url, resolve), {
          once: true,
        });
      });
      document.body.append(this.frame);
    }
    start(url, resolve) {
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) =>
        this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inside.document.createElement("script");
      script.src = String(url);
      script.addEventListener("load", resolve);
      inside.document.body.append(script);
    }
    async postMessage(data) {
      await this.ready;
      const inside = this.frame.contentWindow;
      inside.dispatchEvent(new inside.MessageEvent("message", { data }));
    }
  }
  window.Worker = FrameWorker;
  window.IFrameWorker = FrameWorker;
}
