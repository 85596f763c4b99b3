"use strict";
// The pictures: the edges around a step as a diagram of lifelines, and the graph with its times.

const SVG = "http://www.w3.org/2000/svg";

function svg(name, attributes = {}, ...content) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...content);
  return made;
}

const WIDE = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{Emoji_Presentation}\u3000-\u303f\uff01-\uff60]/u;

// The width of words in letters; wide ones, as in Chinese and Japanese, count twice.
function letters(words) {
  let sum = 0;
  for (const letter of words) sum += WIDE.test(letter) ? 2 : 1;
  return sum;
}

function short(words, room, letter) {
  const most = Math.max(3, Math.floor(room / letter));
  if (letters(words) <= most) return words;
  let [kept, width] = ["", 0];
  for (const each of words) {
    width += letters(each);
    if (width >= most) break;
    kept += each;
  }
  return `${kept}…`;
}

// A name, shortened in front of a number that distinguishes it from others.
function shortName(name, room) {
  const [, start, end] = /^(.*?)( #\d+)?$/.exec(name);
  return short(start, room - 7.6 * (end?.length ?? 0), 7.6) + (end ?? "");
}

class EdgePicture {
  constructor(trace, into) {
    this.trace = trace;
    this.into = into;
    // From the sinks on the left to the sources on the right, as asks go; a place in a loop may have no edge.
    const { boxes } = trace.layout;
    const seen = new Set(trace.edges.flatMap((edge) => [edge.from, edge.to]));
    this.modules = trace.modules.filter(({ id }) => seen.has(id)).sort((a, b) => boxes[b.id][1] - boxes[a.id][1] || a.id - b.id);
    this.column = new Map(this.modules.map((module, i) => [module.id, i]));
    this.messages = [];
    trace.events.forEach((event, i) => {
      const edge = REQUESTS.has(event[2]) || ANSWERS.has(event[2]) ? trace.edgeOf.get(event[3]) : undefined;
      if (edge && !edge.inside) this.messages.push(i);
    });
  }

  draw(step, room) {
    const { trace, into } = this;
    const count = this.modules.length;
    const rows = innerWidth < 640 ? 10 : 15;
    const width = Math.max(room - 4, count * 66);
    const at = (node) => (width * (2 * this.column.get(node) + 1)) / (2 * count);
    const stop = upper(this.messages, step - 1);
    const shown = this.messages.slice(Math.max(0, stop - rows), stop);
    const height = 50 + 30 * rows;
    const parts = this.modules.map((module) => {
      const x = at(module.id);
      return svg("g", {},
        svg("title", {}, module.site ? `${module.name}, composed at ${module.site}` : module.name),
        svg("line", { x1: x, y1: 32, x2: x, y2: height - 8, class: "line faint" }),
        svg("text", { x, y: 20, class: "name", "text-anchor": "middle" }, shortName(module.name, width / count - 6)));
    });
    shown.forEach((i, row) => parts.push(this.row(i, 62 + 30 * row, at, width, i === step - 1)));
    into.replaceChildren(svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img" },
      svg("title", {}, `The messages up to event ${step}`),
      svg("desc", {}, shown.map((i) => trace.describe(i)).join("; ")), ...parts));
    const newest = trace.edgeOf.get(trace.events[shown.at(-1)]?.[3]);
    if (newest && width > room) into.scrollLeft = (at(newest.from) + at(newest.to) - room) / 2;
  }

  row(i, y, at, width, here) {
    const { trace } = this;
    const event = trace.events[i];
    const edge = trace.edgeOf.get(event[3]);
    const up = REQUESTS.has(event[2]);
    const [from, to] = up ? [at(edge.to), at(edge.from)] : [at(edge.from), at(edge.to)];
    const forth = to > from ? 1 : -1;
    const broken = trace.events[i + 1]?.[2] === "violation" ? "broken" : trace.opens === i + 1 ? "it goes wrong here" : "";
    const objection = trace.objections.get(event[0]) ?? broken;
    const kind = [up ? "" : "answer", here ? "here" : "", objection ? "bad" : ""].join(" ");
    const words = short(trace.message(event), width - 16, 7.3);
    const half = (letters(words) * 7.3) / 2;
    const x = Math.min(Math.max((from + to) / 2, half + 8), width - half - 8);
    return svg("g", { class: `${here || objection ? "" : "old"} ${objection ? "bad" : ""}`, "data-event": i + 1 },
      svg("title", {}, objection ? `${trace.describe(i)}: ${objection}` : trace.describe(i)),
      svg("text", { x, y: y - 6, class: `mono ${here ? "here" : ""}`, "text-anchor": "middle" }, words),
      svg("line", { x1: from + 3 * forth, y1: y, x2: to - 8 * forth, y2: y, class: `line ${kind}` }),
      svg("path", { d: `M${to - 2 * forth} ${y}l${-7 * forth} -4v8z`, class: "head" }));
  }
}

