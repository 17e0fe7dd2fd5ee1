/** Loaded when it is needed: most commands need none. */
const crypto = () => process.getBuiltinModule("node:crypto");

const letters = "abcdefghijkmnpqrstuvwxyz23456789";

function randomWord(length: number): string {
  const { randomInt } = crypto();
  let word = "";
  for (let i = 0; i < length; i++) word += letters[randomInt(letters.length)];
  return word;
}

export const newSessionId = () => `s-${randomWord(10)}`;
export const newCorrelationId = () => `corr-${randomWord(12)}`;
export const fingerprint = (text: string) => crypto().createHash("sha256").update(text).digest("base64url");
export const newTokenId = () => `t-${randomWord(10)}`;
export const newSecret = () => crypto().randomBytes(32).toString("base64url");
/** In one shot: with every request a token is hashed. */
export const digest = (text: string) => crypto().hash("sha256", text, "hex");

export function isSame(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && crypto().timingSafeEqual(left, right);
}
