import { basename, dirname, resolve } from "node:path";

/** A directory's name as a project's name. */
export function slug(name: string): string {
  const cleaned = name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 64);
  return cleaned || "default";
}

/** `…/shop/.dibs/dibs.db`, `…/shop/dibs.db` and `…/shop.git/.dibs/dibs.db` belong to project shop. */
export function projectNameFor(file: string): string {
  const directory = dirname(resolve(file));
  return slug(basename(basename(directory) === ".dibs" ? dirname(directory) : directory, ".git"));
}
