// The driver has no call that finalizes a statement: only the garbage collector does. SQLite keeps the descriptors of a closed
// database until its last statement is finalized, so a process that opens and closes stores would run out of descriptors.

let pending: Promise<void> | null = null;

/** Finalizes the statements that nothing refers to any more. Stores that close together share one collection. */
export function finalizeStatements(): Promise<void> {
  pending ??= new Promise((resolve) => {
    setImmediate(() => {
      pending = null;
      try {
        collectGarbage();
      } catch {
        // The descriptors are freed by the next collection.
      }
      // Node runs the finalizers of native objects in the next turn of the event loop.
      setImmediate(resolve);
    });
  });
  return pending;
}

let collect: (() => void) | null = null;

function collectGarbage(): void {
  collect ??= globalThis.gc ?? exposedCollector();
  collect();
}

function exposedCollector(): () => void {
  const v8 = process.getBuiltinModule("node:v8");
  const vm = process.getBuiltinModule("node:vm");
  v8.setFlagsFromString("--expose-gc");
  try {
    return vm.runInNewContext("gc");
  } finally {
    v8.setFlagsFromString("--no-expose-gc");
  }
}
