// What a heading, a list, an item or a line of a Markdown document says about being a task.

import type { Field } from "./field-names.js";
import { type FieldLine, fieldLine, isCriteria, isPlausible } from "./fields.js";
import { readInline } from "./inline.js";
import { newTask } from "./plan.js";
import { bareLine } from "./remarks.js";
import { Report } from "./report.js";
import { attributes, bareOf } from "./section-names.js";
import {
  childrenOf,
  type HeadingNode,
  type ItemNode,
  isAbout,
  isThrough,
  type List,
  type Node,
  type Root,
} from "./tree.js";
import { waitsInLine } from "./waits.js";

/** The field that a line sets on the task it belongs to. */
export function fieldOf(node: Node): FieldLine | undefined {
  if (node.kind !== "text" && node.kind !== "item" && node.kind !== "label") return undefined;
  if (node.kind === "item" && node.item.box) return undefined;
  const { text } = node.lines[0]!;
  if (isCriteria(text)) return undefined;
  const field = fieldLine(text);
  return field && isPlausible(field) ? field : undefined;
}

interface ListFacts {
  /** How much it looks like a list of tasks: numbered, in bold. */
  rank: number;
  hasBoxes: boolean;
  /** Each item has a box or boxes below it. */
  areAllBoxed: boolean;
  /** Boxes in it or below it, or something that only tasks have. */
  hasEvidence: boolean;
}

const known = new WeakMap<List, ListFacts>();

/** Looked up once per list: lists are long. */
export function factsOf(list: List): ListFacts {
  const facts = known.get(list) ?? readFacts(list);
  known.set(list, facts);
  return facts;
}

function readFacts({ items }: List): ListFacts {
  const unnamed = items.filter((each) => fieldOf(each) === undefined);
  const isBold = unnamed.length > 0 && unnamed.every(({ item }) => /^(?:\*\*|__)\S/.test(item.text));
  const hasBoxes = items.some(({ item }) => item.box !== undefined);
  return {
    rank: (items[0]!.item.number === undefined ? 0 : 1) + (isBold ? 1 : 0),
    hasBoxes,
    areAllBoxed: items.every((each) => each.item.box || each.hasBoxBelow),
    hasEvidence:
      hasBoxes ||
      items.some(
        (each) =>
          each.hasBoxBelow ||
          (fieldOf(each) === undefined && saysWaits(each.item.text)) ||
          each.children.some((child) => fieldOf(child)?.field === "dependsOn"),
      ),
  };
}

export const hasBoxes = (list: List) => factsOf(list).hasBoxes;
export const rankOf = (list: List) => factsOf(list).rank;
export const hasEvidence = (list: List) => factsOf(list).hasEvidence;

const hint = /depend|after|block|needs|wait|nach|abh|après|dépend|después|依|前置|之后|後|→|←|->/i;

/** It says what it waits for, and that can only be a task. */
export function saysWaits(text: string): boolean {
  // Nothing but `(after 1)` is said about the task above.
  if (!hint.test(text) || isOnlyWaits(text)) return false;
  const scratch = newTask({ line: 1, column: 1 });
  readInline(text, scratch, scratch.at, new Report());
  return scratch.references.some((each) => !each.guess || /^(?:#|task |step )?\d/i.test(each.text));
}

export const isOnlyWaits = (text: string) => {
  const [first, ...more] = waitsInLine(bareLine(text));
  return first?.isWhole === true && first.rest === "" && more.length === 0;
};

export function isAttribute(node: ItemNode): boolean {
  const bare = bareOf(node.item.text);
  if (fieldOf(node) || isAbout(node.item.text) || attributes.test(bare) || isOnlyWaits(node.item.text))
    return true;
  if (/^~?\d{1,4}(?:[.,]\d)?\s?(?:m|min|h|hr|hours?|d|days?|w|weeks?|pts?|points?)$/i.test(bare)) return true;
  return /[:：]\s*$/.test(node.item.text) && !isThrough(node.item.text);
}

/** With one of these below it, a heading is more than a heading. */
const strongFields = new Set<Field>([
  "dependsOn",
  "blocks",
  "requires",
  "files",
  "priority",
  "prompt",
  "timeout",
  "maxRetries",
  "assignee",
]);

export function hasStrongFields(heading: HeadingNode): boolean {
  if (saysWaits(heading.text)) return true;
  const isLeaf = !heading.children.some(
    (child) => child.kind === "heading" || (child.kind === "item" && !fieldOf(child)),
  );
  return heading.children.some((child) => {
    const field = fieldOf(child)?.field;
    return field !== undefined && (strongFields.has(field) || (isLeaf && field === "description"));
  });
}

export function* unboxedLists(root: Root): Iterable<List> {
  const seen = new Set<List>();
  const stack: Node[] = [...root.children];
  for (let node = stack.pop(); node; node = stack.pop()) {
    if (node.kind === "item" && !seen.has(node.list)) {
      seen.add(node.list);
      if (node.list.items.every((each) => !each.item.box)) yield node.list;
    }
    stack.push(...childrenOf(node));
  }
}

/** `Step 1: …`, how to do a task. */
export const isStep = (text: string) => /^(?:\*\*|__)?step \d/i.test(text);
export const isTaskName = (text: string) => /^(?:\*\*|__)?task\b/i.test(text);
/** A line in bold such as `**Step 1: Write the test**` below `### Task 3: …`. */
export const isStepBelow = (heading: HeadingNode, parent: HeadingNode) =>
  heading.level > 6 && isStep(heading.text) && isTaskName(parent.text);
