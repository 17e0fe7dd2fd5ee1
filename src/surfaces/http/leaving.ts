// When a caller stops waiting for its answer. A client that sends FIN behind its request has closed its connection, or only its own
// half of it and still reads: until something is written to it, the two look the same. So every request is answered, but what could
// last is ended by a FIN: a wait is answered with what there is now (else a task would be handed to a client that may be gone), and
// a stream of events ends.

import type { IncomingMessage, ServerResponse } from "node:http";

export interface Exchange {
  incoming: IncomingMessage;
  outgoing: ServerResponse;
}

/** Calls back once: at the client's FIN, or when the connection is gone. The answer stops that. */
export function onLeaving({ incoming: { socket }, outgoing }: Exchange, leave: () => void): () => void {
  const stop = () => {
    socket.off("end", left);
    outgoing.off("close", left);
  };
  const left = () => {
    stop();
    leave();
  };
  // It may have left while its request was read.
  if (outgoing.closed || socket.readableEnded) leave();
  else {
    socket.once("end", left);
    outgoing.once("close", left);
  }
  return stop;
}

export function leavingSignal(exchange: Exchange): { signal: AbortSignal; stop: () => void } {
  const leaving = new AbortController();
  const stop = onLeaving(exchange, () => leaving.abort());
  return { signal: leaving.signal, stop };
}
