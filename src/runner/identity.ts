// Whose commits Dibs creates: the identity that git is configured with, else its own.

import { gitOr } from "./git.js";

type Env = Readonly<Record<string, string | undefined>>;

/** What git's environment needs besides `env`. What git would guess from the machine's name is no identity. */
export async function identityFor(cwd: string, env: Env = {}): Promise<Record<string, string>> {
  const needed: Record<string, string> = {};
  for (const role of ["AUTHOR", "COMMITTER"]) {
    const known = await gitOr(cwd, ["-c", "user.useConfigOnly=true", "var", `GIT_${role}_IDENT`], { env });
    if (known !== null) continue;
    needed[`GIT_${role}_NAME`] = "Dibs";
    needed[`GIT_${role}_EMAIL`] = "dibs@localhost";
  }
  return needed;
}
