// A read transaction that stays open, on a connection of its own: in WAL mode it sees the file as it was when it began, and
// stops nobody. Only the log cannot be emptied meanwhile.

import { timeIn } from "../org-facts.js";
import { withLists } from "../org-view.js";
import { type Clock, type ReadJob, type Snapshot, StoreError } from "../store.js";
import { Workspace } from "../workspace.js";
import { connectTo, type Database, patiently } from "./connection.js";
import { finalizeStatements } from "./release.js";
import { listsIn, rowsIn } from "./rows.js";
import { Scope } from "./scope.js";
import { Statements } from "./statements.js";
import * as orgs from "./tables/org.js";

export class SqliteSnapshot implements Snapshot {
  private readonly scope: Scope;
  private readonly now: number;
  private closed = false;

  private constructor(
    private readonly db: Database,
    private readonly statements: Statements,
    private readonly file: string,
    org: string,
    clock: Clock,
    private readonly onClose: (snapshot: SqliteSnapshot) => void,
  ) {
    this.scope = new Scope(statements, org);
    statements.run("BEGIN");
    // The first look fixes what all later ones see.
    this.now = timeIn(orgs.get(this.scope), clock);
  }

  static async open(
    file: string,
    org: string,
    clock: Clock,
    onClose: (snapshot: SqliteSnapshot) => void,
  ): Promise<SqliteSnapshot> {
    const attempt = () => {
      const db = connectTo(file, { readOnly: true });
      const statements = new Statements(db);
      try {
        return new SqliteSnapshot(db, statements, file, org, clock, onClose);
      } catch (error) {
        statements.forget();
        db.close();
        throw error;
      }
    };
    try {
      return await patiently(file, attempt);
    } catch (error) {
      await finalizeStatements();
      throw error;
    }
  }

  async read<T>(job: ReadJob<T>): Promise<T> {
    if (this.closed) throw new StoreError("STORE_CLOSED", "This snapshot was closed.");
    const { view } = new Workspace(rowsIn(this.scope));
    return patiently(this.file, () => job(withLists(view, listsIn(this.scope)), this.now));
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    if (this.db.isTransaction) this.statements.run("ROLLBACK");
    this.statements.forget();
    this.db.close();
    this.onClose(this);
    await finalizeStatements();
  }
}
