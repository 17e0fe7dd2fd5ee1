// What the demo builds. Each task carries in its metadata how its pretended work goes, so that a worker needs to know nothing
// about the plan: it claims, reads the script and acts.

import type { Dibs, Task } from "../index.js";

export interface Script {
  ms: number;
  /** One progress note per step. */
  steps: string[];
  asks?: { question: string; options: string[] };
  /** Fails the first time at this step. */
  failsAt?: { step: number; error: string };
  /** The first attempt goes no further than this step: the demo kills its worker there. */
  killedAt?: number;
}

type NewTask = Parameters<Dibs["tasks"]["batch"]>[0]["tasks"][number];
type More = Pick<NewTask, "priority" | "labels" | "dependsOn" | "parentId">;

export const project = "shop";

export const plan: NewTask[] = [
  task("schema", "Database schema", work(1300, "listing entities", "writing tables", "adding indexes"), {
    priority: "critical",
    labels: ["db"],
  }),
  task(
    "brand",
    "Brand and colours",
    {
      ...work(1500, "collecting examples", "trying palettes", "writing tokens"),
      asks: { question: "Accent colour: teal or orange?", options: ["teal", "orange"] },
    },
    { priority: "high", labels: ["ui"] },
  ),
  task("auth", "Sign-in and sessions", work(1500, "hashing passwords", "setting cookies", "limiting tries"), {
    priority: "high",
    labels: ["auth"],
    dependsOn: ["schema"],
  }),
  group("api", "API endpoints", { labels: ["api"] }),
  task("products", "Products", work(1300, "listing", "searching", "paging"), {
    parentId: "api",
    labels: ["api"],
    dependsOn: ["schema"],
  }),
  task(
    "orders",
    "Orders",
    { ...work(1800, "reading the cart", "reserving stock", "storing the order"), killedAt: 1 },
    { parentId: "api", priority: "high", labels: ["api"], dependsOn: ["auth"] },
  ),
  task("payments", "Payments", work(1400, "calling the bank", "checking signatures"), {
    parentId: "api",
    labels: ["api"],
    dependsOn: ["orders"],
  }),
  task("mails", "Order e-mails", work(1300, "writing texts", "sending"), {
    labels: ["api"],
    dependsOn: ["orders"],
  }),
  task(
    "seed",
    "Sample data",
    {
      ...work(1100, "fetching pictures", "writing products"),
      failsAt: { step: 1, error: "picture server timed out" },
    },
    { priority: "low", labels: ["db"], dependsOn: ["schema"] },
  ),
  group("storefront", "Storefront", { labels: ["ui"] }),
  task("pages", "Product pages", work(1600, "laying out", "wiring the API", "resizing pictures"), {
    parentId: "storefront",
    labels: ["ui"],
    dependsOn: ["brand", "products"],
  }),
  task("checkout", "Checkout page", work(1500, "building the form", "showing errors", "thanking"), {
    parentId: "storefront",
    priority: "high",
    labels: ["ui"],
    dependsOn: ["brand", "payments"],
  }),
  task("docs", "API reference", work(1400, "describing calls", "adding examples"), {
    priority: "low",
    labels: ["docs"],
    dependsOn: ["api"],
  }),
  task("e2e", "End-to-end tests", work(1700, "buying a hat", "cancelling an order", "paying twice"), {
    labels: ["test"],
    dependsOn: ["storefront", "seed"],
  }),
  task("release", "Release to staging", work(1000, "building the image", "smoke test"), {
    labels: ["ops"],
    dependsOn: ["e2e", "docs"],
  }),
];

export function scriptOf(task: Task): Script {
  return task.metadata as unknown as Script;
}

function work(ms: number, ...steps: string[]): Script {
  return { ms, steps };
}

function task(key: string, title: string, script: Script, more: More): NewTask {
  return { key, title, prompt: `${title}: ${script.steps.join(", ")}.`, metadata: { ...script }, ...more };
}

function group(key: string, title: string, more: More): NewTask {
  return { key, type: "group", title, ...more };
}
