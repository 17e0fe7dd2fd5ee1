// Disconnects of clients. A client that sends FIN after its request has closed the connection, or only its own half and still
// reads: the server cannot tell until it writes. So every request is answered, but a FIN ends long ones: a waiting claim
// returns what is ready now (a later task would go to a client that may be gone), and an event stream closes.

import type { IncomingMessage, ServerResponse } from "node:http";

export interface NodeExchange {
  incoming: IncomingMessage;
  outgoing: ServerResponse;
}

/** Calls back once, at the client's FIN or when the connection closes. The returned function removes the listeners. */
export function onDisconnect(
  { incoming: { socket }, outgoing }: NodeExchange,
  leave: () => void,
): () => void {
  const stop = () => {
    socket.off("end", left);
    outgoing.off("close", left);
  };
  const left = () => {
    stop();
    leave();
  };
  // The client can disconnect while its request is read.
  if (outgoing.closed || socket.readableEnded) leave();
  else {
    socket.once("end", left);
    outgoing.once("close", left);
  }
  return stop;
}

export function disconnectSignal(exchange: NodeExchange): { signal: AbortSignal; stop: () => void } {
  const leaving = new AbortController();
  const stop = onDisconnect(exchange, () => leaving.abort());
  return { signal: leaving.signal, stop };
}
