import { budgetTexts, stateText, unitsText } from "../../../client/view/resources.js";
import { type Budget, budgetPeriods, budgetUnits } from "../../../contract/resources/set.js";
import type { WireResource } from "../../../contract/shapes.js";
import type { Command, SingleCommand } from "../command.js";
import { type Context, given } from "../context.js";
import type { Display } from "../print/display.js";
import { table } from "../print/table.js";
import { plain } from "../print/text.js";
import { usageError } from "../spec.js";

/** `20usd/day`; an empty value: none. */
function budgetsOf(context: Context): Budget[] | undefined {
  return context.list("budget")?.map((text) => {
    const [, amount, unit, period] = /^(\d+(?:\.\d+)?)([a-z]+)\/([a-z]+)$/.exec(text) ?? [];
    const isKnown =
      budgetUnits.some((each) => each === unit) && budgetPeriods.some((each) => each === period);
    if (!isKnown) {
      throw usageError(
        `--budget must be an amount per period, not '${text}'.`,
        `For example: --budget 20usd/day. Units: ${budgetUnits.join(", ")}. Periods: ${budgetPeriods.join(", ")}.`,
      );
    }
    return { amount: Number(amount), unit, period } as Budget;
  });
}

function capacityOf(context: Context): number | null | undefined {
  return context.text("capacity") === "" ? null : context.number("capacity");
}

/** With zone, or in the local one. */
function untilOf(context: Context): string | undefined {
  const text = context.text("until");
  if (text === undefined) return undefined;
  const at = Date.parse(text);
  if (!Number.isNaN(at) && !/^\d+$/.test(text)) return new Date(at).toISOString();
  if (/^\d/.test(text)) return new Date(context.parts.now() + context.duration("until")!).toISOString();
  throw usageError(
    `--until must be a time or a duration, not '${text}'.`,
    "For example: --until 2030-01-31T12:00Z, or --until 2h",
  );
}

function listText(resources: WireResource[], display: Display): string {
  if (resources.length === 0) return "No resources. Run: dibs resource set test-db --capacity 2";
  return table(
    resources,
    [
      { head: "RESOURCE", of: ({ id }) => plain(id), max: 32 },
      { head: "IN USE", of: unitsText },
      { head: "WAITING", of: ({ waiting }) => String(waiting) },
      { head: "BUDGET", of: (each) => budgetTexts(each).join(", ") },
      { head: "STATE", of: (each) => plain(stateText(each, display.now)), grows: true },
    ],
    display,
  );
}

const list: SingleCommand["run"] = async (context) => {
  const answer = await (await context.dibs()).resources.list();
  context.say(answer, (display) => listText(answer.resources, display));
};

const onResource = (context: Context) => ({ id: context.args[0]! });

const said = (verb: string, { id, state, holds }: WireResource) => {
  const ends = holds.map(({ until }) => until ?? "").sort();
  // One of them can be without an end.
  const until = state === "held" && ends[0] !== "" ? ends.at(-1) : undefined;
  return `${verb} ${plain(id)}${until === undefined ? "" : ` until ${until}`}`;
};

export const commands: Record<string, Command> = {
  resource: {
    name: "resource",
    summary: "Set, list, hold, resume and remove resources",
    details:
      "A resource is what agents share and run out of: an account with a quota, a budget, a test database. Tasks, sessions and projects say what they use; a claim is granted only if all of it is free.",
    parts: {
      set: {
        name: "resource set",
        args: "<id>",
        summary: "create a resource, or change its capacity and budgets",
        flags: {
          capacity: {
            value: "<n>",
            help: 'number of units; default: no limit, or as before; "" for no limit',
          },
          budget: {
            value: "<amount>",
            many: true,
            help: 'amount per period, such as 20usd/day, 90minutes/week or 1000000tokens/total; repeatable; "" for none',
          },
        },
        examples: ["dibs resource set test-db --capacity 2", "dibs resource set claude --budget 20usd/day"],
        async run(context) {
          const input = given({ capacity: capacityOf(context), budgets: budgetsOf(context) });
          const answer = await (await context.dibs()).resources.set({ ...onResource(context), ...input });
          context.say(answer, () => said("set", answer.resource));
        },
      },
      list: {
        name: "resource list",
        reads: true,
        summary: "list resources",
        examples: ["dibs resource list"],
        run: list,
      },
      hold: {
        name: "resource hold",
        args: "<id>",
        summary: "stop granting a resource; running tasks continue",
        details: "Without --until or --for the hold ends with dibs resource resume.",
        flags: {
          until: { value: "<time>", help: "when the hold ends: an ISO time or a duration" },
          for: { value: "<duration>", help: "how long the hold lasts, such as 2h" },
          reason: { value: "<text>", help: "reason to show to people and agents" },
        },
        examples: ["dibs resource hold test-db --for 30m --reason maintenance"],
        async run(context) {
          if (context.text("until") !== undefined && context.text("for") !== undefined)
            throw usageError("--until and --for cannot be combined.");
          const input = given({
            until: untilOf(context),
            forMs: context.duration("for"),
            reason: context.text("reason"),
          });
          const answer = await (await context.dibs()).resources.hold({ ...onResource(context), ...input });
          context.say(answer, () => said("held", answer.resource));
        },
      },
      resume: {
        name: "resource resume",
        args: "<id>",
        summary: "end the holds of a resource",
        details: "A budget that is spent holds the resource no more in this period.",
        examples: ["dibs resource resume test-db"],
        async run(context) {
          const answer = await (await context.dibs()).resources.resume(onResource(context));
          const { id, state } = answer.resource;
          // True also if it was not held before.
          context.say(answer, () =>
            state === "held" ? said("resumed", answer.resource) : `${plain(id)} is not held`,
          );
        },
      },
      remove: {
        name: "resource remove",
        args: "<id>",
        summary: "remove a resource that nothing uses",
        exits: { 1: "a claim, an open task, a live session or a project uses it" },
        examples: ["dibs resource remove test-db"],
        async run(context) {
          const answer = await (await context.dibs()).resources.remove(onResource(context));
          context.say(answer, () => `removed ${plain(answer.id)}`);
        },
      },
    },
  },
  resources: {
    name: "resources",
    reads: true,
    summary: "List resources: units in use, holds, spent budgets, waiting tasks",
    examples: ["dibs resources"],
    run: list,
  },
};
