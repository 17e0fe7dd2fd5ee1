// What the nodes of a Markdown document can be.

import type { HeadingNode, ItemNode, Root } from "./tree.js";

/** A title is above everything; what is below `through` are parts of what is above it. */
export type Role = "task" | "group" | "title" | "text" | "through";

export type HeadingKind = "aside" | "group" | "strong" | "numbered" | "plain";

/** Where an item is: below what. */
export type Place =
  | { kind: "section"; section: Root | HeadingNode }
  | { kind: "item"; item: ItemNode }
  | { kind: "text" }
  | { kind: "parts" }
  | { kind: "values" };
