// The one-time link: its code leaves the address before anything else happens, and becomes a cookie that scripts cannot read.

export interface Refused {
  message: string;
  hint?: string;
}

/** Null: there was no code, or it was good. */
export async function signInByLink(): Promise<Refused | null> {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (!code) return null;
  history.replaceState(null, "", location.pathname + location.search);
  return post("/api/auth/exchange", { code });
}

export async function signOut(): Promise<void> {
  await post("/api/auth/sign-out", {});
  location.assign("/");
}

async function post(path: string, body: unknown): Promise<Refused | null> {
  try {
    const headers = { "content-type": "application/json" };
    const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
    if (answer.ok) return null;
    const { message, hint } = (await answer.json()) as Refused;
    return { message, hint };
  } catch {
    return { message: "No answer from the server.", hint: "Is `dibs serve` still running?" };
  }
}
