// What agents are called. A runner's default name ends with `@` and its host; the host is shown where more than one is involved.

interface Named {
  id: string;
  name: string | null;
  host: string | null;
}

export function hasSeveralHosts(sessions: readonly Named[]): boolean {
  return new Set(sessions.flatMap(({ host }) => host ?? [])).size > 1;
}

/** `claude-1@laptop`; without hosts `claude-1`; a name that has no host in it gets it behind. */
export function agentName({ id, name, host }: Named, withHost: boolean): string {
  const shown = name || id;
  const at = shown.lastIndexOf("@");
  if (at > 0) return withHost ? shown : shown.slice(0, at);
  return withHost && host !== null ? `${shown} on ${host.slice(0, 8)}` : shown;
}
