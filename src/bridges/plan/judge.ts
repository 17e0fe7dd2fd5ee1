// Which nodes of a Markdown document are tasks. The rest is text of the nearest task above it, so that no line is lost.
//
// A box makes a task. So do a heading or a line that says it (`Task 3: …`, fields below it, a number), and an item in a list
// of tasks. A list is one if it has boxes in it or below it or says what its items wait for. In a document without boxes it is
// one unless it describes a task: it is written with less emphasis than its parent, or among fields.

import {
  factsOf,
  fieldOf,
  hasEvidence,
  hasStrongFields,
  isAttribute,
  isOnlyWaits,
  isStep,
  isStepBelow,
  isTaskName,
  rankOf,
  saysWaits,
  unboxedLists,
} from "./evidence.js";
import { isCriteria } from "./fields.js";
import { splitBold } from "./inline.js";
import { saysTask, splitLabel } from "./labels.js";
import type { HeadingKind, Place, Role } from "./roles.js";
import { asides, bareOf, groups, plans, titleWords } from "./section-names.js";
import { saysMore, taskColumns } from "./table.js";
import {
  childrenOf,
  type HeadingNode,
  hasNumbers,
  headingOf,
  type ItemNode,
  isAbout,
  isItem,
  isThrough,
  type LabelNode,
  type Leaf,
  type List,
  type Node,
  type Root,
} from "./tree.js";

/** Which roles the nodes have; without one, a node is text. */
export function judge(root: Root): Judge {
  const first = new Judge(root, { hasAsides: true });
  return first.hasTasks ? first : new Judge(root, { hasAsides: false });
}

export class Judge {
  readonly roles = new Map<Node, Role>();
  /** Headings that were read as tasks because others beside them are. */
  readonly besides = new Set<HeadingNode>();
  private readonly kinds = new Map<HeadingNode, HeadingKind>();
  private readonly boxed = new Set<HeadingNode>();
  private readonly verdicts = new Map<List, boolean>();
  private readonly headings: HeadingNode[] = [];
  private readonly tables: Leaf[] = [];
  private hasBoxes = false;
  /** How many headings of the first level there are. */
  private topCount = 0;
  private hasHeadingTasks = false;
  private hasTaskTable = false;
  /** The least emphasis of a list without boxes that is one of tasks all the same. */
  private rankMin = Number.POSITIVE_INFINITY;

  constructor(
    private readonly root: Root,
    private readonly options: { hasAsides: boolean },
  ) {
    this.survey(root);
    for (const heading of this.headings) this.kinds.set(heading, this.kindOf(heading));
    if (options.hasAsides) this.setAsideBesidePlans(root);
    const leaves = this.headings.filter((each) => !this.boxed.has(each));
    this.hasHeadingTasks = leaves.some((each) => this.isHeadingTask(each));
    this.hasTaskTable =
      !this.hasBoxes && !this.hasHeadingTasks && this.tables.some((each) => this.isTaskTable(each));
    this.section(root);
    this.settleHeadings(root);
    if (!this.hasTasks && options.hasAsides) this.headingsAsTasks(root);
    this.settleTitle();
  }

  get hasTasks(): boolean {
    return [...this.roles.values()].some((role) => role === "task");
  }

  role(node: Node): Role {
    return this.roles.get(node) ?? "text";
  }

  isAside(heading: HeadingNode): boolean {
    return this.kinds.get(heading) === "aside";
  }

  /** Finds the headings, the tables and which headings have boxes below them. */
  private survey(root: Root): void {
    const visit = (node: Node, above: HeadingNode[], areCriteria: boolean) => {
      if (node.kind === "table") this.tables.push(node);
      if (node.kind === "heading") this.headings.push(node);
      if (node.kind === "heading" && node.level === 1) this.topCount++;
      if (node.kind === "item" && isAbout(node.item.text) && !node.item.box) return;
      if (node.kind === "label" && isCriteria(node.lines[0]!.text)) return;
      const isAccepted = areCriteria || (node.kind === "heading" && isCriteria(node.text));
      if (node.kind === "item" && node.item.box && !isAccepted) {
        this.hasBoxes = true;
        for (const heading of above) this.boxed.add(heading);
      }
      const inside = node.kind === "heading" ? [...above, node] : above;
      for (const child of childrenOf(node)) visit(child, inside, isAccepted);
    };
    for (const node of root.children) visit(node, [], false);
    for (const node of unboxedLists(root)) {
      if (node.items.some((each) => each.hasBoxBelow || saysWaits(each.item.text)))
        this.rankMin = Math.min(this.rankMin, rankOf(node));
    }
  }

