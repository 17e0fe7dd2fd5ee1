import { z } from "zod";

/** Inputs are judged as they come: to compile a schema pays only for those who judge many. */
export function judgeWithoutCompiling(): void {
  z.config({ jitless: true });
}
