"use strict";
(() => {
  const root = document.documentElement;
  const by = (id) => document.getElementById(id);
  const data = JSON.parse(by("data").textContent);
  const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

  // Theme: that of the system, or the one named after the # of the address.
  const chosen = () => ["#dark", "#light"].includes(location.hash) && location.hash.slice(1);
  const applyTheme = () => { if (chosen()) root.dataset.theme = chosen(); };
  const isDark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  addEventListener("hashchange", applyTheme);
  applyTheme();
  by("theme").hidden = false;
  by("theme").addEventListener("click", () => location.replace(isDark() ? "#light" : "#dark"));

  if (data.frames) { slices(data.frames, data.start, data.strip); wipe(); }
  if (data.fibres) fibres(data.fibres);

  function slices(frames, start, bars) {
    const slider = by("slice"), strip = by("strip"), images = document.querySelectorAll("img[data-layer]");
    for (const image of document.querySelectorAll("img[data-layer][src]")) frames[start][image.dataset.layer] = image.src;
    const paint = (frame) => {
      for (const image of images) image.src = frame[image.dataset.layer];
      for (const mark of document.querySelectorAll(".marks")) {
        mark.hidden = !frame.marks;
        mark.style.setProperty("--mask", frame.marks || "none");
      }
    };
    if (!slider) return paint(frames[start]);
    const show = () => {
      const frame = frames[slider.valueAsNumber];
      paint(frame);
      by("label").textContent = frame.label;
      by("note").textContent = frame.note;
      slider.setAttribute("aria-valuetext", frame.label);
      if (!strip) return;
      by("told").textContent = bars.told[frame.at];
      by("here").setAttribute("x", frame.at);
    };
    const step = (much) => { slider.valueAsNumber += much; show(); };
    const stop = playing(() => {
      slider.valueAsNumber = (slider.valueAsNumber + 1) % frames.length;
      show();
    });
    const go = (to) => { stop(); to(); };
    slider.addEventListener("input", () => go(show));
    by("previous").addEventListener("click", () => go(() => step(-1)));
    by("next").addEventListener("click", () => go(() => step(1)));
    if (strip) {
      // Not every slice has its pictures: the nearest that has is shown.
      const follow = (event) => {
        const box = strip.getBoundingClientRect(), at = bars.count * (event.clientX - box.left) / box.width - 0.5;
        const far = frames.map((frame) => Math.abs(frame.at - at));
        go(() => { slider.valueAsNumber = far.indexOf(Math.min(...far)); show(); });
      };
      strip.addEventListener("pointerdown", (event) => {
        if (event.button) return;
        strip.setPointerCapture(event.pointerId);
        follow(event);
      });
      strip.addEventListener("pointermove", (event) => { if (strip.hasPointerCapture(event.pointerId)) follow(event); });
    }
    show(); // a browser may keep the slider's place over a reload
  }

  // The play button calls for one picture after the other; what is returned stops it.
  function playing(forward) {
    const button = by("play");
    let clock = 0;
    const set = (on) => {
      clearInterval(clock);
      clock = on ? setInterval(forward, 125) : 0;
      button.setAttribute("aria-pressed", on);
      button.setAttribute("aria-label", on ? "Stop" : "Play");
    };
    if (!button) return () => {};
    button.addEventListener("click", () => set(!clock));
    return () => set(false);
  }

  function wipe() {
    const stage = by("wipe"), handle = by("handle");
    let place = 50;
    const move = (to) => {
      place = clamp(to, 0, 100);
      stage.style.setProperty("--wipe", place + "%");
      handle.setAttribute("aria-valuenow", Math.round(place));
      handle.setAttribute("aria-valuetext", Math.round(place) + " % before");
    };
    const follow = (event) => {
      const box = stage.getBoundingClientRect();
      move(100 * (event.clientX - box.left) / box.width);
    };
    stage.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      stage.setPointerCapture(event.pointerId);
      handle.focus({ preventScroll: true });
      event.preventDefault();
      follow(event);
    });
    stage.addEventListener("pointermove", (event) => { if (stage.hasPointerCapture(event.pointerId)) follow(event); });
    const keys = {
      ArrowLeft: () => place - 2, ArrowDown: () => place - 2, ArrowRight: () => place + 2, ArrowUp: () => place + 2,
      PageDown: () => place - 10, PageUp: () => place + 10, Home: () => 0, End: () => 100,
    };
    handle.addEventListener("keydown", (event) => {
      if (!(event.key in keys) || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      move(keys[event.key]());
    });
  }

  function fibres(given) {
    const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const levels = (text) => new Uint16Array(bytes(text).buffer);
    const x = levels(given.x), truth = given.truth && levels(given.truth), sure = given.sure && levels(given.sure), known = bytes(given.known);
    const axes = given.axes, at = axes.map((axis) => axis.places.length >> 1);
    const strides = axes.map((_, k) => axes.slice(k + 1).reduce((n, axis) => n * axis.places.length, 1));
    const value = (level) => given.low + level * given.step;
    const select = by("along"), places = by("places"), plot = by("fibre");
    axes.forEach((axis, k) => select.add(new Option(axis.name, k, k === given.along, k === given.along)));

    const choose = () => {
      const inputs = axes.map((axis, k) => {
        if (k === Number(select.value) || axis.places.length < 2) return null;
        const label = document.createElement("label"), text = document.createElement("span"), input = document.createElement("input");
        Object.assign(input, { type: "range", min: 0, max: axis.places.length - 1, value: at[k] });
        const show = () => { at[k] = input.valueAsNumber; text.textContent = `${axis.name} ${axis.places[at[k]]}`; };
        input.addEventListener("input", () => { show(); draw(); });
        show();
        label.append(text, input);
        return label;
      });
      places.replaceChildren(...inputs.filter(Boolean));
      draw();
    };

    const element = (name, attributes, text) => {
      const made = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (const [key, to] of Object.entries(attributes)) made.setAttribute(key, to);
      if (text !== undefined) made.textContent = text;
      return made;
    };
    const ticks = (low, high, count) => {
      const raw = (high - low) / count || 1, power = 10 ** Math.floor(Math.log10(raw));
      const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= raw);
      const first = Math.ceil(low / step);
      return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, k) => (first + k) * step);
    };
    const write = (number) => String(Number(number.toPrecision(6)));

    function draw() {
      const along = Number(select.value), axis = axes[along];
      const start = at.reduce((sum, place, k) => sum + (k === along ? 0 : place * strides[k]), 0);
      const entries = axis.places.map((_, k) => start + k * strides[along]);
      const values = entries.map((k) => value(x[k]));
      const truths = truth ? entries.map((k) => value(truth[k])) : [];
      const off = entries.map((k) => sure ? given.normal * given.sure_step * sure[k] : 0);
      const lows = values.map((v, k) => v - off[k]), highs = values.map((v, k) => v + off[k]);
      const width = plot.clientWidth || 600, height = plot.clientHeight || 260;
      const left = 56, right = width - 10, top = 10, bottom = height - 38;
      let low = Math.min(...lows, ...truths), high = Math.max(...highs, ...truths);
      if (low === high) { low -= 1; high += 1; }
      const px = (place) => left + (right - left) * place / Math.max(1, axis.length - 1);
      const py = (v) => bottom - (bottom - top) * (v - low) / (high - low);
      const points = (vs) => vs.map((v, k) => `${px(axis.places[k]).toFixed(1)} ${py(v).toFixed(1)}`);
      const path = (vs) => "M" + points(vs).join("L");
      const isKnown = (k) => known[k >> 3] >> (7 - (k & 7)) & 1;
      const parts = [];
      for (const v of ticks(low, high, 6)) {
        parts.push(element("line", { class: "grid", x1: left, x2: right, y1: py(v), y2: py(v) }));
        parts.push(element("text", { x: left - 8, y: py(v) + 4, "text-anchor": "end" }, write(v)));
      }
      for (const place of ticks(0, axis.length - 1, Math.min(axis.length - 1, width / 90)).filter(Number.isInteger))
        parts.push(element("text", { x: px(place), y: bottom + 17, "text-anchor": "middle" }, place));
      parts.push(element("text", { x: (left + right) / 2, y: bottom + 34, "text-anchor": "middle" }, axis.name));
      if (sure) parts.push(element("path", { class: "band", d: `M${points(highs).concat(points(lows).reverse()).join("L")}Z` }));
      if (truth) parts.push(element("path", { class: "truth", d: path(truths) }));
      parts.push(element("path", { class: "line", d: path(values) }));
      entries.forEach((entry, k) => {
        if (isKnown(entry)) parts.push(element("circle", { class: "point", cx: px(axis.places[k]), cy: py(values[k]), r: 2.4 }));
      });
      plot.setAttribute("viewBox", `0 0 ${width} ${height}`);
      plot.replaceChildren(...parts);
    }

    select.addEventListener("change", choose);
    addEventListener("resize", draw);
    choose();
  }
})();
