import type { WireToken } from "../contract/shapes.js";
import type { CreateTokenCommand, RevokeTokenCommand } from "../core/command.js";
import { accept } from "../core/refusal.js";
import { isExpired, type Token, tokenKind, toToken } from "../core/token.js";
import type { Executor } from "./execute.js";
import { type CommandCall, forCommand, forQuery } from "./handler.js";
import { removeExpiredTokens } from "./preparations.js";
import { iso } from "./render.js";
import { forgetTokens, tokenText } from "./tokens.js";

function wireToken({ hash: _, parent: __, createdAt, expiresAt, ...token }: Token): WireToken {
  return { ...token, createdAt: iso(createdAt), expiresAt: expiresAt === null ? null : iso(expiresAt) };
}

async function revoke(executor: Executor, call: CommandCall<"tokens.revoke">) {
  try {
    const { answer } = await executor.transact(call);
    return answer;
  } finally {
    // Also if another process was first, or the outcome is unknown.
    forgetTokens(executor, call.caller.org);
  }
}

export const tokenOperations = {
  "tokens.create": forCommand("tokens.create", {
    prepare: removeExpiredTokens,
    command: ({ bound, ...input }, { caller, environment, aside }): CreateTokenCommand => {
      const id = environment.newTokenId();
      const secret = environment.newSecret();
      aside.token = tokenText({ org: caller.org, id, secret });
      const parent = bound ? caller.token : undefined;
      return { type: "create-token", ...input, id, hash: environment.digest(secret), parent };
    },
    answer: (_view, token) => ({ success: true, ...wireToken(token), token: null }),
  }),
  "tokens.list": forQuery("tokens.list", {
    prepare: removeExpiredTokens,
    // Reads no task.
    sweeps: false,
    query: (view, { limit, cursor }, _context, now) => {
      const found = view.documents({ kind: tokenKind, afterKey: cursor, limit: limit + 1 });
      const page = found.slice(0, limit);
      const tokens = page.map(({ value }) => toToken(value)).filter((token) => !isExpired(token, now));
      return accept({
        tokens: tokens.map(wireToken),
        nextCursor: found.length > page.length ? page.at(-1)!.key : null,
      });
    },
  }),
  "tokens.revoke": forCommand("tokens.revoke", {
    run: revoke,
    command: ({ id }): RevokeTokenCommand => ({ type: "revoke-token", id }),
    answer: () => ({ success: true }),
  }),
};
