// Looks at everything that can be wrong with a store and says what to do about it.

import { relative } from "node:path";
import type { Dibs } from "../../../client/client.js";
import { DibsError } from "../../../contract/error.js";
import type { SingleCommand } from "../command.js";
import { knownText, readConfig, unknownText } from "../config.js";
import { locationFor, serverNamed, whereFor } from "../connection.js";
import type { Context } from "../context.js";
import type { Facts, Place } from "../parts.js";
import { doctorText, type Finding } from "../print/doctor.js";
import { claimsFindings } from "./doctor-claims.js";
import { landingFindings } from "./doctor-landing.js";
import { worktreesFinding } from "./doctor-worktrees.js";

const freeBytesMin = 200 * 1024 * 1024;

const doctor: SingleCommand["run"] = async (context) => {
  const { parts } = context;
  const local = (await serverNamed(context, parts))
    ? { findings: [nodeFinding(await parts.health.factsOf(null))], hasStore: true }
    : await localFindings(context);
  const fleet = local.hasStore ? await fleetFindings(context) : [];
  const findings = [...local.findings, ...(await settingsFindings(context)), ...fleet];
  const isWell = findings.every(({ status }) => status !== "problem");
  context.say({ success: isWell, findings }, (display) => doctorText(findings, display));
  return isWell ? 0 : 1;
};

interface Local {
  findings: Finding[];
  /** It can be opened. */
  hasStore: boolean;
}

async function localFindings(context: Context): Promise<Local> {
  const { parts } = context;
  const place = await locationFor(context, parts);
  const facts = await parts.health.factsOf(place.path ?? null);
  const node = nodeFinding(facts);
  const distrust = await problemOf(() => whereFor(context, parts));
  if (distrust) return { findings: [node, distrust], hasStore: false };
  if (place.path !== undefined && !(await parts.files.exists(place.path))) {
    const message = "not found";
    return {
      findings: [node, { check: "database", status: "warn", message, advice: "dibs init" }],
      hasStore: false,
    };
  }
  const database = await databaseFindings(context, place);
  const findings = [node, ...database, ...(await fileFindings(context, facts))];
  if (place.path !== undefined) findings.push(await serverFinding(context, facts), ...spaceFinding(facts));
  return { findings, hasStore: database.every(({ status }) => status === "ok") };
}

/** Elsewhere a warning: the key may be one of a later version. */
async function settingsFindings(context: Context): Promise<Finding[]> {
  const { path, unknown } = await readConfig(context, context.parts);
  if (unknown.length === 0) return [];
  const message = `${unknownText(unknown)} ignored`;
  return [
    { check: "settings", status: "problem", message, advice: `edit ${shown(context, path)}. ${knownText}` },
  ];
}

function nodeFinding({ node }: Facts): Finding {
  return node.isEnough
    ? { check: "node", status: "ok", message: `${node.version}` }
    : {
        check: "node",
        status: "problem",
        message: `${node.version} is too old`,
        advice: `Install Node.js ${node.needed}`,
      };
}

/** A store that cannot be used, because it is not trusted or not intact. */
async function problemOf(act: () => Promise<unknown>): Promise<Finding | null> {
  try {
    await act();
    return null;
  } catch (error) {
    return problemIn(error, "database");
  }
}

function problemIn(error: unknown, check: string): Finding {
  if (!(error instanceof DibsError)) throw error;
  const { message, hint } = error;
  return { check, status: "problem", message, ...(hint === undefined ? {} : { advice: hint }) };
}

async function databaseFindings({ parts }: Context, place: Place): Promise<Finding[]> {
  try {
    const { problems, schema } = await parts.care.check(place);
    if (problems.length === 0) return [{ check: "database", status: "ok", message: `intact, ${schema}` }];
    return problems.slice(0, 10).map((message) => ({
      check: "database",
      status: "problem" as const,
      message,
      advice: "Restore a backup, or remove the damaged rows with the database's own tools",
    }));
  } catch (error) {
    return [problemIn(error, "database")];
  }
}

/** As it would be typed here. */
function shown({ parts }: Context, path: string): string {
  const near = relative(parts.cwd, path);
  return near === "" || near.startsWith("..") ? path : near;
}