  private kindOf(heading: HeadingNode): HeadingKind {
    const { parent } = heading;
    if (parent.kind === "heading" && (this.isAside(parent) || isStepBelow(heading, parent))) return "aside";
    const { label, rest } = splitLabel(heading.text);
    const bare = bareOf(rest);
    const isAside = this.options.hasAsides && asides.test(bare);
    if (isAside && (isCriteria(bare) || !this.boxed.has(heading)) && !saysTask(heading.text)) return "aside";
    if (groups.test(bare)) return "group";
    if (heading.box || saysTask(heading.text) || this.isStrong(heading)) return "strong";
    return label === undefined ? "plain" : "numbered";
  }

  /** Where a section is called "Tasks" or "Implementation plan", the others beside it are about something else. */
  private setAsideBesidePlans(section: Root | HeadingNode): void {
    const below = section.children.filter((child) => child.kind === "heading");
    const isPlan = (heading: HeadingNode) =>
      plans.test(bareOf(splitLabel(heading.text).rest)) &&
      heading.children.some((child) => child.kind !== "text" && child.kind !== "fence");
    const hasPlan = below.some(isPlan);
    for (const heading of below) {
      const kind = this.kinds.get(heading)!;
      const isOther =
        !isPlan(heading) && !this.boxed.has(heading) && (kind === "plain" || kind === "numbered");
      if (hasPlan && isOther && !this.holdsStrong(heading)) this.setAside(heading);
      else this.setAsideBesidePlans(heading);
    }
  }

  private holdsStrong(heading: HeadingNode): boolean {
    return (
      this.kinds.get(heading) === "strong" ||
      heading.children.some((child) => child.kind === "heading" && this.holdsStrong(child))
    );
  }

  private setAside(heading: HeadingNode): void {
    this.kinds.set(heading, "aside");
    for (const child of heading.children) if (child.kind === "heading") this.setAside(child);
  }

  private isHeadingTask(heading: HeadingNode): boolean {
    const kind = this.kinds.get(heading);
    if (kind === "strong") return true;
    return (
      kind === "numbered" &&
      !heading.children.some((child) => child.kind === "heading" && !this.isAside(child)) &&
      !hasNumbers(heading)
    );
  }

  private isTaskTable(table: Leaf): boolean {
    const columns = taskColumns(table.lines);
    const heading = headingOf(table.parent);
    if (!columns || (heading && this.isAside(heading))) return false;
    return (
      saysMore(columns) ||
      (this.headings.every((each) => !each.children.some(isItem)) && !this.root.children.some(isItem))
    );
  }

  private section(section: Root | HeadingNode): void {
    const isAside = section.kind === "heading" && this.isAside(section);
    for (const child of section.children)
      this.below(child, isAside ? { kind: "text" } : { kind: "section", section });
  }

  private below(node: Node, place: Place): void {
    if (node.kind === "heading") this.section(node);
    else if (node.kind === "item") this.item(node, place);
    else if (node.kind === "label") this.label(node, place);
    else if (node.kind === "table" && place.kind !== "text" && this.hasTaskTable && this.isTaskTable(node))
      this.roles.set(node, "task");
  }

  private label(node: LabelNode, place: Place): void {
    const { text } = node.lines[0]!;
    const isRoot = node.parent.kind === "root";
    let inside: Place = place;
    if (isAbout(text)) inside = { kind: "text" };
    else if (isThrough(text)) inside = place.kind === "text" ? place : { kind: "parts" };
    else if (!isRoot && place.kind !== "text") inside = { kind: "values" };
    for (const child of node.children) this.below(child, inside);
  }

  private item(node: ItemNode, place: Place): void {
    const role = this.itemRole(node, place);
    this.roles.set(node, role);
    for (const child of node.children) this.below(child, this.placeBelow(node, role, place));
  }

