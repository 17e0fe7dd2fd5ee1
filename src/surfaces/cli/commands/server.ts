import { resolve } from "node:path";
import { type Dialect, dialects, formerDialects } from "../../../bridges/tasks-json/dialect.js";
import { roles } from "../../../contract/operation.js";
import type { Command, SingleCommand } from "../command.js";
import { makeRoom, placeFor, targetFor } from "../connection.js";
import { type Context, given } from "../context.js";
import type { ServeRequest } from "../parts.js";
import { table } from "../print/table.js";
import { plain } from "../print/text.js";
import { ago } from "../print/time.js";
import { variables } from "../settings.js";
import { usageError } from "../spec.js";

const logLevels = ["trace", "debug", "info", "warn", "error", "silent"] as const;

function syncOf(context: Context): ServeRequest["sync"] {
  const named = context.text("sync");
  const dialect = context.text("sync-dialect") as Dialect | undefined;
  if (named !== undefined)
    return { file: resolve(context.parts.cwd, named), ...(dialect === undefined ? {} : { dialect }) };
  if (dialect !== undefined) throw usageError("--sync-dialect needs --sync.");
  return undefined;
}

const serve: SingleCommand["run"] = async (context) => {
  const { parts } = context;
  const named = context.text("port") ?? (parts.env.DIBS_PORT || variables.DIBS_PORT.default);
  const port = /^\d{1,5}$/.test(named) ? Number(named) : Number.NaN;
  if (!(port <= 65_535)) throw usageError(`Port '${named}' must be a number from 0 to 65535.`);
  const options = given({
    retainEventsMs: context.duration("retain-events"),
    retainTasksMs: context.duration("retain-tasks"),
    sync: syncOf(context),
  });
  const place = await placeFor(context, parts);
  if (place.path !== undefined) await makeRoom(place.path, parts);
  const running = await parts.serve({
    ...place,
    ...options,
    host: context.text("host") ?? (parts.env.DIBS_HOST || variables.DIBS_HOST.default),
    port,
    auth: !context.on("no-auth"),
    allowHosts: context.list("allow-host") ?? [],
    ...(context.on("no-land") ? {} : { land: { directory: parts.cwd } }),
    logLevel: (context.text("log-level") ?? "info") as ServeRequest["logLevel"],
  });
  // At once: whoever reads the first line only must not end the server.
  const token = running.tokenFile ? `token in ${running.tokenFile}\n` : "";
  const { url, tokenFile } = running;
  const link = running.link();
  const others = (context.list("allow-host") ?? []).map((name) => linkUnder(name, link));
  context.say({ success: true, url, link, tokenFile }, () =>
    [`listening on ${url}`, `open ${link}`, ...others.map((other) => `or ${other}`), token].join("\n"),
  );
  await new Promise<void>((resolve) => {
    if (parts.stopping.aborted) resolve();
    parts.stopping.addEventListener("abort", () => resolve(), { once: true });
  });
  await running.close();
};

/** The same link, for whoever reaches this machine by another name. */
function linkUnder(name: string, link: string): string {
  const address = new URL(link);
  return link.replace(address.host, /:\d+$/.test(name) ? name : `${name}:${address.port}`);
}

const link: SingleCommand["run"] = async (context) => {
  const target = await targetFor(context, context.parts);
  if (!("server" in target)) {
    throw usageError("No server runs for this database.", "Run: dibs serve, or add --url <url>");
  }
  const { url } = target.server;
  const { code, expiresAt } = await context.parts.signInCode(target.server, context.text("role"));
  const made = `${url.replace(/\/+$/, "")}/#code=${code}`;
  context.say({ success: true, link: made, expiresAt }, () => made);
};

const create: SingleCommand["run"] = async (context) => {
  const input = given({
    name: context.text("name"),
    role: context.text("role") as (typeof roles)[number] | undefined,
    expiresInMs: context.duration("expires"),
    bound: context.on("bound") || undefined,
  });
  const answer = await (await context.dibs()).tokens.create(input);
  context.say(answer, () => answer.token ?? "");
};

