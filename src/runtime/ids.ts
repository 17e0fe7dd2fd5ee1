import { createHash, randomBytes, randomInt, timingSafeEqual } from "node:crypto";

const letters = "abcdefghijkmnpqrstuvwxyz23456789";

function randomWord(length: number): string {
  let word = "";
  for (let i = 0; i < length; i++) word += letters[randomInt(letters.length)];
  return word;
}

export const newSessionId = () => `s-${randomWord(10)}`;
export const newCorrelationId = () => `corr-${randomWord(12)}`;
export const fingerprint = (text: string) => createHash("sha256").update(text).digest("base64url");
export const newTokenId = () => `t-${randomWord(10)}`;
export const newSecret = () => randomBytes(32).toString("base64url");
export const digest = (text: string) => createHash("sha256").update(text).digest("hex");

export function isSame(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
