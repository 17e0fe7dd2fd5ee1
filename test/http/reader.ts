// A reader of the event stream on a raw socket: it reads, stops reading, breaks off in the middle of a message, and comes back.

import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";

/** One message as it was sent: its number, and its data as text. */
export interface Message {
  id: string;
  data: string;
}

/** What tests look at in an event. */
export interface Seen {
  seq: number;
  type: string;
  project: string | null;
  taskId: string | null;
  sessionId: string | null;
}

export interface Ask {
  url: string;
  token: string | null;
  /** Such as `project=*&after=3`. */
  query?: string;
  lastEventId?: number | string | undefined;
  onMessage?: (message: Message, reader: Reader) => void;
}

/** What a line of the stream may be; anything else is a defect. */
const knownLine = /^(id|data|retry): (.*)$/;

export class Reader {
  readonly messages: Message[] = [];
  readonly comments: string[] = [];
  retry: number | null = null;
  status = 0;
  contentType = "";
  /** The whole answer where it is a refusal. */
  body = "";
  /** How it ended: "complete" as the protocol says, or "cut off". */
  readonly ended: Promise<"complete" | "cut off">;
  readonly opened: Promise<void>;
  isOver = false;
  private readonly request: ClientRequest;
  private answer: IncomingMessage | null = null;
  private rest = "";
  private message: { id?: string; data?: string } = {};
  private readonly onMessage: Ask["onMessage"];

  constructor({ url, token, query = "", lastEventId, onMessage }: Ask) {
    this.onMessage = onMessage;
    this.request = httpRequest(`${url}/api/events/stream?${query}`, {
      agent: false,
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(lastEventId === undefined ? {} : { "last-event-id": String(lastEventId) }),
      },
    });
    let onOpened = () => {};
    this.opened = new Promise((resolve) => {
      onOpened = resolve;
    });
    this.ended = new Promise((resolve) => {
      const over = (how: "complete" | "cut off") => {
        this.isOver = true;
        onOpened();
        resolve(how);
      };
      this.request.on("error", () => over("cut off"));
      this.request.on("response", (answer) => {
        this.answer = answer;
        this.status = answer.statusCode!;
        this.contentType = answer.headers["content-type"] ?? "";
        answer.setEncoding("utf8");
        answer.on("data", (text: string) => this.take(text));
        answer.on("error", () => over("cut off"));
        answer.on("close", () => over(answer.complete ? "complete" : "cut off"));
        onOpened();
      });
    });
    this.request.end();
  }

  get events(): Seen[] {
    return this.messages.map(({ data }) => JSON.parse(data)).filter(({ type }) => type !== "reset");
  }

  /** Takes nothing more from the socket. */
  pause(): void {
    this.answer?.pause();
  }

  resume(): void {
    this.answer?.resume();
  }

  destroy(): void {
    this.isOver = true;
    this.request.destroy();
  }

  private take(text: string): void {
    if (this.status !== 200) {
      this.body += text;
      return;
    }
    const lines = (this.rest + text).split("\n");
    this.rest = lines.pop()!;
    for (const line of lines) {
      if (this.request.destroyed) return; // What comes after the reader has gone is not read.
      this.line(line);
    }
  }

  private line(line: string): void {
    if (line === "") {
      const { id, data } = this.message;
      this.message = {};
      if (data === undefined) return;
      if (id === undefined) throw new Error(`a message without a number: ${data.slice(0, 200)}`);
      const message = { id, data };
      if (this.onMessage) this.onMessage(message, this);
      else this.messages.push(message);
    } else if (line.startsWith(":")) {
      this.comments.push(line.slice(1).trim());
    } else {
      const [, field, value] = knownLine.exec(line) ?? [];
      if (field === "retry") this.retry = Number(value);
      else if (field === "id" && this.message.id === undefined) this.message.id = value!;
      else if (field === "data" && this.message.data === undefined) this.message.data = value!;
      else throw new Error(`not a line of our streams: ${line.slice(0, 200)}`);
    }
  }
}
