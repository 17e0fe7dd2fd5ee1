import { type Command, Option } from "commander";
import { DibsError } from "../../contract/error.js";
import { durationMs } from "./durations.js";
import type { Parts, ServeRequest } from "./parts.js";
import { type PlaceFlags, placeFor } from "./place.js";

interface ServeFlags extends PlaceFlags {
  host: string;
  port: string;
  auth: boolean;
  allowHost: string[];
  retainEvents?: string;
  logLevel: ServeRequest["logLevel"];
}

export function addServe(program: Command, parts: Parts): void {
  program
    .command("serve")
    .description("run the server: HTTP API, live stream, dashboard")
    .option("--port <port>", "port to listen on; 0 takes a free one", parts.env.DIBS_PORT ?? "3427")
    .option("--host <address>", "address to listen on", parts.env.DIBS_HOST ?? "127.0.0.1")
    .option("--no-auth", "ask for no token; on loopback only")
    .option("--allow-host <host...>", "further Host names under which the server is reached", [])
    .option("--retain-events <duration>", "archive events older than this, such as 90d; default: keep all")
    .addOption(
      new Option("--log-level <level>", "how much is logged to stderr")
        .choices(["trace", "debug", "info", "warn", "error", "silent"])
        .default("info"),
    )
    .action(async (_flags, command: Command) => serve(command.optsWithGlobals<ServeFlags>(), parts));
}

async function serve(flags: ServeFlags, parts: Parts): Promise<void> {
  const port = Number(flags.port);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new DibsError("VALIDATION_FAILED", `'${flags.port}' is not a port.`, {
      hint: "Take a number from 0 to 65535.",
    });
  }
  const running = await parts.serve({
    ...(await placeFor(flags, parts)),
    host: flags.host,
    port,
    auth: flags.auth,
    allowHosts: flags.allowHost,
    logLevel: flags.logLevel,
    ...(flags.retainEvents && { retainEventsMs: durationMs(flags.retainEvents) }),
  });
  parts.out(`listening on ${running.url}\n`);
  parts.out(`open ${running.link()}\n`);
  if (running.tokenFile) parts.out(`token in ${running.tokenFile}\n`);
  await parts.stopped();
  await running.close();
}
