import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { checkEnvironment } from "./check-environment.js";

const withheld = [
  "DIBS_TOKEN",
  "DIBS_SESSION",
  "dibs_url",
  "GIT_DIR",
  "GIT_WORK_TREE",
  "GIT_INDEX_FILE",
  "GIT_CONFIG_PARAMETERS",
  "GIT_CONFIG_COUNT",
  "GIT_CONFIG_KEY_0",
  "GIT_CONFIG_VALUE_0",
  "GITHUB_TOKEN",
  "NPM_TOKEN",
  "npm_config__authToken",
  "ANTHROPIC_API_KEY",
  "AWS_SECRET_ACCESS_KEY",
  "AWS_ACCESS_KEY_ID",
  "DB_PASSWORD",
  "PASSWORD",
  "key",
  "GPG_PASSPHRASE",
  "GOOGLE_APPLICATION_CREDENTIALS",
  "SSH_AUTH_SOCK",
  "AUTH",
  "PGPASSWORD",
  "PGPASSFILE",
  "MYSQL_PWD",
  "REDISCLI_AUTH",
  "SSHPASS",
  "RESTIC_PASSWORD_FILE",
  "DB_PASS",
  "GH_PAT",
  "AZURE_DEVOPS_EXT_PAT",
  "CLIENTSECRET",
  "SESSION_COOKIE",
  "AWS_CREDS",
];
const passed = [
  "PATH",
  "MY_PATH",
  "HOME",
  "PWD",
  "OLDPWD",
  "LANG",
  "CI",
  "KEYBOARD",
  "MONKEY",
  "AUTHOR",
  "PATTERN",
  "COMPASS",
  "TEST_PASSED",
  "TOKENIZERS_PARALLELISM",
];
const git = ["GIT_AUTHOR_NAME", "GIT_CONFIG_GLOBAL", "GIT_SSH_COMMAND"];

test("checks get no settings of Dibs, no other repository, and nothing that looks like a secret", () => {
  const all = Object.fromEntries([...withheld, ...passed, ...git].map((name) => [name, "x"]));
  expect(Object.keys(checkEnvironment({ ...all, EMPTY: "", UNSET: undefined })).sort()).toEqual(
    [...passed, ...git, "EMPTY"].sort(),
  );
});

test("git works in it, whatever configuration was in the environment", () => {
  const env = checkEnvironment({
    PATH: process.env.PATH,
    GIT_CONFIG_COUNT: "1",
    GIT_CONFIG_KEY_0: "http.extraHeader",
    GIT_CONFIG_VALUE_0: "Authorization: x",
  });
  expect(execFileSync("git", ["version"], { env, encoding: "utf8" })).toMatch(/^git version/);
});
