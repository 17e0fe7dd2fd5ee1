// The environment of checks: what they run is in the repository, where agents can change it, so they get no secrets.

import { withoutRepository } from "./git.js";

/** As a word of the name: `DB_PASS`, `GITHUB_PAT_READ`. */
const secretWord =
  /(^|_)(TOKEN|TOKENS|SECRET|SECRETS|PASSWORD|PASSWD|PASSPHRASE|PASSCODE|PASS|PAT|KEY|KEYS|CREDENTIAL|CREDENTIALS|CREDS|AUTH|AUTHTOKEN|AUTHORIZATION|APIKEY|COOKIE)(_|$)/i;

/** Written together: `PGPASSWORD`, `SSHPASS`, `MYSQL_PWD`. `PWD` and `OLDPWD` are directories. */
const secretEnd = /(PASSWORD|PASSWD|PASSPHRASE|PASSFILE|SSHPASS|_PWD|SECRET|APIKEY|ACCESSKEY|AUTHTOKEN)$/i;

/** Configuration in the environment can be a header with a token; a part of it would make git fail. */
const gitConfiguration = /^GIT_CONFIG_(PARAMETERS$|COUNT$|KEY_|VALUE_)/i;

const isWithheld = (name: string) =>
  /^DIBS_/i.test(name) ||
  Object.hasOwn(withoutRepository, name) ||
  gitConfiguration.test(name) ||
  secretWord.test(name) ||
  secretEnd.test(name);

/** Without settings of Dibs, another repository of git, and variables whose names look like secrets. */
export function checkEnvironment(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && !isWithheld(entry[0]),
    ),
  );
}
