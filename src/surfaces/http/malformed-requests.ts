// Malformed requests: a header that is too long, incomplete or not HTTP. Node's parser refuses them before any route. They
// are answered here with the same problem document as other refusals, and the connection closes.

import { maxHeaderSize, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { httpStatus } from "../../contract/codes.js";
import { DibsError } from "../../contract/error.js";
import { problemBody } from "../../contract/problem.js";
import { apiHeaders } from "./guard.js";
import { problemHeaders } from "./problem.js";

/** A client that is still writing would lose the answer if the connection closed at once. */
const lingerMs = 1_000;

/** `isAnswered`: an answer has begun on this connection and must not be interrupted. */
export function refuseMalformed(
  error: NodeJS.ErrnoException,
  socket: Socket,
  isAnswered: (socket: Socket) => boolean,
): void {
  // Only the first error of a connection is answered.
  if (socket.writableEnded) return;
  if (!socket.writable || isAnswered(socket)) {
    socket.destroy();
    return;
  }
  socket.end(inFull(refusalOf(error.code)));
  const cut = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(cut));
}

interface HttpRefusal {
  status: number;
  refusal: DibsError;
}

function refusalOf(code: string | undefined): HttpRefusal {
  if (code === "HPE_HEADER_OVERFLOW") {
    const message = `The address and the headers have more than ${maxHeaderSize} bytes.`;
    const hint = "Long text belongs into the body; long lists of filters into several calls.";
    return { status: 431, refusal: new DibsError("PAYLOAD_TOO_LARGE", message, { hint }) };
  }
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") {
    return usual(new DibsError("REQUEST_TIMEOUT", "The request did not arrive in time."));
  }
  if (code === "HPE_CHUNK_EXTENSIONS_OVERFLOW") {
    return usual(new DibsError("PAYLOAD_TOO_LARGE", "The extensions of a chunk are too long."));
  }
  return usual(new DibsError("VALIDATION_FAILED", "This is not an HTTP request."));
}

const usual = (refusal: DibsError): HttpRefusal => ({ status: httpStatus[refusal.code], refusal });

function inFull({ status, refusal }: HttpRefusal): string {
  const body = JSON.stringify(problemBody(refusal, status));
  const headers = {
    ...apiHeaders,
    ...problemHeaders(refusal),
    connection: "close",
    "content-length": String(Buffer.byteLength(body)),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("\r\n")}\r\n\r\n${body}`;
}
