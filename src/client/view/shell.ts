// Words of a command line that can be pasted.

/** For a POSIX shell. */
export function shellWord(text: string): string {
  return /^[\w./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** A value that begins with a dash would be taken for a flag. */
export function flagWords(name: string, value: string | undefined): string[] {
  if (value === undefined) return [];
  return value.startsWith("-") ? [`--${name}=${value}`] : [`--${name}`, value];
}
