import type { Lists } from "../../core/view.js";
import type { Fetching } from "../runs.js";
import { Workspace } from "../workspace.js";
import { newQuestions } from "./asking.js";
import { answer } from "./fetch.js";
import { type Begun, listsIn, type PostgresRows, rowsIn } from "./rows.js";
import type { PostgresTransaction } from "./transaction.js";

/** How many rows of each level of the queue are fetched at once. */
const headsMin = 64;
const headsMax = 256;

/** One org as read through questions, in one transaction after the other. */
export class OrgReads {
  readonly workspace: Workspace;
  readonly lists: Lists;
  private readonly questions = newQuestions();
  private readonly rows: PostgresRows;
  private begun: Begun | null = null;

  constructor(private readonly org: string) {
    this.rows = rowsIn(org, this.questions, () => this.begun);
    this.workspace = new Workspace(this.rows);
    this.lists = listsIn(org, this.questions);
  }

  /**
   * Sends for the rows of the queue that a group of this size is likely to ask for, before what has begun is known. Returns what
   * notes them, where the cached rows have turned out to be true.
   */
  ahead(transaction: PostgresTransaction, groupSize: number): () => Promise<void> {
    const { rows, questions, workspace } = this;
    rows.ready.size = sizeFor(groupSize);
    const sent = workspace.nextRows(groupSize).map((next) => {
      const { key, statement, decode } = rows.ready.following(next);
      return { next, key, decode, found: transaction.send(statement) };
    });
    const all = Promise.all(sent.map(({ found }) => found));
    all.catch(() => undefined); // Whoever waits for what was sent before hears of it.
    return async () => {
      const found = await all;
      for (const [at, { next, key, decode }] of sent.entries()) {
        questions.noteList(key, () => decode(found[at]!));
        try {
          workspace.extend(next);
        } catch {
          // Unreadable rows fail the job that asks for them.
        }
      }
    };
  }

  /** In a transaction that has begun, for a group of jobs. The org's lock is held: what a run has seen stays true. */
  in(transaction: PostgresTransaction, begun: Begun, groupSize: number): Fetching {
    const { workspace, questions, rows, org } = this;
    this.begun = begun;
    questions.forget();
    rows.ready.size = sizeFor(groupSize);
    return {
      workspace,
      questions,
      restart: () => rows.ready.forget(),
      answer: (round) => answer(transaction, org, questions, round),
    };
  }
}

const sizeFor = (groupSize: number) => Math.min(headsMax, Math.max(headsMin, 4 * groupSize));
