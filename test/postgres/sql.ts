// SQL of the tests: sql`SELECT … ${value}` or sql.query(text, values). Both resolve to rows.

import pg from "pg";

// biome-ignore lint/suspicious/noExplicitAny: columns of any type.
type Rows = Record<string, any>[];

export interface Sql {
  (strings: TemplateStringsArray, ...values: unknown[]): Promise<Rows>;
  query(text: string, values?: unknown[]): Promise<Rows>;
  end(): Promise<void>;
}

/** On one connection, or at most so many. */
export function connectSql(url: string, { max = 1, connectMs = 30_000 } = {}): Sql {
  const pool = new pg.Pool({
    connectionString: url,
    max,
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: 0,
  });
  pool.on("error", () => undefined);
  const query = async (text: string, values?: unknown[]) => (await pool.query(text, values)).rows;
  const template = (strings: TemplateStringsArray, ...values: unknown[]) =>
    query(
      strings.reduce((text, next, at) => `${text}$${at}${next}`),
      values,
    );
  return Object.assign(template, {
    query,
    end: async () => {
      if (!pool.ending) await pool.end();
    },
  });
}