/** Who can read the token can do everything; who can write into the directory can replace the database. */
async function fileFindings(context: Context, { files }: Facts): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { what: kind, path, exists, isOurs, openTo } of files) {
    const what = kind === "database" ? "database file" : kind;
    if (!exists) continue;
    const isSecret = what === "token file" || what === "server file";
    const isBad = !isOurs ? isSecret : isSecret ? openTo !== "nobody" : openTo === "writers";
    if (!isBad) {
      findings.push({
        check: what,
        status: "ok",
        message: isSecret ? "only you can read it" : "only you can write it",
      });
    } else if (!isOurs) {
      findings.push({
        check: what,
        status: "problem",
        message: "belongs to another user",
        advice: `Remove ${shown(context, path)}; a server creates a new one`,
      });
    } else findings.push(await mended(context, what, path, isSecret));
  }
  return findings;
}

async function mended(context: Context, what: string, path: string, isSecret: boolean): Promise<Finding> {
  const message = isSecret ? "others can read it" : "others can write it";
  if (!context.on("fix")) {
    return {
      check: what,
      status: "problem",
      message,
      advice: `chmod ${isSecret ? "600" : "go-w"} ${shown(context, path)}, or dibs doctor --fix${isSecret && what === "token file" ? "; then revoke the token" : ""}`,
    };
  }
  await context.parts.health.protect(path, isSecret);
  return { check: what, status: "fixed", message: `${message}; permissions fixed` };
}

async function serverFinding(context: Context, { server, files }: Facts): Promise<Finding> {
  if (server === "runs") return { check: "server", status: "ok", message: "runs; commands go through it" };
  if (server === "none")
    return { check: "server", status: "ok", message: "none runs; commands use the database" };
  const file = files.find(({ what }) => what === "server file")!.path;
  if (server === "not ours") {
    return {
      check: "server",
      status: "warn",
      message: "the server file is not believed: it is not yours, or names no address of this machine",
      advice: `Look at ${shown(context, file)} and remove it`,
    };
  }
  if (context.on("fix")) {
    await context.parts.files.remove(file);
    return {
      check: "server",
      status: "fixed",
      message: "the server file of a server that is gone was removed",
    };
  }
  return {
    check: "server",
    status: "warn",
    message: "the server file names a process that is gone",
    advice: "It is ignored; dibs doctor --fix removes it",
  };
}

function spaceFinding({ freeBytes }: Facts): Finding[] {
  if (freeBytes === null) return [];
  const megabytes = `${Math.floor(freeBytes / 1024 / 1024)} MiB free`;
  if (freeBytes >= freeBytesMin) return [{ check: "disk", status: "ok", message: megabytes }];
  return [
    { check: "disk", status: "warn", message: megabytes, advice: "Free disk space before writes fail" },
  ];
}

/** What the dead hold, and what tasks that are over left. */
async function fleetFindings(context: Context): Promise<Finding[]> {
  let dibs: Dibs;
  try {
    dibs = await context.dibs();
    const { project } = await dibs.projects.get();
    const paused: Finding[] = project.paused
      ? [
          {
            check: "project",
            status: "warn",
            message: `${project.id} is paused`,
            advice: "dibs project resume",
          },
        ]
      : [{ check: "project", status: "ok", message: project.id }];
    const claims = await claimsFindings(context, dibs);
    const landing = await landingFindings(context, dibs);
    return [...paused, ...claims, ...landing, ...(await worktreesFinding(context, dibs))];
  } catch (error) {
    return [problemIn(error, "store")];
  }
}

export const commands: Record<string, SingleCommand> = {
  doctor: {
    name: "doctor",
    summary: "Check the installation and fix problems",
    details:
      "Checks the version of Node.js, the database, permissions, the server, claims and worktrees. Nothing is changed without --fix.\n" +
      "With --fix, claims of dead processes return to the queue, their sessions end, and worktrees of ended tasks are removed. A worktree is kept if its branch is not merged, or if it has uncommitted or ignored files that cannot be created again.",
    flags: { fix: { help: "fix what can be fixed without losing data" } },
    exits: { 0: "no problems, or only warnings", 1: "problems found" },
    examples: ["dibs doctor", "dibs doctor --fix"],
    run: doctor,
  },
};