const list: SingleCommand["run"] = async (context) => {
  const answer = await (await context.dibs()).tokens.list({ limit: context.number("limit") ?? 1_000 });
  context.say(answer, (display) =>
    answer.tokens.length === 0
      ? "No tokens."
      : table(
          // Their ids are random.
          answer.tokens.toSorted((a, b) => Date.parse(a.createdAt) - Date.parse(b.createdAt)),
          [
            { head: "ID", of: ({ id }) => id },
            { head: "ROLE", of: ({ role }) => role },
            { head: "NAME", of: ({ name }) => plain(name), grows: true },
            { head: "CREATED", of: ({ createdAt }) => ago(createdAt, display.now) },
            { head: "EXPIRES", of: ({ expiresAt }) => ago(expiresAt, display.now) || "never" },
          ],
          display,
        ),
  );
};

export const commands: Record<string, Command> = {
  serve: {
    name: "serve",
    createsStore: true,
    summary: "Run the server: HTTP API, dashboard, events, MCP",
    flags: {
      port: { value: "<port>", help: "port (DIBS_PORT); default 3427, 0 for any free port" },
      host: { value: "<address>", help: "address to listen on (DIBS_HOST); default 127.0.0.1" },
      "no-auth": { help: "require no token; on loopback only" },
      "allow-host": {
        value: "<host>",
        many: true,
        help: "additional host name of the server; repeatable",
      },
      "retain-events": {
        value: "<duration>",
        help: "archive events older than this, such as 90d; default: keep all",
      },
      "retain-tasks": {
        value: "<duration>",
        help: "archive tasks that ended longer ago than this, such as 90d; default: keep all",
      },
      sync: { value: "<file>", help: "tasks.json to sync with the project; see dibs sync" },
      "sync-dialect": {
        value: "<name>",
        choices: dialects,
        former: formerDialects,
        help: "field names of new tasks in that file",
      },
      "no-land": { help: "do not land what is submitted; see dibs land" },
      "log-level": {
        value: "<level>",
        choices: logLevels,
        help: "log level on stderr; default info (changes), debug adds every request",
      },
    },
    exits: { 0: "stopped", 1: "a server already runs on this database" },
    examples: [
      "dibs serve",
      "dibs serve --port 0 --log-level warn",
      "dibs serve --host 0.0.0.0 --allow-host dibs.example.com",
    ],
    run: serve,
  },
  token: {
    name: "token",
    summary: "Create, list and revoke tokens, and sign-in links for browsers",
    details:
      "Roles: viewer reads, worker also works on tasks, leader also answers and cancels, admin also changes settings and tokens.",
    parts: {
      create: {
        name: "token create",
        summary: "create a token; it is printed only once",
        flags: {
          name: { value: "<name>", help: "name, shown in the event log" },
          role: { value: "<role>", choices: roles, help: "role; default worker" },
          expires: {
            value: "<duration>",
            help: "lifetime, such as 30d; default: until revoked",
          },
          bound: { help: "revoke it together with the token that created it" },
        },
        exits: { 1: "the token exists" },
        examples: ["dibs token create --name ci --role worker --expires 30d"],
        run: create,
      },
      list: {
        name: "token list",
        reads: true,
        summary: "list tokens",
        flags: { limit: { value: "<n>", help: "maximum number of results" } },
        examples: ["dibs token list"],
        run: list,
      },
      link: {
        name: "token link",
        summary: "create a sign-in link for a browser; it works once, for ten minutes",
        flags: {
          role: {
            value: "<role>",
            choices: roles,
            help: "role of the browser; default: the role of your token",
          },
        },
        examples: ["dibs token link", "dibs token link --role viewer"],
        run: link,
      },
      revoke: {
        name: "token revoke",
        args: "<id>",
        summary: "revoke a token immediately",
        examples: ['dibs token revoke "$TOKEN_ID"'],
        async run(context) {
          const id = context.args[0]!;
          const answer = await (await context.dibs()).tokens.revoke({ id });
          context.say(answer, () => `revoked ${plain(id)}`);
        },
      },
    },
  },
};
