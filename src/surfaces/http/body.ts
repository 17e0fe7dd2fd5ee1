// A request's body: JSON only, of a bounded size, within a bounded time.

import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { DibsError } from "../../contract/error.js";
import { ByteBuffer } from "../../runtime/byte-buffer.js";

export interface BodyLimits {
  bytesMax: number;
  ms: number;
}

const json = /^application\/(?:[a-z.+-]+\+)?json\s*(?:;|$)/i;

/** Judged before anything is read: a form of another site cannot send JSON without being asked about it first. */
export function refuseOtherMedia(incoming: IncomingMessage): void {
  const type = incoming.headers["content-type"];
  const packed = incoming.headers["content-encoding"] ?? "identity";
  if (packed !== "identity") {
    throw new DibsError("UNSUPPORTED_MEDIA_TYPE", `The body must not be packed (${packed.slice(0, 100)}).`, {
      hint: "Leave the header Content-Encoding away.",
    });
  }
  if (type === undefined ? !hasBody(incoming) : json.test(type)) return;
  throw new DibsError(
    "UNSUPPORTED_MEDIA_TYPE",
    `The body must be JSON, not ${(type ?? "of no type").slice(0, 100)}.`,
    {
      hint: "Send the header Content-Type: application/json.",
    },
  );
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

export async function readJsonObject(
  incoming: IncomingMessage,
  limits: BodyLimits,
): Promise<Record<string, unknown>> {
  if (!hasBody(incoming)) return {};
  const bytes = await readBytes(incoming, limits);
  // Decoded all the same, what is wrong would become U+FFFD in somebody's task without a word.
  if (!isUtf8(bytes)) throw unreadable("The body is not UTF-8.");
  const text = bytes.toString("utf8");
  if (text.trim() === "") return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw unreadable("The body is not valid JSON.");
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw unreadable("The body must be a JSON object.");
}

/** The whole of it is wrong, not a field. */
function unreadable(message: string): DibsError {
  return new DibsError("VALIDATION_FAILED", message, { details: { issues: [{ path: "", message }] } });
}

export function readBytes(incoming: IncomingMessage, { bytesMax, ms }: BodyLimits): Promise<Buffer> {
  const tooLarge = () =>
    new DibsError("PAYLOAD_TOO_LARGE", `The body has more than ${bytesMax} bytes.`, {
      details: { bytesMax },
    });
  if (Number(incoming.headers["content-length"] ?? 0) > bytesMax) return Promise.reject(tooLarge());
  return new Promise((resolve, reject) => {
    const body = new ByteBuffer(bytesMax);
    const timer = setTimeout(
      () => end(new DibsError("REQUEST_TIMEOUT", `The body did not arrive within ${ms} ms.`)),
      ms,
    );
    const end = (error: Error | null) => {
      clearTimeout(timer);
      incoming.off("data", onData).off("end", onEnd).off("close", onClose).off("error", onClose);
      if (error) {
        incoming.pause();
        reject(error);
      } else resolve(body.take());
    };
    const onData = (chunk: Buffer) => {
      if (!body.add(chunk)) end(tooLarge());
    };
    const onEnd = () => end(null);
    const onClose = () => end(new DibsError("REQUEST_TIMEOUT", "The request ended before its body did."));
    incoming.on("data", onData).on("end", onEnd).on("close", onClose).on("error", onClose);
  });
}

/** How long, and how much, is read past before the connection is closed. */
const readPastMax = { ms: 500, bytes: 64 * 1024 * 1024 };

/** Reads the rest of a body that nobody wants: a client that first writes all of it still gets the answer. */
export function readPast(incoming: IncomingMessage): void {
  if (incoming.destroyed || incoming.readableEnded) return;
  let bytes = 0;
  const end = () => {
    clearTimeout(timer);
    incoming.off("data", onData).off("end", end).off("close", end);
  };
  const cut = () => {
    end();
    incoming.socket.destroySoon();
  };
  const onData = (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > readPastMax.bytes) cut();
  };
  const timer = setTimeout(cut, readPastMax.ms).unref();
  incoming.on("data", onData).on("end", end).on("close", end).on("error", end);
  incoming.resume();
}
