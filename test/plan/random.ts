// Random plans and how an author would write them in each format.

import fc from "fast-check";

export interface Written {
  title: string;
  /** The place of its parent in the list. */
  parent?: number;
  depth: number;
  description: string;
  priority?: number;
  labels: string[];
  files: string[];
  assignee?: string;
  done: boolean;
  /** Places in the list, all before its own. */
  waits: number[];
}

const reserved = /^(none|nothing|no|nil|null|na|task|step|item|all|the|previous|above)\b/i;
const title = fc.stringMatching(/^[A-Z][a-z]{2,8}( [a-z]{2,8}){0,3}$/).filter((text) => !reserved.test(text));
const sentence = fc.stringMatching(/^[A-Z][a-z]{2,8}( [a-z]{2,8}){1,6}[.!]$/);
const word = fc.stringMatching(/^[a-z]{3,10}$/);

const draft = fc.record({
  title,
  deeper: fc.integer({ min: 0, max: 3 }),
  lines: fc.array(sentence, { maxLength: 3 }),
  priority: fc.option(fc.integer({ min: 6, max: 100 }), { nil: undefined }),
  labels: fc.uniqueArray(word, { maxLength: 3 }),
  files: fc.uniqueArray(
    word.map((name) => `src/${name}.ts`),
    { maxLength: 3 },
  ),
  assignee: fc.option(word, { nil: undefined }),
  isDone: fc.boolean(),
  waits: fc.array(fc.nat(), { maxLength: 3 }),
});

/** A task waits for earlier ones that are not above it, so that there is no cycle. */
export const plans: fc.Arbitrary<Written[]> = fc
  .uniqueArray(draft, { minLength: 1, maxLength: 12, selector: (each) => each.title.toLowerCase() })
  .map((drafts) => {
    const above: number[] = [];
    return drafts.map((each, index): Written => {
      above.length = Math.min(above.length, each.deeper);
      const ancestors = [...above];
      above.push(index);
      const others = drafts.slice(0, index).flatMap((_, at) => (ancestors.includes(at) ? [] : [at]));
      const isLeaf = (drafts[index + 1]?.deeper ?? 0) <= ancestors.length;
      return {
        title: each.title,
        depth: ancestors.length,
        ...(ancestors.length > 0 && { parent: ancestors.at(-1)! }),
        description: each.lines.join("\n"),
        ...(each.priority !== undefined && { priority: each.priority }),
        labels: each.labels,
        files: each.files,
        ...(each.assignee !== undefined && { assignee: each.assignee }),
        done: isLeaf && each.isDone,
        waits: others.length === 0 ? [] : [...new Set(each.waits.map((n) => others[n % others.length]!))],
      };
    });
  });

const titles = (plan: Written[], places: number[]) => places.map((at) => plan[at]!.title).join(", ");

export function asText(plan: Written[]): string {
  const blocks = plan.map((task) => {
    const lines = [`TASK: ${task.title}`, `DESCRIPTION: ${task.description}`];
    if (task.parent !== undefined) lines.push(`PARENT: ${plan[task.parent]!.title}`);
    if (task.priority !== undefined) lines.push(`PRIORITY: ${task.priority}`);
    lines.push(`LABELS: ${task.labels.join(", ") || "none"}`, `FILES: ${task.files.join(", ")}`);
    if (task.assignee) lines.push(`ASSIGNEE: @${task.assignee}`);
    if (task.done) lines.push("STATUS: done");
    lines.push(`DEPENDS_ON: ${titles(plan, task.waits) || "none"}`);
    return lines.join("\n");
  });
  return `The plan:\n\n${blocks.join("\n\n")}\n`;
}

export function asMarkdown(
  plan: Written[],
  { indent, isInline }: { indent: string; isInline: boolean },
): string {
  return plan
    .flatMap((task) => {
      const lead = indent.repeat(task.depth);
      const below = lead + indent;
      const beside: string[] = [];
      const fields: string[] = [];
      if (task.priority !== undefined) beside.push(`(priority: ${task.priority})`);
      beside.push(...task.labels.map((label) => `#${label}`));
      if (task.assignee) beside.push(`@${task.assignee}`);
      if (task.files.length > 0) (isInline ? beside : fields).push(`files: ${task.files.join(", ")}`);
      if (task.waits.length > 0) (isInline ? beside : fields).push(`depends on: ${titles(plan, task.waits)}`);
      const text = task.description ? task.description.split("\n").map((line) => below + line) : [];
      return [
        `${lead}- [${task.done ? "x" : " "}] ${[task.title, ...beside].join(" ")}`,
        ...text,
        ...fields.map((field) => `${below}- ${field}`),
      ];
    })
    .join("\n");
}

export function asJson(plan: Written[], { isNested }: { isNested: boolean }): string {
  const node = (task: Written, index: number): object => ({
    key: `k${index}`,
    title: task.title,
    ...(task.description && { description: task.description }),
    ...(task.priority !== undefined && { priority: task.priority }),
    labels: task.labels,
    files: task.files,
    ...(task.assignee && { assignee: task.assignee }),
    status: task.done ? "done" : "pending",
    dependsOn: task.waits.map((at) => (at % 2 === 0 ? `k${at}` : plan[at]!.title)),
    ...(isNested
      ? { children: plan.flatMap((child, at) => (child.parent === index ? [node(child, at)] : [])) }
      : task.parent !== undefined && { parentId: `k${task.parent}` }),
  });
  const tasks = plan.flatMap((task, index) =>
    isNested && task.parent !== undefined ? [] : [node(task, index)],
  );
  return JSON.stringify({ tasks }, null, 2);
}
