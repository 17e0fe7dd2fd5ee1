// A token lets a caller of the network in, with a role in one org. Its secret is known to its bearer alone: stored is a hash.

import type { Role } from "./role.js";
import type { DocumentValue, View } from "./view.js";

export const tokenKind = "token";
const parentsMax = 10;

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
  /** The token it ends with, such as the one a browser was signed in with. */
  parent?: string | undefined;
}

export const toToken = (value: DocumentValue) => value as unknown as Token;

export function isExpired({ expiresAt }: Token, now: number): boolean {
  return expiresAt !== null && now >= expiresAt;
}

/** The token of this id, if it still lets anybody in. */
export function validToken(view: Pick<View, "document">, id: string, now: number, depth = 0): Token | null {
  const value = view.document(tokenKind, id);
  const token = value && toToken(value);
  if (!token || isExpired(token, now)) return null;
  if (token.parent === undefined) return token;
  return depth < parentsMax && validToken(view, token.parent, now, depth + 1) ? token : null;
}
