// The schema: made and migrated by whoever starts first, under a lock, so that of any number of starters one applies each step.

import { StoreError } from "../store.js";
import type { Settings } from "./address.js";
import { type Query, withOwner } from "./database.js";
import { migrations, programRole, schemaVersion } from "./schema.js";

const lockKey = "hashtextextended('dibs migration', 0)";
const serverVersionMin = 150_000;

/** One look for what is there: the usual start needs no more than this and the version. */
const look = `SELECT current_setting('server_version_num')::int AS server, version() AS text,
  to_regclass('dibs.migration') IS NOT NULL AS is_made,
  (SELECT pg_has_role(oid, CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END)
    FROM pg_roles WHERE rolname = '${programRole}') AS has_role,
  (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user) AS is_exempt`;

export interface Migrating {
  /** False: a database without the schema is refused. */
  create?: boolean;
  /** The schema exists now, and this process created it. */
  onCreate?: (where: string) => void;
}

/** Brings the schema up to date. Says whether the program's own role can be taken on. */
export async function migrate(
  settings: Settings,
  { create = true, onCreate }: Migrating = {},
): Promise<{ hasRole: boolean; warning: string | null }> {
  return withOwner(settings, async (query) => {
    let [found] = await query(look);
    if (found!.server < serverVersionMin) {
      throw new StoreError(
        "STORE_UNAVAILABLE",
        `${settings.where} runs ${found!.text}; PostgreSQL 15 or later is needed.`,
      );
    }
    let version = found!.is_made ? await versionOf(query) : 0;
    if (version === 0 && !create) {
      throw new StoreError(
        "STORE_NOT_FOUND",
        `No Dibs store in ${settings.where}.`,
        "Check the address. To create the store, run: dibs init --db <address>",
      );
    }
    if (version < schemaVersion) {
      if (await applyAll(query)) onCreate?.(settings.where);
      [found] = await query(look);
      version = await versionOf(query);
    }
    if (version > schemaVersion) {
      throw new StoreError(
        "STORE_TOO_NEW",
        `${settings.where} has schema ${version}; this program knows up to ${schemaVersion}.`,
        "Update Dibs; nothing was changed.",
      );
    }
    if (found!.has_role === null) {
      // The schema came from a dump, which brings no roles along.
      await ensureRole(query);
      await grant(query);
      [found] = await query(look);
    }
    const hasRole = found!.has_role === true;
    return { hasRole, warning: hasRole || !found!.is_exempt ? null : exemptWarning };
  });
}

async function versionOf(query: Query): Promise<number> {
  // Read, not looked up as a name: names come from a cache that may not know of another starter's commit yet.
  const [table] = await query(
    "SELECT count(*) > 0 AS there FROM pg_tables WHERE schemaname = 'dibs' AND tablename = 'migration'",
  );
  if (!table!.there) return 0;
  const [row] = await query("SELECT coalesce(max(version), 0)::int AS version FROM dibs.migration");
  return row!.version;
}

/** True: there was no schema before. */
async function applyAll(query: Query): Promise<boolean> {
  await query("BEGIN");
  try {
    await query("SET LOCAL lock_timeout = '60s'");
    await query(`SELECT pg_advisory_xact_lock(${lockKey})`);
    // Read again under the lock: another starter may have been first.
    const version = await versionOf(query);
    const isNew = version === 0;
    if (isNew) await prepare(query);
    for (const migration of migrations.filter((each) => each.version > version)) {
      await query(migration.sql);
      await query("INSERT INTO dibs.migration (version, name, applied_by) VALUES ($1, $2, $3)", [
        migration.version,
        migration.name,
        process.pid,
      ]);
    }
    await grant(query);
    await query("COMMIT");
    return isNew;
  } catch (error) {
    await query("ROLLBACK").catch(() => undefined);
    throw error;
  }
}

const exemptWarning = `This login passes row level security and cannot take on the role ${programRole}: orgs are kept apart by the program alone.`;

/** The schema and, where we may, the role without ownership that the program works as. */
async function prepare(query: Query): Promise<void> {
  await query(`CREATE SCHEMA IF NOT EXISTS dibs;
    CREATE TABLE IF NOT EXISTS dibs.migration (
      version integer PRIMARY KEY, name text NOT NULL, applied_by integer NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`);
  await ensureRole(query);
}

async function ensureRole(query: Query): Promise<void> {
  await query(`DO $$ BEGIN
      IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '${programRole}') THEN
        CREATE ROLE ${programRole} NOLOGIN;
      END IF;
      EXECUTE format('GRANT ${programRole} TO %I', current_user);
    EXCEPTION
      WHEN insufficient_privilege THEN NULL; -- Forced row level security still holds for the owner.
      WHEN duplicate_object OR unique_violation THEN NULL; -- Another database of this server was first.
    END $$`);
}

async function grant(query: Query): Promise<void> {
  await query(`DO $$ BEGIN
      IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '${programRole}') THEN
        GRANT USAGE ON SCHEMA dibs TO ${programRole};
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA dibs TO ${programRole};
        REVOKE INSERT, UPDATE, DELETE ON dibs.migration FROM ${programRole};
      END IF;
    END $$`);
}
