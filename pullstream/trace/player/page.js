"use strict";
// The page: steps, keys, filter, explanations and links.

const $ = (id) => document.getElementById(id);
const ROW = 24;

class Page {
  constructor(trace) {
    this.trace = trace;
    this.step = 1;
    this.matching = null;
    this.playing = 0;
    this.explained = null;
    this.measure();
    this.edges = new EdgePicture(trace, $("edges"));
    this.graph = new GraphPicture(trace, $("graph"), (place) => this.explain(place));
    $("total").textContent = trace.total.toLocaleString("en");
    $("slider").max = $("number").max = trace.total;
    this.tellVerdict();
    this.tellFault();
    this.listen();
    this.filter("");
    this.follow();
  }

  tellVerdict() {
    const { verdict, violations } = this.trace;
    const words = { allowed: "the model allows this run", refused: "the model does not allow this run", none: "no verdict: the trace is incomplete" };
    const end = this.trace.events.findLast(([, , kind, module]) => kind === "ended" && module === null)?.[4] ?? "complete";
    const failed = end === "complete" ? "" : `; it has ended: ${end}`;
    $("verdict").textContent = words[verdict.verdict] + failed + (violations.length ? `; ${many(violations.length, "event")} at fault` : "");
    $("verdict").className = verdict.verdict;
    $("violation").disabled = !violations.length;
    $("completion").disabled = !this.trace.completions.length;
  }

  // What went wrong, in full, and where; the page opens there, and has a button that leads to the beginning.
  tellFault() {
    const { trace } = this;
    const [first] = trace.violations;
    this.opens = trace.opens ?? first ?? 1;
    const [, , kind, , rule] = trace.events[this.opens - 1];
    const told = trace.told || (kind === "violation" ? this.ruled(rule) : "");
    const [head, ...rest] = told.split("\n");
    $("told").replaceChildren(Object.assign(document.createElement("strong"), { textContent: head }), rest.map((row) => `\n${row}`).join(""));
    $("told").hidden = !told;
    $("opened").hidden = this.opens === 1;
    $("there").textContent = `step ${this.opens}`;
    $("fault").hidden = !told && this.opens === 1;
  }

  ruled(rule) {
    return `${rule}: ${this.trace.rules[rule] ?? "a rule of another version"}`;
  }

  // ---- the current step

  go(step) {
    this.step = Math.min(Math.max(1, Math.round(step) || 1), this.trace.total);
    this.draw();
    clearTimeout(this.linking);
    this.linking = setTimeout(() => history.replaceState(null, "", `#step=${this.step}`), 300);
  }

  follow() {
    const found = /step=(\d+)/.exec(location.hash);
    this.go(found ? Number(found[1]) : this.opens);
  }

  draw() {
    const { trace, step } = this;
    const state = trace.at(step);
    $("slider").value = $("number").value = step;
    this.tell(trace.events[step - 1]);
    this.edges.draw(step, this.wide);
    this.graph.draw(step, state);
    this.reveal();
    this.list();
    if (this.explained !== null) this.showExplanation(state);
  }

  tell(event) {
    const objection = this.trace.objections.get(event[0]);
    const parts = [`${event[0]} · ${seconds(event[1])} · ${this.trace.describe(this.step - 1)}`];
    const rules = event[2] === "violation" ? [event[4]] : RULES_OF[event[2]] ?? [];
    for (const rule of rules) {
      const made = Object.assign(document.createElement("button"), { className: "rule", textContent: event[2] === "violation" ? rule : `see ${rule}` });
      made.setAttribute("aria-describedby", "rule");
      for (const [on, off] of [["mouseenter", "mouseleave"], ["focus", "blur"]]) {
        made.addEventListener(on, () => this.showRule(rule));
        made.addEventListener(off, () => ($("rule").hidden = true));
      }
      made.addEventListener("click", () => this.showRule(rule));
      parts.push(made);
    }
    if (objection) parts.push(Object.assign(document.createElement("span"), { className: "bad", textContent: ` ${objection}` }));
    $("now").replaceChildren(...parts);
    $("rule").hidden = true;
  }

  showRule(rule) {
    $("rule").textContent = this.ruled(rule);
    $("rule").hidden = false;
  }

  // ---- navigation

  by(direction) {
    if (!this.matching) return this.go(this.step + direction);
    const next = this.neighbour(this.matching, direction);
    if (next) this.go(next);
  }

  neighbour(row, direction) {
    return direction > 0 ? row[upper(row, this.step)] : row[upper(row, this.step - 1) - 1];
  }

  completion(direction) {
    const next = this.neighbour(this.trace.completions, direction);
    if (next) this.go(next);
  }

  violation() {
    const { violations } = this.trace;
    if (violations.length) this.go(this.neighbour(violations, 1) ?? violations[0]);
  }

  play() {
    if (this.playing) {
      clearInterval(this.playing);
      this.playing = 0;
    } else {
      this.playing = setInterval(() => {
        const before = this.step;
        this.by(1);
        if (this.step === before) this.play();
      }, 400);
    }
    $("play").setAttribute("aria-pressed", String(this.playing !== 0));
    $("play").textContent = this.playing ? "pause" : "play";
  }

  // ---- the list of events

