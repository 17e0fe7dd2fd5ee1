import { describe, expect, test } from "vitest";
import { operations, registry } from "../../src/contract/registry.js";
import { inputFields, readQuery } from "../../src/surfaces/http/input.js";

const read = (operation: (typeof operations)[number], query: string) =>
  readQuery(operation, new URLSearchParams(query));

/** What a person would type for each field of any query. */
const typed: Record<string, [text: string, value: unknown]> = {
  project: ["web", "web"],
  taskId: ["0001", "0001"],
  taskIds: ["0001,0002", ["0001", "0002"]],
  sessionId: ["agent-1", "agent-1"],
  id: ["web", "web"],
  name: ["merge", "merge"],
  host: ["laptop", "laptop"],
  pid: ["4242", 4242],
  processStartedAt: ["1234567", "1234567"],
  force: ["true", true],
  epoch: ["3", 3],
  order: ["active", "active"],
  limit: ["10", 10],
  cursor: ["100", "100"],
  after: ["42", 42],
  types: ["task:created,task:completed", ["task:created", "task:completed"]],
  state: ["queued,running", ["queued", "running"]],
  label: ["ui", "ui"],
  assignee: ["agent-1", "agent-1"],
  parent: ["0001", "0001"],
  q: ["text", "text"],
  claimable: ["true", true],
  includeExpired: ["1", true],
  unread: ["", true],
  all: ["false", false],
  dead: ["true", true],
  asNew: ["true", true],
  from: ["2026-01-31T12:00:00.000Z", "2026-01-31T12:00:00.000Z"],
  to: ["1769860800000", 1769860800000],
  step: ["hour", "hour"],
  number: ["2", 2],
  repository: ["a".repeat(40), "a".repeat(40)],
  target: ["main", "main"],
  stage: ["review", "review"],
  offset: ["500", 500],
};

describe("query text becomes an operation's input", () => {
  const queries = operations.filter(({ http }) => http.method === "GET" || http.method === "DELETE");

  test.each(queries.map((operation) => [operation.name, operation] as const))("%s", (name, operation) => {
    const fields = [...inputFields(operation).keys()];
    const unknown = fields.filter((field) => !(field in typed));
    expect(
      unknown,
      `${name} has fields that this table does not know: give each a text and its value`,
    ).toEqual([]);
    const query = new URLSearchParams(fields.map((field): [string, string] => [field, typed[field]![0]]));
    const input = readQuery(operation, query);
    expect(input).toEqual(Object.fromEntries(fields.map((field) => [field, typed[field]![1]])));
    expect(operation.input.safeParse(input)).toMatchObject({ success: true });
  });

  test("the address that everybody types", () => {
    const query = "state=queued,running&label=ui&claimable=true&parent=0001&q=text&limit=10";
    const input = read(registry.tasks.list, query);
    expect(registry.tasks.list.input.parse(input)).toEqual({
      state: ["queued", "running"],
      label: "ui",
      claimable: true,
      parent: "0001",
      q: "text",
      limit: 10,
    });
  });

  test("lists come from repeated names, from commas, and from both; words of any case", () => {
    const list = (query: string) => read(registry.tasks.list, query).state;
    expect(list("state=queued&state=running")).toEqual(["queued", "running"]);
    expect(list("state=queued,%20running&state=done")).toEqual(["queued", "running", "done"]);
    expect(list("state=queued")).toEqual(["queued"]);
    expect(list("state=")).toBeUndefined();
    const { state } = registry.tasks.list.input.parse(read(registry.tasks.list, "state=In-Progress,DONE"));
    expect(state).toEqual(["running", "completed"]);
  });

  test("ids stay text, however much they look like numbers", () => {
    expect(read(registry.tasks.list, "parent=0001&q=12&assignee=7&cursor=5")).toEqual({
      parent: "0001",
      q: "12",
      assignee: "7",
      cursor: "5",
    });
  });

  test("an empty text means: a flag is set, no number and no list, the top level", () => {
    expect(read(registry.tasks.list, "claimable&limit=&state=&parent=")).toEqual({
      claimable: true,
      parent: "",
    });
  });

  test.each([
    ["tasks.list", "limit=many", "limit"],
    ["tasks.list", "limit=0", "limit"],
    ["tasks.list", "limit=1.5", "limit"],
    ["tasks.list", "limit=1001", "limit"],
    ["tasks.list", "limit=1&limit=2", "limit"],
    ["tasks.list", "claimable=maybe", "claimable"],
    ["tasks.list", "state=sleeping", "state"],
    ["tasks.list", "project=a&project=b", "project"],
    ["events.list", "after=-1", "after"],
    ["events.list", "types=task:dreamt", "types"],
  ] as const)("%s refuses %s", (name, query, field) => {
    const operation = operations.find((each) => each.name === name)!;
    const result = operation.input.safeParse(read(operation, query));
    expect(result.success).toBe(false);
    expect(result.error!.issues[0]!.path[0]).toBe(field);
  });

  test("what is not a field is ignored, whatever it is called", () => {
    const input = read(registry.tasks.list, "limit=1&__proto__=x&constructor=y&toString=z&sort=title");
    expect(input).toEqual({ limit: 1 });
  });
});
