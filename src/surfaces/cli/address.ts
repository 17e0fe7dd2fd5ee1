// Addresses of servers and databases as settings name them.

export const isPostgres = (text: string) => /^postgres(ql)?:/.test(text);

/** The machine and database without user and options: what a person decides about. */
export function addressOf(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return isPostgres(url) ? `postgres://${host}${pathname}` : `${protocol}//${host}`;
}

export const isHere = (url: string) => /^(localhost|127(\.\d+){3}|\[::1\]|)$/.test(new URL(url).hostname);

/** What is wrong with the address in a settings file; null: nothing. */
export function addressProblem({ url, db }: { url?: string; db?: string }): string | null {
  if (url !== undefined && db !== undefined) return "url and db cannot be combined";
  if (url !== undefined) return serverProblem(url);
  return db !== undefined && isPostgres(db) ? databaseProblem(db) : null;
}

function parsed(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

function serverProblem(text: string): string | null {
  const url = parsed(text);
  if (!url || !/^https?:$/.test(url.protocol)) return "url must be the http(s) address of a server";
  if (url.username || url.password || url.search || url.hash)
    return "url must not contain a user, a password or a token; set DIBS_TOKEN in the environment";
  return null;
}

function databaseProblem(text: string): string | null {
  const url = parsed(text);
  if (!url) return "db must be a file or the address of a PostgreSQL database";
  if (url.password || url.searchParams.has("password"))
    return "db must not contain a password; set PGPASSWORD in the environment";
  const other = ["host", "hostname", "port", "path"].find((name) => url.searchParams.has(name));
  if (other) return `db must name its host before the database, not by ?${other}=`;
  return null;
}
