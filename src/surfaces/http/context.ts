// One request while it is answered: what it says, and how its answer is written.

import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { httpStatus } from "../../contract/codes.js";
import type { DibsError } from "../../contract/error.js";
import { problemBody } from "../../contract/problem.js";
import type { Caller } from "../../operations/environment.js";
import { hasBody, readPast } from "./body.js";
import { apiHeaders } from "./guard.js";
import { problemHeaders } from "./problem.js";

export interface Call {
  id: string;
  startedAt: number;
  /** The route's pattern: no ids, no texts. */
  route: string;
  caller: Caller | null;
  /** What it was refused with. */
  error: DibsError | null;
  /** The operations that changed something. */
  changedBy: Set<string>;
}

export class Http {
  /** Values of the route's placeholders. */
  params: Readonly<Record<string, string>> = {};
  private parsed: URLSearchParams | null = null;

  constructor(
    readonly incoming: IncomingMessage,
    readonly outgoing: ServerResponse,
    readonly call: Call,
    readonly path: string,
    /** Without its question mark. */
    private readonly search: string,
  ) {}

  get method(): string {
    return this.incoming.method ?? "GET";
  }

  get query(): URLSearchParams {
    this.parsed ??= new URLSearchParams(this.search);
    return this.parsed;
  }

  queried(name: string): string | undefined {
    return this.search === "" ? undefined : (this.query.get(name) ?? undefined);
  }

  /** One that is not a list. */
  header(name: string): string | undefined {
    return this.incoming.headers[name] as string | undefined;
  }

  json(value: unknown, status = 200, headers?: OutgoingHttpHeaders): void {
    this.answer(JSON.stringify(value), "application/json; charset=utf-8", status, headers);
  }

  text(text: string, type = "text/plain; charset=utf-8"): void {
    this.answer(text, type);
  }

  problem(error: DibsError): void {
    this.json(problemBody(error), httpStatus[error.code], problemHeaders(error));
  }

  private answer(body: string, type: string, status = 200, headers?: OutgoingHttpHeaders): void {
    this.send(status, { ...apiHeaders, "content-type": type, ...headers }, body);
  }

  /** Null: there is no body. */
  send(status: number, headers: OutgoingHttpHeaders, body: string | Uint8Array | null): void {
    const { incoming, outgoing } = this;
    // What is answered early is read past.
    if (!incoming.readableEnded && hasBody(incoming)) outgoing.once("finish", () => readPast(incoming));
    headers["dibs-request-id"] = this.call.id;
    if (body !== null) headers["content-length"] = Buffer.byteLength(body);
    outgoing.writeHead(status, headers);
    outgoing.end(body);
  }
}
