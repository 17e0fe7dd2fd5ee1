// Git as a program: never through a shell, never with the repository of whoever started us in its environment.

import { execFile } from "node:child_process";

/** Set while git runs a hook or an alias; with them git would work on that repository. */
const foreign = [
  "GIT_DIR",
  "GIT_WORK_TREE",
  "GIT_INDEX_FILE",
  "GIT_COMMON_DIR",
  "GIT_OBJECT_DIRECTORY",
  "GIT_PREFIX",
  "GIT_NAMESPACE",
];

export const withoutRepository: Record<string, undefined> = Object.fromEntries(
  foreign.map((name) => [name, undefined]),
);

export class GitError extends Error {
  override name = "GitError";

  constructor(
    readonly args: readonly string[],
    readonly exitCode: number | null,
    readonly stderr: string,
    readonly stdout = "",
  ) {
    super(`git ${args.slice(0, 3).join(" ")}: ${stderr.trim() || `exit code ${exitCode}`}`);
  }
}

const outputMax = 16 * 1024 * 1024;

export interface GitOptions {
  /** On standard input. */
  input?: string;
  env?: Readonly<Record<string, string | undefined>>;
  timeoutMs?: number;
}

export function git(cwd: string, args: readonly string[], options: GitOptions = {}): Promise<string> {
  const { input, timeoutMs = 0 } = options;
  const env = {
    ...process.env,
    ...withoutRepository,
    LC_ALL: "C",
    GIT_TERMINAL_PROMPT: "0",
    ...options.env,
  };
  return new Promise((resolve, reject) => {
    const child = execFile(
      "git",
      ["-C", cwd, ...args],
      { env, maxBuffer: outputMax, windowsHide: true, timeout: timeoutMs },
      (error, out, err) => {
        if (!error) return resolve(out.replace(/\n$/, ""));
        const code = typeof error.code === "number" ? error.code : null;
        const late = error.killed && timeoutMs > 0 ? `no answer within ${timeoutMs / 1_000} s` : "";
        reject(new GitError(args, code, late || err || error.message, out));
      },
    );
    // Git can end without reading its input.
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(input ?? "");
  });
}

/** Null where git says no. */
export async function gitOr(
  cwd: string,
  args: readonly string[],
  options: GitOptions = {},
): Promise<string | null> {
  try {
    return await git(cwd, args, options);
  } catch (error) {
    if (error instanceof GitError && error.exitCode !== null) return null;
    throw error;
  }
}

const turns = new Map<string, Promise<unknown>>();

/** One after the other: git locks its config files and does not wait for the lock. */
export function inTurn<T>(repository: string, act: () => Promise<T>): Promise<T> {
  const turn = (turns.get(repository) ?? Promise.resolve()).then(act, act);
  const settled = turn.catch(() => undefined);
  turns.set(repository, settled);
  void settled.then(() => turns.get(repository) === settled && turns.delete(repository));
  return turn;
}
