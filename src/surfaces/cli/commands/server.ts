import { resolve } from "node:path";
import { type Dialect, dialects } from "../../../bridges/tasks-json/dialect.js";
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
  if (dialect !== undefined)
    throw usageError("--sync-dialect is about the file of --sync, which is missing.");
  return undefined;
}

const serve: SingleCommand["run"] = async (context) => {
  const { parts } = context;
  const named = context.text("port") ?? (parts.env.DIBS_PORT || variables.DIBS_PORT.default);
  const port = /^\d{1,5}$/.test(named) ? Number(named) : Number.NaN;
  if (!(port <= 65_535)) throw usageError(`'${named}' is not a port.`, "Take a number from 0 to 65535.");
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
    throw usageError(
      "No server runs for this database.",
      "Start one with dibs serve, or name one with --url.",
    );
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
  context.say(answer, (look) =>
    answer.tokens.length === 0
      ? "No tokens."
      : table(
          // Their ids are random.
          answer.tokens.toSorted((a, b) => Date.parse(a.createdAt) - Date.parse(b.createdAt)),
          [
            { head: "ID", of: ({ id }) => id },
            { head: "ROLE", of: ({ role }) => role },
            { head: "NAME", of: ({ name }) => plain(name), grows: true },
            { head: "CREATED", of: ({ createdAt }) => ago(createdAt, look.now) },
            { head: "EXPIRES", of: ({ expiresAt }) => ago(expiresAt, look.now) || "never" },
          ],
          look,
        ),
  );
};

export const commands: Record<string, Command> = {
  serve: {
    name: "serve",
    createsStore: true,
    summary: "Run the server: HTTP API, live stream, MCP, a page to watch",
    flags: {
      port: { value: "<port>", help: "port to listen on, default 3427; 0 takes a free one" },
      host: { value: "<address>", help: "address to listen on, default 127.0.0.1" },
      "no-auth": { help: "ask for no token; on loopback only" },
      "allow-host": {
        value: "<host>",
        many: true,
        help: "further Host names under which the server is reached",
      },
      "retain-events": {
        value: "<duration>",
        help: "archive events older than this, such as 90d; default: keep all",
      },
      "retain-tasks": {
        value: "<duration>",
        help: "archive tasks that ended longer ago, such as 90d; default: keep all",
      },
      sync: { value: "<file>", help: "a tasks.json to keep in step with the project, see dibs sync" },
      "sync-dialect": { value: "<name>", choices: dialects, help: "its names for new tasks" },
      "log-level": {
        value: "<level>",
        choices: logLevels,
        help: "how much is logged to stderr (default info: changes; debug: every request)",
      },
    },
    exits: { 0: "it was told to end", 1: "a server runs on this database already" },
    examples: [
      "dibs serve",
      "dibs serve --port 0 --log-level warn",
      "dibs serve --host 0.0.0.0 --allow-host dibs.example.com",
    ],
    run: serve,
  },
  token: {
    name: "token",
    summary: "Make, list and revoke the server's tokens, and links for browsers",
    details:
      "Roles: viewer reads, worker also works, leader also answers and cancels, admin also has settings and tokens.",
    parts: {
      create: {
        name: "token create",
        summary: "make a token; it is shown this once",
        flags: {
          name: { value: "<name>", help: "what it is for, shown in the event log" },
          role: { value: "<role>", choices: roles, help: "what it may do, default worker" },
          expires: {
            value: "<duration>",
            help: "how long it is good for, such as 30d; default: until revoked",
          },
          bound: { help: "it ends with the token that made it" },
        },
        exits: { 1: "there is such a token" },
        examples: ["dibs token create --name ci --role worker --expires 30d"],
        run: create,
      },
      list: {
        name: "token list",
        reads: true,
        summary: "list the tokens",
        flags: { limit: { value: "<n>", help: "how many at most" } },
        examples: ["dibs token list"],
        run: list,
      },
      link: {
        name: "token link",
        summary: "make a link that signs a browser in, once, within ten minutes",
        flags: {
          role: { value: "<role>", choices: roles, help: "what it lets do, default: what your token may" },
        },
        examples: ["dibs token link", "dibs token link --role viewer"],
        run: link,
      },
      revoke: {
        name: "token revoke",
        args: "<id>",
        summary: "revoke a token: it is refused at once",
        examples: ["dibs token revoke 3f9a1c"],
        async run(context) {
          const id = context.args[0]!;
          const answer = await (await context.dibs()).tokens.revoke({ id });
          context.say(answer, () => `revoked ${plain(id)}`);
        },
      },
    },
  },
};
