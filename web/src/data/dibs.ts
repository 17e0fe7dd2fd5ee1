// The server behind this page. Every call goes through the same typed client as everybody's; the cookie says who we are.

import { connectDibs, type Dibs, DibsError } from "../../../src/client/connect.js";
import { judgeWithoutCompiling } from "../../../src/contract/brief.js";

export type * from "../../../src/client/connect.js";
export { DibsError };

// The page's policy forbids to compile anything.
judgeWithoutCompiling();

let heardAt = Date.now();

/** When the server last gave a sign of life, be it a comment in the stream. */
export const lastHeardAt = () => heardAt;

/** The browser's own, with an ear for whether anything comes. */
async function hearingFetch(...call: Parameters<typeof fetch>): Promise<Response> {
  const response = await fetch(...call);
  heardAt = Date.now();
  if (!response.body || !response.headers.get("content-type")?.startsWith("text/event-stream"))
    return response;
  const hearing = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(chunk, onward) {
      heardAt = Date.now();
      onward.enqueue(chunk);
    },
  });
  return new Response(response.body.pipeThrough(hearing), response);
}

// A person is waiting: trying twice is enough, and what went wrong is shown. The server breaks the silence every 15 s: one that
// keeps it for much longer is away, whatever the connection says.
export const dibs: Dibs = connectDibs({
  url: "/",
  retry: { tries: 2 },
  timeoutMs: 20_000,
  silenceMs: 22_000,
  fetch: hearingFetch,
});

/** Signed out, or the sign-in is over. */
export const isSignedOut = (error: unknown) => error instanceof DibsError && error.code === "UNAUTHENTICATED";

/** What to say about something that went wrong. */
export function troubleOf(error: unknown): { message: string; hint?: string; code?: string } {
  if (error instanceof DibsError) return { message: error.message, hint: error.hint, code: error.code };
  return { message: error instanceof Error ? error.message : String(error) };
}
