import { roles } from "../../../contract/operation.js";
import type { Command } from "../command.js";
import { placeFor } from "../connection.js";
import { type Context, given } from "../context.js";
import type { ServeRequest } from "../parts.js";
import { table } from "../print/table.js";
import { plain } from "../print/text.js";
import { ago } from "../print/time.js";
import { usageError } from "../spec.js";

const logLevels = ["trace", "debug", "info", "warn", "error", "silent"] as const;

const serve: Command["run"] = async (context) => {
  const { parts } = context;
  const port = Number(context.text("port") ?? parts.env.DIBS_PORT ?? 3427);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw usageError(`'${context.text("port")}' is not a port.`, "Take a number from 0 to 65535.");
  }
  const running = await parts.serve({
    ...(await placeFor(context, parts)),
    host: context.text("host") ?? parts.env.DIBS_HOST ?? "127.0.0.1",
    port,
    auth: !context.on("no-auth"),
    allowHosts: context.list("allow-host") ?? [],
    logLevel: (context.text("log-level") ?? "info") as ServeRequest["logLevel"],
    ...given({ retainEventsMs: context.duration("retain-events") }),
  });
  parts.out(`listening on ${running.url}\n`);
  parts.out(`open ${running.link()}\n`);
  if (running.tokenFile) parts.out(`token in ${running.tokenFile}\n`);
  await new Promise<void>((resolve) => {
    if (parts.stopping.aborted) resolve();
    parts.stopping.addEventListener("abort", () => resolve(), { once: true });
  });
  await running.close();
};

const tokenActions: Record<string, Command["run"]> = {
  async create(context) {
    const dibs = await context.dibs();
    const answer = await dibs.tokens.create(
      given({
        name: context.text("name"),
        role: (context.text("role") ?? "worker") as (typeof roles)[number],
        expiresInMs: context.duration("expires"),
      }),
    );
    context.say(answer, () => answer.token ?? "");
  },
  async list(context) {
    const dibs = await context.dibs();
    const answer = await dibs.tokens.list({ limit: 1_000 });
    context.say(answer, (look) =>
      table(
        answer.tokens,
        [
          { head: "ID", of: ({ id }) => id },
          { head: "ROLE", of: ({ role }) => role },
          { head: "NAME", of: ({ name }) => plain(name), grows: true },
          { head: "CREATED", of: ({ createdAt }) => ago(createdAt, look.now) },
          { head: "EXPIRES", of: ({ expiresAt }) => ago(expiresAt, look.now) },
        ],
        look,
      ),
    );
  },
  async revoke(context) {
    const id = needed(context, 1, "The token's id is missing.");
    const answer = await (await context.dibs()).tokens.revoke({ id });
    context.say(answer, () => `revoked ${plain(id)}`);
  },
};

function needed(context: Context, at: number, message: string): string {
  const value = context.args[at];
  if (value === undefined) throw usageError(message);
  return value;
}

export const commands: Record<string, Command> = {
  serve: {
    name: "serve",
    summary: "Run the server: HTTP API, live stream, dashboard",
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
      "log-level": { value: "<level>", choices: logLevels, help: "how much is logged to stderr" },
    },
    run: serve,
  },
  token: {
    name: "token",
    args: "<create|list|revoke> [id]",
    summary: "Make, list and revoke the server's tokens",
    details:
      "A token is shown once, when it is made. Roles: viewer reads, worker also works, leader also answers and cancels, admin also has settings and tokens.",
    flags: {
      name: { value: "<name>", help: "what it is for, shown in the event log" },
      role: { value: "<role>", choices: roles, help: "what it may do, default worker" },
      expires: { value: "<duration>", help: "how long it is good for, such as 30d; default: until revoked" },
    },
    async run(context) {
      const action = tokenActions[context.args[0]!];
      if (!action)
        throw usageError(`'${context.args[0]}' is not known.`, "dibs token create, list or revoke.");
      return action(context);
    },
  },
};
