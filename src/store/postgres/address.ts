// The address of a database, as settings of the driver.

import { userInfo } from "node:os";
import type { ClientConfig } from "pg";
import { StoreError } from "../store.js";

export interface Settings {
  client: ClientConfig;
  /** For people and error texts: without the password. */
  where: string;
  max: number;
  /** Off behind poolers that do not know prepared statements. */
  prepare: boolean;
  /** `sslmode=prefer`: unencrypted if the server has no TLS. */
  prefersTls: boolean;
}

/** Encrypted, with any certificate; every other mode verifies it. */
const unverified = ["allow", "prefer", "require", "no-verify"];

export function readUrl(url: string): Settings {
  const parsed = parse(url);
  if (!/^postgres(ql)?:$/.test(parsed.protocol)) {
    throw new StoreError("STORE_UNAVAILABLE", `${parsed.protocol}// is not PostgreSQL.`, "Use postgres://…");
  }
  if (parsed.pathname.includes("@")) {
    // A slash in the password; the rest of it would show in every message.
    throw new StoreError(
      "STORE_UNAVAILABLE",
      "This address has an @ in the name of the database.",
      "Write special characters of the password percent-encoded, such as %2F for a slash.",
    );
  }
  const parameter = (name: string) => parsed.searchParams.get(name);
  const max = Number(parameter("pool") ?? 8);
  if (!Number.isInteger(max) || max < 2) {
    throw new StoreError(
      "STORE_UNAVAILABLE",
      `pool=${max} is too small.`,
      "Leave it out, or give 2 or more.",
    );
  }
  const sslMode = parameter("sslmode") ?? parameter("ssl");
  return {
    client: {
      ...serverOf(parsed),
      ssl: encryption(sslMode),
      options: parameter("options") ?? undefined,
    },
    where: `postgres://${parsed.host}${parsed.pathname}`,
    max,
    prepare: parameter("prepare") !== "false",
    prefersTls: sslMode === "prefer",
  };
}

const unreadable = () =>
  new StoreError(
    "STORE_UNAVAILABLE",
    "This is no PostgreSQL address.",
    "Use postgres://user:password@host:5432/database.",
  );

function parse(url: string): URL {
  // Without the slashes, the user and the password would be parsed as the database, and shown.
  if (/^postgres(ql)?:(?!\/\/)/.test(url)) throw unreadable();
  try {
    return new URL(url);
  } catch {
    throw unreadable();
  }
}

/** What is empty comes from the environment: PGHOST, PGPORT, PGDATABASE. */
function serverOf({ hostname, port, username, password, pathname }: URL): ClientConfig {
  try {
    return {
      host: decodeURIComponent(hostname.replace(/^\[(.*)\]$/, "$1")),
      port: port === "" ? undefined : Number(port),
      user: decodeURIComponent(username) || process.env.PGUSER || userInfo().username,
      // Without any password, pg would read ~/.pgpass, and throw if the server asks for one in clear text.
      password: decodeURIComponent(password) || (() => process.env.PGPASSWORD ?? ""),
      database: decodeURIComponent(pathname.slice(1)),
    };
  } catch (error) {
    throw error instanceof URIError ? unreadable() : error;
  }
}

/** `undefined`: as PGSSLMODE says. */
function encryption(mode: string | null): ClientConfig["ssl"] {
  if (mode === null) return undefined;
  if (["disable", "false", "0"].includes(mode)) return false;
  return { rejectUnauthorized: !unverified.includes(mode) };
}
