"use strict";
// The trace: what every event says in words, and what is held, in flight and still to come after each.

const REQUESTS = new Set(["ask", "abort", "error", "abort soon", "error soon", "ack"]);
const ANSWERS = new Set(["value", "done", "failed", "cancelled"]);
const RULES_OF = {
  ask: ["R1", "R4", "R9"], ack: ["R11"], value: ["R2", "R11", "R12"], done: ["R3", "R7"], failed: ["R3", "R8"],
  cancelled: ["R10"], abort: ["R5", "R6"], error: ["R5", "R6"], "abort soon": ["R5"], "error soon": ["R5"],
  stamps: ["R11"], frontiers: ["R12"], completed: ["R12"], acquired: ["R10"], released: ["R10"],
};
// The number of events between two stored states.
const KEYFRAME = 250;

class Trace {
  constructor(data) {
    Object.assign(this, data);
    this.total = this.events.length;
    this.edgeOf = new Map(this.edges.map((edge) => [edge.id, edge]));
    for (const event of this.events) if (event[2] === "edge") this.edgeOf.set(event[3].id, event[3]);
    this.objections = new Map(this.verdict.objections.map(([number, rule, why]) => [number, `${rule}: ${why}`]));
    this.completions = [];
    this.violations = [];
    this.keyframes = [];
    this.words = [];
    this.index();
  }

  index() {
    const state = new State(this);
    for (let i = 0; i < this.total; i++) {
      if (i % KEYFRAME === 0) this.keyframes.push(state.copy());
      const event = this.events[i];
      if (event[2] === "completed") this.completions.push(i + 1);
      if (this.atFault(i)) this.violations.push(i + 1);
      state.take(event);
    }
  }

  atFault(i) {
    const event = this.events[i];
    return event[2] === "violation" || this.objections.has(event[0]) || this.opens === i + 1;
  }

  // The state after the event with this number.
  at(step) {
    const frame = Math.min(this.keyframes.length - 1, Math.floor(step / KEYFRAME));
    const state = this.keyframes[frame].copy();
    for (let i = frame * KEYFRAME; i < step; i++) state.take(this.events[i]);
    return state;
  }

  name(node) {
    return typeof node === "string" ? node : this.modules[node].name;
  }

  place(id) {
    return this.places[id].name;
  }

  // The module that an event is about; if there are several, the last.
  about([, , kind, first]) {
    if (REQUESTS.has(kind) || ANSWERS.has(kind)) return this.edgeOf.get(first)[REQUESTS.has(kind) ? "from" : "to"];
    if (kind === "stamps" || kind === "frontiers") return this.places[first.at(-1)[0]].module;
    if (kind === "awaited" || kind === "completed" || kind === "dismissed") return this.places[first].module;
    return first;
  }

  // A message on an edge, in the specification's words.
  message(event) {
    const [, , kind, , lane, number, ...rest] = event;
    const where = lane ? `, lane ${lane}` : "";
    switch (kind) {
      case "ask": return `ask${number}${rest[0] === 1 ? "" : ` of ${rest[0]}`}${where}`;
      case "abort": case "abort soon": return `abort${number}${where}`;
      case "error": case "error soon": return `error${number}(${rest[0]})${where}`;
      case "ack": return `ack${where}`;
      case "value": {
        const [count, time, values] = rest;
        const more = count > values.length ? `, … ${count} in all` : "";
        return `Ans${number}=value(${values.join(", ")}${more})${time === "0" ? "" : ` at ${time}`}${where}`;
      }
      case "failed": return `Ans${number}=error(${rest[0] ?? ""})${where}`;
      default: return `Ans${number}=${kind}${where}`;
    }
  }

  describe(i) {
    return (this.words[i] ??= this.worded(this.events[i]));
  }

