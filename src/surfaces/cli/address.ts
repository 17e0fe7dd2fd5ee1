// Addresses of servers and databases as settings name them.

/** Of a database on a server; any other text is a file. */
export const isDatabaseAddress = (text: string) => /^(postgres(ql)?|dynamodb):/.test(text);

const isDynamo = (text: string) => text.startsWith("dynamodb:");

/** What a database is, for people. */
export const databaseKind = (address: string) => (isDynamo(address) ? "DynamoDB" : "PostgreSQL");

/** The machine and database without user and options: what a person decides about. */
export function addressOf(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  if (isDynamo(url))
    return `dynamodb://${host}${pathname}${endpointOf(url) ? `?endpoint=${endpointOf(url)}` : ""}`;
  return isDatabaseAddress(url) ? `postgres://${host}${pathname}` : `${protocol}//${host}`;
}

const endpointOf = (url: string) => new URL(url).searchParams.get("endpoint");

export function isHere(url: string): boolean {
  const address = isDynamo(url) ? parsed(endpointOf(url) ?? "") : new URL(url);
  return address !== null && /^(localhost|127(\.\d+){3}|\[::1\]|)$/.test(address.hostname);
}

/** What is wrong with the address in a settings file; null: nothing. */
export function addressProblem({ url, db }: { url?: string; db?: string }): string | null {
  if (url !== undefined && db !== undefined) return "url and db cannot be combined";
  if (url !== undefined) return serverProblem(url);
  return db !== undefined && isDatabaseAddress(db) ? databaseProblem(db) : null;
}

export function parsed(text: string): URL | null {
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
  if (!url) return "db must be a file or the address of a PostgreSQL or DynamoDB database";
  if (isDynamo(text) && (url.username || url.password))
    return "db must not contain credentials; set AWS_PROFILE in the environment";
  if (url.password || url.searchParams.has("password"))
    return "db must not contain a password; set PGPASSWORD in the environment";
  const other = ["host", "hostname", "port", "path"].find((name) => url.searchParams.has(name));
  if (other) return `db must name its host before the database, not by ?${other}=`;
  return null;
}
