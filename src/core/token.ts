// A token lets a caller of the network in, with a role in one org. Its secret is known to its bearer alone: stored is a hash.

import type { Role } from "./role.js";
import type { DocumentValue, View } from "./view.js";

export const tokenKind = "token";

export interface Token {
  id: string;
  name: string;
  role: Role;
  /** SHA-256 of the secret, in hex. */
  hash: string;
  createdAt: number;
  createdBy: string;
  /** null: never. */
  expiresAt: number | null;
}

export const toToken = (value: DocumentValue) => value as unknown as Token;

export function isExpired({ expiresAt }: Token, now: number): boolean {
  return expiresAt !== null && now >= expiresAt;
}

/** The token of this id, if it still lets anybody in. */
export function validToken(view: Pick<View, "document">, id: string, now: number): Token | null {
  const value = view.document(tokenKind, id);
  return value && !isExpired(toToken(value), now) ? toToken(value) : null;
}
