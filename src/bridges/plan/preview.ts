// What a plan will do, for people: a tree, the waves in which its tasks become claimable, and its longest chain.

import { usesText } from "../../client/view/resources.js";
import { priorityText } from "../../client/view/words.js";
import { plain } from "../../common/text.js";
import { openTasks } from "./batch.js";
import type { Plan, PlannedTask } from "./plan.js";

export interface Preview {
  /** Keys that can be claimed at the same time, wave by wave, if every task takes as long as any other. */
  waves: string[][];
  /** The size of the largest wave. */
  width: number;
  /** Keys, each waiting for the one before. */
  longestChain: string[];
  /** Lines for a terminal, without colour. */
  tree: string[];
}

export function previewPlan(plan: Plan, options: { width?: number } = {}): Preview {
  const order = orderOf(plan);
  const width = Math.max(20, options.width ?? 80);
  const tree = [...treeOf(plan), ...summaryOf(plan, order)].map((line) => cut(line, width));
  return { ...order, tree };
}

type Order = Omit<Preview, "tree">;

interface Place {
  /** The wave it is in, from 1; a group is over with the last of its parts. */
  wave: number;
  isGroup: boolean;
  after: string | undefined;
}

function orderOf(plan: Plan): Order {
  const open = openTasks(plan);
  const waitsFor = new Map(open.map(({ task, dependsOn }) => [task.key, [...dependsOn]]));
  for (const { task, parentKey } of open)
    if (parentKey !== undefined) waitsFor.get(parentKey)?.push(task.key);
  const groups = new Set(open.filter(({ task }) => task.type === "group").map(({ task }) => task.key));
  const places = new Map<string, Place>();
  for (const key of dependenciesFirst([...waitsFor.keys()], waitsFor)) {
    const last = (waitsFor.get(key) ?? []).reduce<string | undefined>((latest, other) => {
      const isLater = (places.get(other)?.wave ?? 0) > (latest === undefined ? -1 : places.get(latest)!.wave);
      return places.has(other) && isLater ? other : latest;
    }, undefined);
    const isGroup = groups.has(key);
    const wave = (last === undefined ? 0 : places.get(last)!.wave) + (isGroup ? 0 : 1);
    places.set(key, { wave, isGroup, after: last });
  }
  return fromPlaces(
    open.map(({ task }) => task.key),
    places,
  );
}

function fromPlaces(keys: string[], places: Map<string, Place>): Order {
  const waves: string[][] = [];
  let end: string | undefined;
  for (const key of keys) {
    const { wave, isGroup } = places.get(key)!;
    if (isGroup) continue;
    while (waves.length < wave) waves.push([]);
    waves[wave - 1]!.push(key);
    if (end === undefined || wave > places.get(end)!.wave) end = key;
  }
  const longestChain: string[] = [];
  for (let key = end; key !== undefined; key = places.get(key)!.after)
    if (!places.get(key)!.isGroup) longestChain.push(key);
  const width = waves.reduce((most, wave) => Math.max(most, wave.length), 0);
  return { waves, width, longestChain: longestChain.reverse() };
}

/** Iteratively: chains may be long. A plan that was read has no cycles; one made by hand is cut at them. */
function dependenciesFirst(keys: string[], waitsFor: Map<string, string[]>): string[] {
  const ordered: string[] = [];
  const seen = new Set<string>();
  for (const start of keys) {
    if (seen.has(start)) continue;
    seen.add(start);
    const path = [{ key: start, next: 0 }];
    while (path.length > 0) {
      const frame = path.at(-1)!;
      const target = waitsFor.get(frame.key)?.[frame.next++];
      if (target === undefined) {
        ordered.push(frame.key);
        path.pop();
      } else if (!seen.has(target)) {
        seen.add(target);
        path.push({ key: target, next: 0 });
      }
    }
  }
  return ordered;
}

function treeOf(plan: Plan): string[] {
  const known = new Set(plan.tasks.map((task) => task.key));
  const parts = new Map<string | undefined, PlannedTask[]>();
  for (const task of plan.tasks) {
    const above = task.parentKey !== undefined && known.has(task.parentKey) ? task.parentKey : undefined;
    const beside = parts.get(above);
    if (beside) beside.push(task);
    else parts.set(above, [task]);
  }
  const lines: string[] = [];
  const write = (task: PlannedTask, lead: string, own: string, below: string) => {
    lines.push(`${lead}${own}${describe(task)}`);
    const children = parts.get(task.key) ?? [];
    for (const [index, child] of children.entries()) {
      const isLast = index === children.length - 1;
      write(child, lead + below, isLast ? "└─ " : "├─ ", isLast ? "   " : "│  ");
    }
  };
  for (const task of parts.get(undefined) ?? []) write(task, "", "", "");
  return lines;
}

function describe(task: PlannedTask): string {
  const { priority = 50 } = task;
  const waits = [...task.dependsOn, ...task.dependsOnIds].map(plain);
  return [
    task.done ? "✓" : "",
    plain(task.key),
    task.type === "group" ? `${plain(task.title)}/` : plain(task.title),
    priority === 50 ? "" : `[${priorityText(priority)}]`,
    task.parentId === undefined ? "" : `in ${plain(task.parentId)}`,
    waits.length > 0 && !task.done ? `← ${waits.slice(0, 20).join(", ")}` : "",
    task.uses && !task.done ? `uses ${plain(usesText(task.uses))}` : "",
    task.done ? "(done, left out)" : "",
  ]
    .filter((part) => part !== "")
    .join("  ");
}

function summaryOf(plan: Plan, { waves, width, longestChain }: Order): string[] {
  const titles = new Map(plan.tasks.map((task) => [task.key, plain(task.title)]));
  const count = waves.reduce((sum, wave) => sum + wave.length, 0);
  const shown = longestChain.slice(0, 50).map((key) => titles.get(key)!);
  const chain = longestChain.length > 1 ? [`longest chain: ${shown.join(" → ")}`] : [];
  const order = waves.slice(0, 50).map((wave) => wave.slice(0, 50).map(plain).join(", "));
  return [
    ...(waves.length > 1 ? [`order: ${order.join(" → ")}`] : []),
    [many(count, "task"), many(waves.length, "wave"), `up to ${width} at once`, ...chain].join(" · "),
  ];
}

const many = (count: number, what: string) => `${count} ${what}${count === 1 ? "" : "s"}`;

// East Asian and emoji characters take two columns of a terminal.
const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;

function cut(line: string, width: number): string {
  let columns = 0;
  let kept = "";
  for (const character of line.slice(0, width * 4)) {
    columns += wide.test(character) ? 2 : /\p{M}/u.test(character) ? 0 : 1;
    if (columns > width) {
      const short = [...kept];
      while (short.length > 0 && columnsOf(short) > width - 1) short.pop();
      return `${short.join("").trimEnd()}…`;
    }
    kept += character;
  }
  return kept;
}

const columnsOf = (characters: string[]) =>
  characters.reduce(
    (sum, character) => sum + (wide.test(character) ? 2 : /\p{M}/u.test(character) ? 0 : 1),
    0,
  );
