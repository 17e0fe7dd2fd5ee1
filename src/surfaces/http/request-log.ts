// What is logged of a request: changes at info, other requests at debug, failures of the server above.

import { operations } from "../../contract/registry.js";
import type { Observed } from "./server-metrics.js";

/** Renewals, log lines and claims that found nothing come too often to be logged as changes. */
const frequent = ["tasks.heartbeat", "sessions.heartbeat", "tasks.appendLog", "locks.acquire"];
/** Its calls are logged, not itself. */
const composite = ["calls.many"];
const changing = new Set<string>(
  operations.filter(({ http }) => http.method !== "GET").map(({ name }) => name),
);
for (const name of [...frequent, ...composite]) changing.delete(name);

export function isChange(operation: string, answer: unknown): boolean {
  const { claim, dryRun, plan } = (answer ?? {}) as {
    claim?: unknown;
    dryRun?: boolean;
    plan?: { dryRun?: boolean } | null;
  };
  return changing.has(operation) && claim !== null && dryRun !== true && plan?.dryRun !== true;
}

type Write = (line: object, message: string) => void;

export function logRequest(
  log: Record<"error" | "warn" | "info" | "debug", Write>,
  { call, method, status, ms }: Observed,
): void {
  const line = {
    requestId: call.id,
    method,
    route: call.route,
    status,
    ms: Math.round(ms * 10) / 10,
    ...(call.caller && { org: call.caller.org, token: call.caller.token }),
    ...(call.error && { error: call.error.code }),
  };
  const cause = call.error?.code === "INTERNAL" ? call.error.cause : undefined;
  if (cause instanceof Error) log.error({ ...line, stack: cause.stack }, "request");
  else if (status >= 500) log.warn(line, "request");
  else if (call.changedBy.size > 0) log.info({ ...line, operation: [...call.changedBy].join(" ") }, "change");
  else log.debug(line, "request");
}
