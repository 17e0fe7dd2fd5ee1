// Random requests made from the OpenAPI document: mostly what it allows, with ids that are there, and now and then what it forbids.
// Each answer is one that the document has (`send` looks), none is a defect of ours, and the store is intact afterwards.

import { expect, test } from "vitest";
import { openApiDocument } from "../../src/surfaces/http/openapi.js";
import {
  jsonType,
  lookUp,
  type OperationObject,
  type ParameterObject,
} from "../../src/surfaces/http/openapi-types.js";
import type { Schema } from "../../src/surfaces/http/schema.js";
import { checkStore } from "../faults/support.js";
import { seeded } from "../postgres/support.js";
import { amount, report } from "../proof/figures.js";
import { databaseOf, type Sending, type Sent, send, setTheStage } from "./security-support.js";
import { on } from "./support.js";

const requests = amount("REQUESTS", 400);
const connections = 8;
/** Requests that wait for something wait so long at most. */
const waitMsMax = 20;

const document = openApiDocument({ version: "test" });
const routes = Object.entries(document.paths)
  .filter(([path]) => path.startsWith("/api/") && path !== "/api/events/stream")
  // It would end the session of this test.
  .filter(([path]) => !path.startsWith("/api/auth/"))
  .flatMap(([path, byMethod]) =>
    Object.entries(byMethod).map(([method, operation]) => ({
      path,
      method: method.toUpperCase(),
      operation,
    })),
  );

const hostileTexts = [
  "",
  " ",
  "\0",
  "\ud800",
  "é".repeat(5_000),
  "'; DROP TABLE task; --",
  "../../etc/passwd",
  "__proto__",
  "constructor",
  "{{prompt}}",
  "\u001b[31m",
];
const hostile: readonly unknown[] = [
  ...hostileTexts,
  null,
  true,
  -1,
  1.5,
  1e308,
  2 ** 53,
  [],
  {},
  [[[[[]]]]],
  { __proto__: null, toString: 1 },
  Array(2_000).fill("x"),
];

class Requests {
  private readonly ids = ["demo", "*", "test-db", "main", "tests", "1"];

  constructor(private readonly random: () => number) {}

  private below = (count: number) => Math.floor(this.random() * count);
  private one = <T>(list: readonly T[]): T => list[this.below(list.length)]!;
  private often = (share: number) => this.random() < share;

  /** Ids in answers are used in later requests. */
  learn(body: unknown): void {
    if (typeof body !== "object" || body === null) return;
    for (const [key, value] of Object.entries(body)) {
      const isId = /^(id|taskId|sessionId|name|nextCursor)$/.test(key) && typeof value === "string";
      if (isId && !this.ids.includes(value)) this.ids.push(value);
      else this.learn(value);
    }
    if (this.ids.length > 200) this.ids.splice(6, 50);
  }

  next(): Sending {
    const { path, method, operation } = this.one(routes);
    const parameters = (operation.parameters ?? []).map((each) => lookUp<ParameterObject>(document, each));
    const query = new URLSearchParams();
    const headers: Record<string, string> = {};
    for (const { name, in: place, required, schema } of parameters) {
      if (place === "path" || !(required || this.often(0.3))) continue;
      const value = this.text(name, schema);
      if (place === "query") query.append(name, value);
      else if (/^[\x20-\x7e]{1,200}$/.test(value)) headers[name] = value;
    }
    const filled = path.replace(/\{(\w+)\}/g, () => encodeURIComponent(this.inAddress(this.id())));
    const body = this.body(operation);
    const asked = query.size > 0 ? `?${query}` : "";
    return { method, path: `${filled}${asked}`, headers, ...(body === undefined ? {} : { body }) };
  }

  private body({ requestBody }: OperationObject): string | undefined {
    const schema = requestBody?.content[jsonType]?.schema;
    if (!schema || !(requestBody.required || this.often(0.95))) return undefined;
    const text = JSON.stringify(this.value(schema, "", 0)) ?? "";
    return this.often(0.02) ? text.slice(0, this.below(text.length)) : text;
  }

