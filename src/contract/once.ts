/** Made when it is first asked for: a command needs few schemas of hundreds. */
export function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
