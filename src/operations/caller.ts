import type { Caller } from "./environment.js";
import type { Executor } from "./execute.js";

const defaults = new WeakMap<Executor, Map<string, string>>();
const orgsMax = 10_000;

/** A caller of an org that exists; its default project is written in the store and never changes. */
export async function callerOf(executor: Executor, caller: Omit<Caller, "project">): Promise<Caller> {
  const known = defaults.get(executor) ?? new Map<string, string>();
  defaults.set(executor, known);
  let project = known.get(caller.org);
  if (project === undefined) {
    project = await executor.store.read(caller.org, (view) => view.org().defaultProject);
    if (known.size >= orgsMax) known.clear();
    known.set(caller.org, project);
  }
  return { ...caller, project };
}
