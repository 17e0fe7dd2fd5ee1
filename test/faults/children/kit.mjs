// What every child needs: its input, a voice, and the built library.

export * from "../../../dist/index.js";

export const input = JSON.parse(process.argv[2] ?? "{}");

/** Resolves when the parent's end of the pipe has it. */
export function say(type, more = {}) {
  return new Promise((resolve) => process.send({ type, ...more }, () => resolve()));
}

export function told(type) {
  return new Promise((resolve) => {
    const listen = (message) => {
      if (message.type !== type) return;
      process.off("message", listen);
      resolve(message);
    };
    process.on("message", listen);
  });
}

export function errorOf(error) {
  const { name, code, message, hint, details, errcode, stack } = error;
  return { name, code, message, hint, details, errcode, stack };
}

// A child whose parent is gone has nobody left to work for.
process.on("disconnect", () => process.exit(1));
