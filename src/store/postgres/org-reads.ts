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

  /** In a transaction that has begun, for a group of jobs. The org's lock is held: what a run has seen stays true. */
  in(transaction: PostgresTransaction, begun: Begun, groupSize: number): Fetching {
    const { workspace, questions, rows, org } = this;
    this.begun = begun;
    questions.forget();
    rows.ready.size = Math.min(headsMax, Math.max(headsMin, 4 * groupSize));
    return {
      workspace,
      questions,
      restart: () => rows.ready.forget(),
      answer: (round) => answer(transaction, org, questions, round),
    };
  }
}