  filter(words) {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    const { trace } = this;
    this.matching = null;
    if (wanted.length) {
      this.matching = [];
      for (let i = 0; i < trace.total; i++) {
        const kind = trace.events[i][2];
        const text = `${trace.describe(i)} ${kind} ${(RULES_OF[kind] ?? []).map((rule) => `${rule};`).join(" ")}`.toLowerCase();
        if (wanted.every((word) => (/^r\d+$/.test(word) ? new RegExp(`\\b${word}\\b`).test(text) : text.includes(word)))) this.matching.push(i + 1);
      }
    }
    const count = this.matching?.length ?? trace.total;
    $("found").textContent = `${many(count, "event")}${wanted.length ? `, of ${trace.total.toLocaleString("en")}` : ""}`;
    $("space").style.height = `${count * ROW}px`;
    if (this.matching?.length && !this.matching.includes(this.step)) this.go(this.neighbour(this.matching, 1) ?? this.matching[0]);
    else this.draw();
  }

  // Reading a size costs a layout of the whole page, so sizes are read only when they may have changed.
  measure() {
    this.room = $("scroll").clientHeight;
    this.scrolled = $("scroll").scrollTop;
    this.wide = $("edges").clientWidth;
  }

  reveal() {
    const top = (this.matching ? upper(this.matching, this.step) - 1 : this.step - 1) * ROW;
    if (top >= this.scrolled + ROW && top <= this.scrolled + this.room - 2 * ROW) return;
    const most = (this.matching?.length ?? this.trace.total) * ROW - this.room;
    this.scrolled = $("scroll").scrollTop = Math.max(0, Math.min(most, top - Math.floor(this.room / 2)));
  }

  list() {
    const rows = this.matching ?? { length: this.trace.total };
    const first = Math.max(0, Math.floor(this.scrolled / ROW) - 5);
    const last = Math.min(rows.length, first + Math.ceil(this.room / ROW) + 10);
    const made = [];
    for (let row = first; row < last; row++) {
      const number = this.matching ? this.matching[row] : row + 1;
      const event = this.trace.events[number - 1];
      const tr = document.createElement("tr");
      tr.setAttribute("aria-rowindex", row + 1);
      if (number === this.step) tr.setAttribute("aria-current", "step");
      if (this.trace.atFault(number - 1)) tr.className = "bad";
      for (const words of [event[0], seconds(event[1]), this.trace.describe(number - 1)]) tr.insertCell().textContent = words;
      tr.title = this.trace.describe(number - 1);
      tr.addEventListener("click", () => this.go(number));
      made.push(tr);
    }
    const table = $("events");
    table.setAttribute("aria-rowcount", rows.length);
    table.style.top = `${first * ROW}px`;
    table.tBodies[0].replaceChildren(...made);
  }

  // ---- what keeps a time from being complete

  explain(place) {
    const event = this.trace.events[this.step - 1];
    const about = ["awaited", "completed", "dismissed"].includes(event[2]) ? event[3] : null;
    const sink = this.graph.output.get(this.trace.sinks[0]);
    this.explained = place ?? (this.explained === null ? about ?? sink : null);
    $("explain").setAttribute("aria-expanded", String(this.explained !== null));
    $("explanation").hidden = this.explained === null;
    if (this.explained !== null) this.showExplanation(this.trace.at(this.step));
  }

  showExplanation(state) {
    const { name, frontier, why } = this.trace.explain(this.explained, state);
    const head = document.createElement("p");
    head.textContent = `After event ${this.step}, at ${name}: ${frontier?.length ? `times ${front(frontier)} may still come, because` : front(frontier)}`;
    const row = document.createElement("ul");
    for (const words of frontier?.length ? why : []) row.append(Object.assign(document.createElement("li"), { textContent: words }));
    const hint = Object.assign(document.createElement("p"), { className: "hint", textContent: "click another module in the graph to explain it" });
    $("explanation").replaceChildren(head, row, hint);
  }

  // ---- mouse and keys

  listen() {
    const on = (id, what, call) => $(id).addEventListener(what, call);
    on("there", "click", () => this.go(this.opens));
    for (const id of ["first", "begin"]) on(id, "click", () => this.go(1));
    on("last", "click", () => this.go(this.trace.total));
    on("back", "click", () => this.by(-1));
    on("forth", "click", () => this.by(1));
    on("play", "click", () => this.play());
    on("completion", "click", () => this.completion(1));
    on("violation", "click", () => this.violation());
    on("explain", "click", () => this.explain());
    on("slider", "input", () => this.go($("slider").valueAsNumber));
    on("number", "change", () => this.go($("number").valueAsNumber));
    on("filter", "input", () => this.filter($("filter").value));
    on("scroll", "scroll", () => {
      if ($("scroll").scrollTop === this.scrolled) return;
      this.scrolled = $("scroll").scrollTop;
      this.list();
    });
    addEventListener("hashchange", () => this.follow());
    addEventListener("resize", () => {
      this.measure();
      this.draw();
    });
    addEventListener("keydown", (event) => this.pressed(event));
  }

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.matches("input[type=search], input[type=number]");
    if (typing && event.key === "Escape") event.target.blur();
    if (typing || (event.key === " " && event.target.matches("button"))) return;
    const calls = {
      ArrowRight: () => (event.shiftKey ? this.completion(1) : this.by(1)),
      ArrowLeft: () => (event.shiftKey ? this.completion(-1) : this.by(-1)),
      Home: () => this.go(1),
      End: () => this.go(this.trace.total),
      " ": () => this.play(),
      v: () => this.violation(),
      e: () => this.explain(),
      "/": () => $("filter").focus(),
    };
    if (calls[event.key]) {
      event.preventDefault();
      calls[event.key]();
    }
  }
}

function many(count, word) {
  return `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
}

function seconds(clock) {
  return `${Number(clock.toFixed(clock < 10 ? 6 : 3))} s`;
}

async function begin() {
  const packed = Uint8Array.from(atob($("trace").textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  globalThis.page = new Page(new Trace(await new Response(stream).json()));
  document.documentElement.dataset.ready = "yes";
}

begin();
