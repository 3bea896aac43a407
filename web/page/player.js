// The player: it plays chunks of sound one after the other as they come, and draws them.

export class Player {
  // A Player draws on a canvas. It calls moved with the seconds that have been played.
  constructor(canvas, moved) {
    this.canvas = canvas;
    this.moved = moved;
    this.reset();
    new ResizeObserver(() => this.paint()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.paint());
  }

  reset() {
    this.stop();
    this.chunks = [];
    this.peaks = []; // the largest sample of each hundredth of a second
    this.seconds = 0;
    this.begin = 0; // in the time of the audio device
    this.played = 0;
    this.paint();
  }

  // open makes the device ready. It is called when a button is pressed, which browsers ask for.
  async open() {
    if (!globalThis.AudioContext) throw new Error("This browser has no audio. The sound can still be downloaded.");
    this.audio ??= new AudioContext();
    this.audio.resume();
    await Promise.race([this.running(), new Promise((resolve) => setTimeout(resolve, 3000))]);
    if (this.audio.state === "running") return;
    this.stop();
    this.audio.close();
    this.audio = null;
    throw new Error("No audio device answers. The sound can still be downloaded.");
  }

  running() {
    return new Promise((resolve) => {
      if (this.audio.state === "running") return resolve();
      this.audio.addEventListener("statechange", () => this.audio.state === "running" && resolve());
    });
  }

  // add plays samples after the ones before.
  add(samples, rate) {
    this.chunks.push(samples);
    this.rate = rate;
    const step = Math.max(1, Math.round(rate / 100));
    for (let i = 0; i < samples.length; i += step) {
      let peak = 0;
      for (const x of samples.subarray(i, i + step)) peak = Math.max(peak, Math.abs(x));
      this.peaks.push(peak);
    }
    if (this.audio && samples.length) {
      const buffer = this.audio.createBuffer(1, samples.length, rate), source = this.audio.createBufferSource();
      buffer.copyToChannel(samples, 0);
      source.buffer = buffer;
      source.connect(this.audio.destination);
      const now = this.audio.currentTime;
      if (!this.sources.length) this.begin = this.next = now + 0.05;
      if (this.next < now) { // the device has waited for this chunk
        this.begin += now - this.next;
        this.next = now;
      }
      source.start(this.next);
      this.next += buffer.duration;
      this.sources.push(source);
      this.follow();
    }
    this.seconds += samples.length / rate;
    this.paint();
  }

  // follow moves the mark while sound is played.
  follow() {
    if (this.frame) return;
    const move = () => {
      if (this.audio) this.played = Math.min(this.seconds, Math.max(0, this.audio.currentTime - this.begin));
      this.paint();
      this.moved(this.played);
      this.frame = this.sources.length && this.audio?.currentTime < this.next ? requestAnimationFrame(move) : 0;
    };
    this.frame = requestAnimationFrame(move);
  }

  // stop silences the device at once.
  stop() {
    for (const s of this.sources ?? []) s.stop();
    this.sources = [];
  }

  paint() {
    const c = this.canvas, w = c.clientWidth, h = c.clientHeight, ratio = devicePixelRatio || 1;
    if (!w || !h) return;
    [c.width, c.height] = [w * ratio, h * ratio];
    const g = c.getContext("2d"), style = getComputedStyle(c);
    const [accent, line] = ["--accent", "--line"].map((n) => style.getPropertyValue(n));
    g.scale(ratio, ratio);
    g.fillStyle = line;
    g.fillRect(0, h / 2 - 0.5, w, 1);
    const bars = Math.floor(w / 4), each = Math.max(this.peaks.length, 200) / bars;
    for (let i = 0; i < bars && i * each < this.peaks.length; i++) {
      let peak = 0;
      for (let k = Math.floor(i * each); k < Math.min((i + 1) * each, this.peaks.length); k++) peak = Math.max(peak, this.peaks[k]);
      const high = Math.max(2, peak * (h - 4)), before = i * each < this.played * 100 || !this.sources.length;
      g.globalAlpha = before ? 1 : 0.4;
      g.fillStyle = accent;
      g.beginPath();
      g.roundRect(i * 4, (h - high) / 2, 2.5, high, 1.25);
      g.fill();
    }
    g.globalAlpha = 1;
  }
}