  worded(event) {
    const [, , kind, ...about] = event;
    if (REQUESTS.has(kind) || ANSWERS.has(kind)) {
      const edge = this.edgeOf.get(about[0]);
      const [from, to] = [this.name(edge.from), this.name(edge.to)];
      return `${REQUESTS.has(kind) ? `${to} → ${from}` : `${from} → ${to}`}: ${this.message(event)}${edge.inside ? " (inside)" : ""}`;
    }
    switch (kind) {
      case "stamps":
        return about[0].map(([place, time, delta]) => this.changed(place, time, delta)).join("; ");
      case "frontiers":
        return about[0].map(([place, times]) => `${this.place(place)}: ${front(times)}`).join("; ");
      case "awaited": return `awaited: completion of ${about[1]} at ${this.place(about[0])}`;
      case "completed": return `complete: ${about[1]} at ${this.place(about[0])}`;
      case "dismissed": return `no longer awaited: completion of ${about[1]} at ${this.place(about[0])}`;
      case "rest": return "every task waits, for the clock or for something outside";
      case "untracked": return "times cannot be compared any more: nothing completes from here on";
      case "edge": return `an edge is opened inside: ${about[0].from} → ${about[0].to}`;
      case "deviation": return `deviation: ${about[0]}`;
      case "violation": return `${about[1]} broken by ${about[0]}: ${about[2]}`;
      case "acquired": return `${this.name(about[0])} has acquired its resources`;
      case "released": return `${this.name(about[0])} has released its resources`;
      case "ended": {
        const who = about[0] === null ? "the run" : this.name(about[0]);
        return `${who} has ended: ${about[1]}${about[2] ? ` (${about[2]})` : ""}`;
      }
      default: return kind;
    }
  }

  changed(place, time, delta) {
    const { module, input } = this.places[place];
    const name = this.name(module);
    const times = Math.abs(delta) === 1 ? "" : ` ×${Math.abs(delta)}`;
    if (input === null) return `${name} ${delta > 0 ? "holds" : "releases"} ${time}${times}`;
    return delta > 0 ? `${time}${times} in flight to ${name}` : `${time}${times} acknowledged by ${name}`;
  }

  // The places from which something may reach a place, itself included.
  above(place) {
    const found = new Set([place]);
    for (const here of found) for (const [a, b] of this.steps) if (b === here) found.add(a);
    return found;
  }

  explain(place, state) {
    const frontier = state.frontiers.get(place);
    const changing = this.steps.some(([, b, how]) => how !== "same" && this.above(place).has(b));
    const why = [];
    for (const where of this.above(place)) {
      for (const [time, count] of state.stamps.get(where) ?? []) {
        const least = frontier?.includes(time);
        if (!least && !changing) continue;
        why.push(this.changed(where, time, count) + (least || !changing ? "" : ", which may lead to it"));
      }
    }
    return { name: this.place(place), frontier, why };
  }
}

function front(times) {
  return times === undefined ? "not begun" : times.length ? `from ${times.join(", ")}` : "nothing more";
}

class State {
  constructor(trace, stamps, frontiers, ended) {
    this.trace = trace;
    this.stamps = stamps ?? new Map();
    this.frontiers = frontiers ?? new Map();
    this.ended = ended ?? new Map();
    if (!stamps) for (const [place, time] of trace.initial) this.count(place, time, 1);
  }

  copy() {
    const stamps = new Map([...this.stamps].map(([place, times]) => [place, new Map(times)]));
    return new State(this.trace, stamps, new Map(this.frontiers), new Map(this.ended));
  }

  count(place, time, delta) {
    let times = this.stamps.get(place);
    if (!times) this.stamps.set(place, (times = new Map()));
    const now = (times.get(time) ?? 0) + delta;
    if (now) times.set(time, now);
    else times.delete(time);
  }

  take(event) {
    if (event[2] === "stamps") for (const [place, time, delta] of event[3]) this.count(place, time, delta);
    else if (event[2] === "frontiers") for (const [place, times] of event[3]) this.frontiers.set(place, times);
    else if (event[2] === "ended" && event[3] !== null) this.ended.set(event[3], event[4]);
  }

  counted(place) {
    return [...(this.stamps.get(place) ?? [])].map(([time, count]) => (count === 1 ? time : `${time} ×${count}`)).join(", ");
  }
}
