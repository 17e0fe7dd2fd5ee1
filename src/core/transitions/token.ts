import type { CreateTokenCommand, DropTokensCommand, RevokeTokenCommand } from "../command.js";
import type { Draft } from "../draft.js";
import { accept, type Outcome, refuse } from "../refusal.js";
import { isExpired, type Token, tokenKind, toToken, validToken } from "../token.js";

export function createToken(draft: Draft, command: CreateTokenCommand): Outcome<Token> {
  const { id, name, role, hash, expiresInMs, parent } = command;
  if (draft.document(tokenKind, id)) {
    return refuse("ID_TAKEN", `Token ${id} exists already.`, { details: { id } });
  }
  const expiresAt = expiresInMs === undefined ? null : draft.now + expiresInMs;
  const createdBy = draft.context.actor;
  const token: Token = { id, name, role, hash, createdAt: draft.now, createdBy, expiresAt };
  if (parent !== undefined) token.parent = parent;
  draft.putDocument(tokenKind, id, { ...token });
  draft.emit("token:created", { project: null, data: { id, name, role, expiresAt } });
  return accept(token);
}

export function revokeToken(draft: Draft, { id }: RevokeTokenCommand): Outcome<null> {
  const token = validToken(draft, id, draft.now);
  if (!token) return refuse("NOT_FOUND", `Token ${id} not found.`, { details: { id } });
  draft.putDocument(tokenKind, id, null);
  draft.emit("token:revoked", { project: null, data: { id, name: token.name, role: token.role } });
  return accept(null);
}

/** Tidies up those that are over. Nobody sees when: they let nobody in and are not shown. */
export function dropTokens(draft: Draft, { ids }: DropTokensCommand): Outcome<null> {
  for (const id of ids) {
    const value = draft.document(tokenKind, id);
    if (value && isExpired(toToken(value), draft.now)) draft.putDocument(tokenKind, id, null);
  }
  return accept(null);
}
