import { userInfo } from "node:os";

/** The login name; a container may have none. */
export function userName(): string {
  try {
    return userInfo().username || "local";
  } catch {
    return "local";
  }
}