  private placeBelow(node: ItemNode, role: Role, place: Place): Place {
    if (role === "task" || role === "group") return { kind: "item", item: node };
    if (role === "through") return { kind: "parts" };
    const isField = place.kind !== "text" && fieldOf(node) !== undefined && !isAbout(node.item.text);
    return { kind: isField ? "values" : "text" };
  }

  private itemRole(node: ItemNode, place: Place): Role {
    const { item } = node;
    if (place.kind === "text") return "text";
    if (item.box) return this.isStepOfTask(node) || this.isRemark(node, place) ? "text" : "task";
    if (place.kind === "values") return "text";
    const isOwned = place.kind !== "section" || place.section.kind === "heading";
    if (isOwned && fieldOf(node)) return "text";
    if (isAbout(item.text) && (place.kind === "item" || this.hasBoxes)) return "text";
    if (isThrough(item.text) && node.children.length > 0) return "through";
    if (node.hasBoxBelow) return this.isBareGroup(node) ? "group" : "task";
    if (place.kind === "parts") return "task";
    const isTask =
      place.kind === "section"
        ? this.isTaskList(node.list, place.section)
        : this.arePartsOf(place.item, node.list);
    return isTask ? "task" : "text";
  }

  /** Fields below the only heading of the first level are about the document. */
  private isStrong(heading: HeadingNode): boolean {
    const isTitle =
      heading.level === 1 &&
      heading.parent.kind === "root" &&
      this.topCount === 1 &&
      (this.boxed.has(heading) || heading.children.some((child) => child.kind === "heading"));
    return !isTitle && hasStrongFields(heading);
  }

  /** `- [ ] **Step 1: Write the test**` below `### Task 3: …`: how to do the task, in this order. */
  private isStepOfTask({ item, list, parent }: ItemNode): boolean {
    const heading = headingOf(parent);
    if (!heading || !isStep(item.text) || !isTaskName(heading.text)) return false;
    return list.items.every((each) => !each.item.box || isStep(each.item.text));
  }

  /** `⏳ Waiting for 2` below a task. */
  private isRemark({ item, children }: ItemNode, place: Place): boolean {
    return place.kind === "item" && children.length === 0 && isOnlyWaits(item.text);
  }

  /** Nothing but a title above boxes, as are all others in its list. */
  private isBareGroup(node: ItemNode): boolean {
    const isBare = (each: ItemNode) =>
      splitBold(each.item.text).description === "" &&
      each.children.every((child) => child.kind === "item" || fieldOf(child) !== undefined);
    return isBare(node) && factsOf(node.list).areAllBoxed;
  }

  private isTaskList(list: List, section: Root | HeadingNode): boolean {
    const known = this.verdicts.get(list);
    if (known !== undefined) return known;
    const verdict = this.judgeList(list, section);
    this.verdicts.set(list, verdict);
    return verdict;
  }

  private judgeList(list: List, section: Root | HeadingNode): boolean {
    if (hasEvidence(list)) return true;
    const rank = rankOf(list);
    for (let at: Root | HeadingNode = section; at.kind === "heading"; at = at.parent as Root | HeadingNode) {
      const kind = this.kinds.get(at)!;
      if (kind === "strong" || (kind === "numbered" && at === section && rank === 0)) return false;
      if (kind === "group") break;
    }
    if (this.hasBoxes) return rank > 0 && rank >= this.rankMin;
    if (this.hasTaskTable) return false;
    const isInGroup = section.kind === "heading" && this.kinds.get(section) === "group";
    if (
      this.hasHeadingTasks &&
      !isInGroup &&
      !(section.kind === "heading" && this.kinds.get(section) === "numbered")
    )
      return false;
    return rank >= this.rankIn(section);
  }

  /** Of two kinds of lists in a section, the one with more emphasis has the tasks. */
  private rankIn(section: Root | HeadingNode): number {
    const lists = new Set(section.children.flatMap((child) => (child.kind === "item" ? [child.list] : [])));
    return [...lists].reduce((most, list) => Math.max(most, rankOf(list)), 0);
  }