class GraphPicture {
  constructor(trace, into, chosen) {
    this.trace = trace;
    this.into = into;
    this.chosen = chosen;
    this.output = new Map(trace.places.filter((place) => place.input === null).map((place) => [place.module, place.id]));
    this.last = new Map();
  }

  draw(step, state) {
    const { trace } = this;
    const { width, height, boxes, lines, frames, holds, box: [wide, high] } = trace.layout;
    const event = trace.events[step - 1];
    const moved = new Set(event?.[2] === "frontiers" ? event[3].map(([place]) => trace.places[place].module) : []);
    const parts = frames.map(([x, y, wide, high, title]) => svg("g", {},
      svg("rect", { x, y, width: wide, height: high, rx: 12, class: "frame" }),
      svg("text", { x: x + 10, y: y + 16, class: "small" }, title)));
    parts.push(...lines.map((line) => this.line(line, state)));
    for (const module of trace.modules) {
      const [x, y] = boxes[module.id];
      const place = this.output.get(module.id);
      const [words, held] = [front(state.frontiers.get(place)), state.counted(place)];
      const how = state.ended.get(module.id);
      const over = how ? `ended: ${how}` : words;
      const made = svg("g", { class: `${moved.has(module.id) ? "moved" : ""} ${how ? "over" : ""}`, "data-module": module.id },
        svg("title", {}, `${module.name}: ${words}${held ? `, holds ${held}` : ""}${how ? `, ended: ${how}` : ""}`),
        svg("rect", { x: x - wide / 2, y: y - high / 2, width: wide, height: high, rx: 7, class: "box" }),
        svg("text", { x, y: y - 5, class: "name", "text-anchor": "middle" }, shortName(module.name, wide - 10)),
        svg("text", { x, y: y + 14, class: "small", "text-anchor": "middle" }, short(over, wide - 10, 6.9)));
      made.addEventListener("click", () => this.chosen(place));
      parts.push(made);
      const [beside, before] = holds[module.id];
      if (held) parts.push(chip(beside, y + high / 2 + 4, `holds ${held}`, "hold", width, before));
    }
    const told = trace.modules.map((module) => `${module.name}: ${front(state.frontiers.get(this.output.get(module.id)))}`);
    const fits = width <= 400 ? "fits" : "";
    this.into.replaceChildren(svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", class: fits },
      svg("title", {}, `What may still come after event ${step}`), svg("desc", {}, told.join("; ")), ...parts));
    // A large graph is scrolled to the module that the event is about.
    const middle = boxes[trace.about(event)];
    if (middle) [this.into.scrollLeft, this.into.scrollTop] = [middle[0] - wide, middle[1] - 4 * high];
  }

  line([start, end, place, leave, enter, side], state) {
    const { width, boxes, box: [wide, high] } = this.trace.layout;
    const [[x1, y1], [x2, y2]] = [boxes[start], boxes[end]];
    const flight = state.counted(place);
    const parts = [];
    if (side !== null) {
      // Half-way round, the line is at the side, past everything in between.
      const [edge, out] = [x2 + wide / 2, (8 * side - x1 - x2 - wide) / 6];
      parts.push(svg("path", { d: `M${x1 + wide / 2} ${y1}C${out} ${y1} ${out} ${y2} ${edge + 6} ${y2}`, class: "line answer" }),
        svg("path", { d: `M${edge} ${y2}l7 -4v8z`, class: "head" }));
      if (flight) parts.push(chip(side - 86, (y1 + y2) / 2 - 9, flight, "flight", width));
    } else {
      const [top, bottom, half] = [y1 + high / 2, y2 - high / 2, (leave + enter) / 2];
      parts.push(svg("path", { d: `M${x1} ${top}V${leave}C${x1} ${half} ${x2} ${half} ${x2} ${enter - 6}V${bottom - 6}`, class: "line" }),
        svg("path", { d: `M${x2} ${bottom}l-4 -7h8z`, class: "head" }));
      if (flight) parts.push(chip(x1 + 0.7 * (x2 - x1) + 6, bottom - 26, flight, "flight", width));
    }
    return svg("g", {}, ...parts);
  }
}

// A label beside x, moved inwards if it would leave a picture of this width.
function chip(x, y, words, kind, most, before = false) {
  const shown = short(words, 140, 6.6);
  const width = 12 + 6.6 * letters(shown);
  const left = Math.max(1, Math.min(before ? x - width : x, most - width - 1));
  return svg("g", { class: kind },
    svg("title", {}, kind === "flight" ? `in flight: ${words}` : words),
    svg("rect", { x: left, y, width, height: 18, rx: 9 }),
    svg("text", { x: left + 6, y: y + 13, class: "small" }, shown));
}

// The count of numbers in a sorted row that are at most the limit.
function upper(row, limit) {
  let [low, high] = [0, row.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row[middle] <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
