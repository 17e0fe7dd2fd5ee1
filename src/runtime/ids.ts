import { createHash, randomInt } from "node:crypto";

const letters = "abcdefghijkmnpqrstuvwxyz23456789";

function randomWord(length: number): string {
  let word = "";
  for (let i = 0; i < length; i++) word += letters[randomInt(letters.length)];
  return word;
}

export const newSessionId = () => `s-${randomWord(10)}`;
export const newCorrelationId = () => `corr-${randomWord(12)}`;
export const fingerprint = (text: string) => createHash("sha256").update(text).digest("base64url");