  private arePartsOf(parent: ItemNode, list: List): boolean {
    const known = this.verdicts.get(list);
    if (known !== undefined) return known;
    const verdict = this.judgeParts(parent, list);
    this.verdicts.set(list, verdict);
    return verdict;
  }

  private judgeParts(parent: ItemNode, list: List): boolean {
    if (this.role(parent) === "group" && factsOf(list).hasBoxes) return true;
    if (parent.item.box) return false;
    if (factsOf(list).hasBoxes) return false;
    if (hasEvidence(list)) return true;
    if (this.hasBoxes || parent.children.some((child) => fieldOf(child) !== undefined)) return false;
    if (list.items.some(isAttribute)) return false;
    return groups.test(bareOf(splitLabel(parent.item.text).rest)) || rankOf(list) >= rankOf(parent.list);
  }

  /** From the inside out: a heading with tasks below it is their group. */
  private settleHeadings(section: Root | HeadingNode): boolean {
    const below = section.children.filter((child) => child.kind === "heading");
    const kept = below.filter((heading) => {
      if (this.isAside(heading)) return false;
      const holds = this.settleHeadings(heading);
      const kind = this.kinds.get(heading)!;
      if (holds)
        this.roles.set(heading, saysTask(heading.text) && this.hasOwnText(heading) ? "task" : "group");
      else if (kind === "strong" || kind === "numbered") this.roles.set(heading, "task");
      return this.roles.has(heading);
    });
    const levels = new Set(kept.map(({ level }) => level));
    const hasTask = kept.some((each) => this.role(each) === "task");
    for (const heading of below) {
      if (this.roles.has(heading) || this.isAside(heading) || (section === this.root && heading.level === 1))
        continue;
      const kind = this.kinds.get(heading)!;
      const isEmpty = heading.children.length === 0 && heading.level > 2;
      const isLike = kind === "group" ? kept.length > 0 : (hasTask || isEmpty) && levels.has(heading.level);
      if (!isLike) continue;
      this.roles.set(heading, "task");
      this.besides.add(heading);
    }
    return kept.length > 0 || this.holdsTasks(section);
  }

  /** Whether a task is among the items and tables below a node. */
  private holdsTasks(node: Root | Node): boolean {
    return ("children" in node ? node.children : []).some((child) => {
      if (child.kind === "heading") return false;
      const role = this.roles.get(child);
      return role === "task" || role === "group" || this.holdsTasks(child);
    });
  }

  private hasOwnText(heading: HeadingNode): boolean {
    return heading.children.some(
      (child) =>
        child.kind !== "heading" &&
        this.role(child) === "text" &&
        fieldOf(child) === undefined &&
        !(child.kind === "label" && isThrough(child.lines[0]!.text)),
    );
  }

  /** Without any other task, the headings are the tasks: those nearest to the top that are several. */
  private headingsAsTasks(section: Root | HeadingNode): void {
    const below = section.children.filter(
      (child) => child.kind === "heading" && !this.isAside(child),
    ) as HeadingNode[];
    if (below.length === 1) this.headingsAsTasks(below[0]!);
    if (below.length < 2) return;
    for (const heading of below) {
      const isGroup =
        this.kinds.get(heading) === "group" && heading.children.some((child) => child.kind === "heading");
      if (isGroup) this.headingsAsTasks(heading);
      this.roles.set(heading, isGroup && this.settledBelow(heading) ? "group" : "task");
    }
  }

  private settledBelow(heading: HeadingNode): boolean {
    return heading.children.some((child) => this.roles.get(child) === "task");
  }

  /** A heading above everything groups nothing: it is what the document is called. */
  private settleTitle(): void {
    for (let section: Root | HeadingNode = this.root; ; ) {
      const tops: Node[] = this.topsOf(section);
      const [top] = tops;
      if (tops.length !== 1 || top?.kind !== "heading" || this.role(top) !== "group") return;
      if (this.kinds.get(top) === "strong" || (top.level > 1 && !titleWords.test(top.text))) return;
      this.roles.set(top, "title");
      section = top;
    }
  }

  private topsOf(node: Root | Node): Node[] {
    return ("children" in node ? node.children : []).flatMap((child) =>
      ["task", "group"].includes(this.role(child)) ? [child] : this.topsOf(child),
    );
  }
}
