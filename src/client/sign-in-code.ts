// A one-time code that signs a browser in: not an operation, because it is only for pages that the server itself serves.

import { DibsError } from "../contract/error.js";
import { answerOf, headersFor, lost, replyOf, type Server, Trouble } from "./wire.js";

export interface SignInCode {
  code: string;
  expiresAt: string;
}

const answerMs = 15_000;

/** `role`: what whoever uses it may do, at most what the token may; default: the same. */
export async function signInCode(
  server: Server & { fetch: typeof globalThis.fetch },
  role?: string,
): Promise<SignInCode> {
  const url = server.url.replace(/\/+$/, "");
  const request = {
    method: "POST",
    headers: { ...headersFor(server), "content-type": "application/json" },
    body: JSON.stringify({ role }),
    signal: AbortSignal.timeout(answerMs),
  };
  try {
    const response = await server.fetch(`${url}/api/auth/code`, request);
    return answerOf(url, replyOf(response, await response.text())) as SignInCode;
  } catch (error) {
    if (error instanceof Trouble) throw error.error;
    if (error instanceof DibsError) throw error;
    throw lost(url, error).error;
  }
}
