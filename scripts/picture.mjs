// Records `dibs demo` in a pseudo terminal and writes it as an animated SVG, docs/images/demo.svg: npm run picture
// Every frame is what a terminal emulator shows of the real output. Equal lines are stored once.

import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { spawn } from "@lydell/node-pty";
import headless from "@xterm/headless";

const root = resolve(import.meta.dirname, "..");
const target = join(root, "docs", "images", "demo.svg");
const columns = 84;
const rows = 28;
const frameMs = 400;
const lastFrameMs = 5_000;
const cell = { width: 8.4, height: 18 };
const edge = { x: 18, top: 42, bottom: 16 };
const palette = {
  background: "#16181d",
  bar: "#22252c",
  text: "#d6d9e0",
  dim: "#8b92a0",
  // black, red, green, yellow, blue, magenta, cyan, white; then the bright ones
  colours:
    "#5c6370 #f07178 #a3d977 #f2c063 #7aa2f7 #c792ea #6bd1c7 #d6d9e0 #7d8594 #ff8b92 #b8ec8c #ffd479 #9ab8ff #d9a8ff #8ae6dc #ffffff".split(
      " ",
    ),
};

const frames = await record();
writeFileSync(target, svg(frames));
console.log(`${target}: ${frames.length} frames, ${frames.reduce((sum, { ms }) => sum + ms, 0) / 1000} s`);

/** The screen every `frameMs`, as long as it changes, and how long each is shown. */
async function record() {
  const terminal = new headless.Terminal({ cols: columns, rows, allowProposedApi: true });
  const { NO_COLOR: _, ...env } = process.env;
  const program = spawn(process.execPath, [join(root, "dist", "bin.js"), "demo"], {
    name: "xterm-256color",
    cols: columns,
    rows,
    cwd: root,
    env,
  });
  const recorded = [];
  const look = () => {
    const lines = screenOf(terminal);
    const last = recorded.at(-1);
    if (last && last.lines.join("\n") === lines.join("\n")) last.ms += frameMs;
    else if (lines.some((line) => line !== "")) recorded.push({ lines, ms: frameMs });
  };
  program.onData((text) => terminal.write(text));
  const looking = setInterval(look, frameMs);
  const { exitCode } = await new Promise((resolve) => program.onExit(resolve));
  clearInterval(looking);
  if (exitCode !== 0) throw new Error(`dibs demo ended with ${exitCode}`);
  await new Promise((resolve) => terminal.write("", resolve));
  look();
  recorded.at(-1).ms = lastFrameMs;
  return recorded;
}

/** Each line as SVG, in runs of the same style. */
function screenOf(terminal) {
  const buffer = terminal.buffer.active;
  return Array.from({ length: rows }, (_, row) => {
    const line = buffer.getLine(buffer.viewportY + row);
    const runs = [];
    for (let column = 0; column < columns; column++) {
      const at = line?.getCell(column);
      const text = at?.getChars() || " ";
      const style = at ? styleOf(at) : "";
      const last = runs.at(-1);
      // A wide character takes two cells, of which the second is empty.
      if (at?.getWidth() === 0) continue;
      if (last && last.style === style) last.text += text;
      else runs.push({ column, text, style });
    }
    return runs.flatMap(drawn).join("");
  });
}

function styleOf(at) {
  const colour = at.isFgPalette() ? palette.colours[at.getFgColor()] : undefined;
  const rgb = at.isFgRGB() ? `#${at.getFgColor().toString(16).padStart(6, "0")}` : undefined;
  const fill = colour ?? rgb ?? (at.isDim() ? palette.dim : undefined);
  return (fill ? ` fill="${fill}"` : "") + (at.isBold() ? ' font-weight="700"' : "");
}

function drawn({ column, text, style }) {
  const shown = text.trim();
  if (shown === "") return [];
  const before = text.length - text.trimStart().length;
  const x = (column + before) * cell.width;
  const length = [...shown].length * cell.width;
  return [
    `<text x="${fixed(x)}" textLength="${fixed(length)}" xml:space="preserve"${style}>${escaped(shown)}</text>`,
  ];
}

function fixed(number) {
  return String(Math.round(number * 100) / 100);
}

function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function svg(recorded) {
  const size = {
    width: Math.ceil(columns * cell.width + 2 * edge.x),
    height: Math.ceil(rows * cell.height + edge.top + edge.bottom),
  };
  const lines = [...new Set(recorded.flatMap((frame) => frame.lines))].filter((line) => line !== "");
  const ids = new Map(lines.map((line, index) => [line, `l${index}`]));
  const total = recorded.reduce((sum, { ms }) => sum + ms, 0);
  const starts = recorded.map((_, at) => recorded.slice(0, at).reduce((sum, { ms }) => sum + ms, 0));
  const keyframes = starts.map(
    (start, at) => `${fixed((100 * start) / total)}%{transform:translateY(${-at * size.height}px)}`,
  );
  // Where nothing moves, the last frame is shown: the summary.
  const still = -(recorded.length - 1) * size.height;
  const strip = recorded.map(({ lines }, at) => {
    const used = lines.map((line, row) =>
      line === "" ? "" : `<use href="#${ids.get(line)}" y="${fixed((row + 0.75) * cell.height)}"/>`,
    );
    return `<g transform="translate(0 ${at * size.height})">${used.join("")}</g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" fill="${palette.text}" width="${size.width}" height="${size.height}" viewBox="0 0 ${size.width} ${size.height}" role="img" aria-label="A recording of dibs demo: four agents work on tasks, ask a question, fail, and recover from kill -9">
<style>
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
.strip{animation:play ${total}ms steps(1,end) infinite}
@keyframes play{${keyframes.join("")}}
@media(prefers-reduced-motion:reduce){.strip{animation:none}}
</style>
<defs>
<clipPath id="screen"><rect width="${size.width - 2 * edge.x}" height="${size.height - edge.top - edge.bottom}"/></clipPath>
${lines.map((line) => `<g id="${ids.get(line)}">${line}</g>`).join("\n")}
</defs>
<rect width="100%" height="100%" rx="8" fill="${palette.background}"/>
<path d="M0 8a8 8 0 0 1 8-8h${size.width - 16}a8 8 0 0 1 8 8v20H0z" fill="${palette.bar}"/>
<text x="${size.width / 2}" y="19" text-anchor="middle" fill="${palette.dim}">dibs demo</text>
<g transform="translate(${edge.x} ${edge.top})" clip-path="url(#screen)">
<g class="strip" transform="translate(0 ${still})">
${strip.join("\n")}
</g>
</g>
</svg>
`;
}
