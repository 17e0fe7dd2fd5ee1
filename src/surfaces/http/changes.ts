// Which calls are logged as changes. Renewals, log lines and claims that found nothing come too often to tell anything.

import { operations } from "../../contract/registry.js";

const frequent = ["tasks.heartbeat", "sessions.heartbeat", "tasks.appendLog", "locks.acquire"];
const changing = new Set<string>(
  operations.filter(({ http }) => http.method !== "GET").map(({ name }) => name),
);
for (const name of frequent) changing.delete(name);

export function isChange(operation: string, answer: unknown): boolean {
  return changing.has(operation) && (answer as { claim?: unknown } | null)?.claim !== null;
}
