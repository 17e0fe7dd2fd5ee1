import { type Code, type Refusal, refusals } from "../core/refusal.js";

/** A refusal as an exception: what callers of the library catch. Its details are also readable as properties of `details`. */
export class DibsError extends Error {
  override name = "DibsError";
  readonly code: Code;
  readonly hint: string | undefined;
  /** The same call may succeed later. */
  readonly retryable: boolean;
  readonly details: Record<string, unknown>;

  constructor(
    code: Code,
    message: string,
    more: { hint?: string | undefined; details?: Record<string, unknown> | undefined; cause?: unknown } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.code = code;
    this.hint = more.hint;
    this.retryable = refusals[code].transient;
    this.details = more.details ?? {};
  }

  static from(refusal: Refusal): DibsError {
    return new DibsError(refusal.code, refusal.message, refusal);
  }

  /** The error as every surface shows it. */
  toJSON(): Record<string, unknown> {
    return {
      success: false,
      error: this.code,
      message: this.message,
      ...(this.hint === undefined ? {} : { hint: this.hint }),
      retryable: this.retryable,
      ...this.details,
    };
  }
}