  private id = () => (this.often(0.05) ? this.one(hostileTexts) : this.one(this.ids));
  /** What is longer is refused before it is routed. */
  private inAddress = (text: string) => text.slice(0, 300).toWellFormed();

  private text(name: string, schema: Schema): string {
    const value = this.value(schema, name, 0);
    return this.inAddress(typeof value === "object" ? JSON.stringify(value) : String(value));
  }

  private value(shape: Schema, name: string, depth: number): unknown {
    if (name === "waitMs") return this.below(waitMsMax);
    if (this.often(0.03)) return this.one(hostile);
    if (shape.$ref) {
      const named = shape.$ref.split("/").at(-1)!;
      if (["Id", "Word"].includes(named)) return this.id();
      return this.value(lookUp(document, { $ref: shape.$ref }), name, depth);
    }
    if (shape.anyOf) return this.value(this.one(shape.anyOf), name, depth);
    if (shape.const !== undefined) return shape.const;
    if (shape.enum) return this.one(shape.enum);
    if (shape.format === "date-time") return new Date(Date.now() + this.below(100_000)).toISOString();
    switch (shape.type) {
      case "object":
        return this.object(shape, depth);
      case "array":
        return Array.from({ length: this.below(depth > 2 ? 2 : 4) }, () =>
          this.value(shape.items ?? {}, "", depth + 1),
        );
      case "integer":
      case "number":
        return this.number(shape);
      case "boolean":
        return this.often(0.5);
      case "null":
        return null;
      case "string":
        return this.often(0.5) ? this.id() : `text ${this.below(1_000)}`;
      default:
        return this.one(hostile);
    }
  }

  private object({ properties = {}, required = [], additionalProperties }: Schema, depth: number): object {
    const entries = Object.entries(properties)
      .filter(([name]) => required.includes(name) || this.often(depth === 0 ? 0.35 : 0.2))
      .map(([name, shape]) => [name, this.value(shape, name, depth + 1)] as const);
    if (typeof additionalProperties === "object")
      entries.push([this.id(), this.value(additionalProperties, "", depth + 1)]);
    if (this.often(0.02)) entries.push(["unheardOf", 1]);
    return Object.fromEntries(entries.filter(() => !this.often(0.01)));
  }

  private number({ minimum = 0, maximum = 1_000 }: Schema): number {
    if (this.often(0.1)) return this.one([minimum, maximum, minimum - 1, maximum + 1]);
    return minimum + this.below(Math.min(maximum - minimum, 1_000) + 1);
  }
}

test(
  "random requests are answered as documented, and leave the store intact",
  on("sqlite", async (world) => {
    const made = new Requests(seeded("fuzz.test.ts"));
    const { worker } = await setTheStage(world);
    made.learn((await world.get("/api/tasks?project=*")).body);
    made.learn((await world.get("/api/sessions?project=*")).body);
    const statuses = new Map<number, number>();
    let left = requests;
    const connection = async () => {
      while (left-- > 0) {
        const request = made.next();
        const token = left % 4 === 0 ? { token: worker } : {};
        const sent: Sent = await send(world, { ...request, ...token });
        const what = `${request.method} ${request.path} ${String(request.body).slice(0, 2_000)}`;
        expect(sent.status, `${what}\n${sent.text}`).toBeLessThan(500);
        statuses.set(sent.status, (statuses.get(sent.status) ?? 0) + 1);
        made.learn(sent.body);
      }
    };
    await Promise.all(Array.from({ length: connections }, connection));
    expect((await send(world, { method: "GET", path: "/readyz", token: null })).status).toBe(200);
    await checkStore(databaseOf(world));
    const accepted = [...statuses]
      .filter(([status]) => status < 300)
      .reduce((sum, [, count]) => sum + count, 0);
    // Otherwise only the door was tried.
    expect(accepted).toBeGreaterThan(requests / 10);
    report("requests", { requests, "of them accepted": accepted });
  }),
);
