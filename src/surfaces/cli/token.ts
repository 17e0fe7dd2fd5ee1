import { type Command, Option } from "commander";
import type { InputOf, OutputOf } from "../../contract/operation.js";
import { roles } from "../../contract/operation.js";
import type { OperationNamed } from "../../contract/registry.js";
import { durationMs } from "./durations.js";
import type { Parts } from "./parts.js";
import { type PlaceFlags, placeFor } from "./place.js";

export type CreatedToken = OutputOf<OperationNamed<"tokens.create">>;

export interface Tokens {
  create(input: InputOf<OperationNamed<"tokens.create">>): Promise<CreatedToken>;
  list(input: InputOf<OperationNamed<"tokens.list">>): Promise<OutputOf<OperationNamed<"tokens.list">>>;
  revoke(input: InputOf<OperationNamed<"tokens.revoke">>): Promise<OutputOf<OperationNamed<"tokens.revoke">>>;
}

type Flags = PlaceFlags & { json?: boolean };

export function addToken(program: Command, parts: Parts): void {
  const token = program.command("token").description("make, list and revoke the server's tokens");
  token
    .command("create")
    .description("make a token and print it; it is shown only now")
    .option("--name <name>", "what it is for, shown in the event log")
    .addOption(new Option("--role <role>", "what it may do").choices(roles).default("worker"))
    .option("--expires <duration>", "how long it is good for, such as 30d; default: until revoked")
    .action((flags: { name?: string; role: (typeof roles)[number]; expires?: string }, command: Command) =>
      withTokens(command, parts, async (tokens, say) => {
        const { name, role, expires } = flags;
        const made = await tokens.create({
          name,
          role,
          ...(expires && { expiresInMs: durationMs(expires) }),
        });
        say(made, () => `${made.token}\n`);
      }),
    );
  token
    .command("list")
    .description("list the tokens that are good")
    .action((_flags, command: Command) =>
      withTokens(command, parts, async (tokens, say) => {
        const found = await tokens.list({ limit: 1_000 });
        say(found, () =>
          found.tokens.map((each) => `${each.id}  ${each.role}  ${each.createdAt}  ${each.name}\n`).join(""),
        );
      }),
    );
  token
    .command("revoke <id>")
    .description("revoke a token")
    .action((id: string, _flags, command: Command) =>
      withTokens(command, parts, async (tokens, say) =>
        say(await tokens.revoke({ id }), () => `revoked ${id}\n`),
      ),
    );
}

type Say = (answer: unknown, forPeople: () => string) => void;

async function withTokens(
  command: Command,
  parts: Parts,
  work: (tokens: Tokens, say: Say) => Promise<void>,
): Promise<void> {
  const flags = command.optsWithGlobals<Flags>();
  const dibs = await parts.open(await placeFor(flags, parts));
  try {
    await work(dibs.tokens, (answer, forPeople) =>
      parts.out(flags.json ? `${JSON.stringify(answer)}\n` : forPeople()),
    );
  } finally {
    await dibs.close();
  }
}
