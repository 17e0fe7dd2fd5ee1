// Random histories, from the simulation's scripts: on one store, or on several that must answer alike.

import { type Document, documentKey, keyOf, noChanges } from "../../src/core/changes.js";
import { landingKind, leaseKind, patchKind, submissionKind } from "../../src/core/landing.js";
import { resourceKind } from "../../src/core/resource.js";
import { type Review, reviewersKind, reviewingKind } from "../../src/core/review.js";
import { breakerKind } from "../../src/core/transitions/breaker.js";
import type { TestClock } from "../../src/store/conformance/index.js";
import type { Store, Transaction } from "../../src/store/store.js";
import { beginning } from "../simulation/beginning.js";
import { clockAfter } from "../simulation/clock-steps.js";
import { firstDifference } from "../simulation/difference.js";
import { documentKinds } from "../simulation/documents.js";
import { type Plan, perform, planOf } from "../simulation/jobs.js";
import { Picker } from "../simulation/picker.js";
import type { Script, Step } from "../simulation/script.js";

export const org = "default";

/** A store's life from its first day. */
export async function live(store: Store, clock: TestClock, { world, steps }: Script): Promise<void> {
  await store.open(org, "demo");
  for (const plan of beginning(world)) await commit(store, [plan]);
  await goOn([store], clock, steps);
}

/** The same steps on all stores; what to do is chosen by what the first one sees. */
export async function goOn([first, ...others]: Store[], clock: TestClock, steps: Step[]): Promise<void> {
  const history: Plan[] = [];
  let furthest = 0;
  for (const step of steps) {
    if (step.step === "clock") {
      furthest = Math.max(furthest, clock.now());
      clock.set(
        await first!.read(org, (view) => clockAfter(new Picker(step.picks), view, clock.now(), furthest)),
      );
    }
    if (step.step !== "commit") continue;
    // Chosen before the commit, in which no lists can be seen.
    const plans = await first!.read(org, (view, now) =>
      step.ops.map((op) => planOf(op, { view, now }, history)),
    );
    const done = await commit(first!, plans);
    for (const other of others) {
      const difference = firstDifference(done, await commit(other, plans), ["original", "copy"]);
      if (difference) throw new Error(`the copy answers differently: ${difference}`);
    }
    history.push(...plans.filter((plan) => plan.do === "command"));
  }
}

/** Intents of landers, reviews that somebody is at, and reserved units stay behind: what they are about waits again. */
export async function forgetIntents(store: Store): Promise<void> {
  const landings = await store.read(org, (view) =>
    view
      .tasks({ project: null, afterOrdinal: 0, limit: 1000 })
      .filter(({ submission }) => submission?.landing),
  );
  const tasks = new Map(
    landings.map((task) => [
      keyOf(task.project, task.id),
      { ...task, submission: { ...task.submission!, landing: null } },
    ]),
  );
  const submissions = await store.read(org, (view) => view.documents({ kind: submissionKind, limit: 1000 }));
  const documents = new Map<string, Document>(
    submissions.map(({ key, value }) => {
      const reviews = (value.reviews as Review[]).filter(({ verdict }) => verdict !== null);
      const document = { kind: submissionKind, key, value: { ...value, reviews } };
      return [documentKey(submissionKind, key), document];
    }),
  );
  const [resources] = await store.read(org, (view) => view.documents({ kind: resourceKind, limit: 1 }));
  if (resources) {
    const { key, value } = resources;
    const document = { kind: resourceKind, key, value: { ...value, reservations: [] } };
    documents.set(documentKey(resourceKind, key), document);
  }
  await store.commit(org, [({ apply }) => apply({ ...noChanges(), tasks, documents })]);
}

/** What an export leaves behind, so that both stores can go on alike. */

export async function carryDocuments(from: Store, to: Store): Promise<void> {
  const documentsOf = (store: Store) =>
    store.read(org, (view) =>
      [
        ...documentKinds,
        breakerKind,
        landingKind,
        leaseKind,
        patchKind,
        reviewingKind,
        reviewersKind,
      ].flatMap((kind) => view.documents({ kind, limit: 1000 }).map((each) => ({ kind, ...each }))),
    );
  if ((await documentsOf(to)).length > 0) throw new Error("the copy has documents");
  const documents = new Map(
    (await documentsOf(from)).map((each) => [documentKey(each.kind, each.key), each]),
  );
  await to.commit(org, [({ apply }) => apply({ ...noChanges(), documents })]);
}

async function commit(store: Store, plans: readonly Plan[]): Promise<unknown[]> {
  const results = await store.commit(
    org,
    plans.map((plan) => (transaction: Transaction) => perform(transaction, plan)),
  );
  return results.map((result) => {
    if (!result.ok) throw result.error;
    return result.value;
  });
}
