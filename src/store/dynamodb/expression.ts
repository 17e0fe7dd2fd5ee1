// Conditions, updates and key ranges as expressions of the service. Names and values are placeholders: many words are reserved.

import type { AttributeValue, Condition, Item, Query, Update } from "./client.js";

export class Expression {
  private readonly attributes = new Map<string, string>();
  private readonly values: Item = {};
  private count = 0;

  conditions(conditions: readonly Condition[]): string {
    return conditions.map((condition) => this.condition(condition)).join(" AND ");
  }

  private condition(condition: Condition): string {
    if ("absent" in condition) return `attribute_not_exists(${this.name(condition.absent)})`;
    if ("present" in condition) return `attribute_exists(${this.name(condition.present)})`;
    if ("anyOf" in condition) return `(${condition.anyOf.map((each) => this.condition(each)).join(" OR ")})`;
    const name = this.name(condition.attribute);
    if ("equals" in condition) return `${name} = ${this.value(condition.equals)}`;
    if ("differs" in condition) return `${name} <> ${this.value(condition.differs)}`;
    if ("below" in condition) return `${name} < ${this.value(condition.below)}`;
    return `${name} > ${this.value(condition.above)}`;
  }

  range({ partition, from, to }: Query): string {
    const equal = `${this.name("PK")} = ${this.value({ S: partition })}`;
    if (from === undefined && to === undefined) return equal;
    const sort = this.name("SK");
    if (to === undefined) return `${equal} AND ${sort} >= ${this.value({ S: from! })}`;
    if (from === undefined) return `${equal} AND ${sort} <= ${this.value({ S: to })}`;
    return `${equal} AND ${sort} BETWEEN ${this.value({ S: from })} AND ${this.value({ S: to })}`;
  }

  update({ set = {}, remove = [], add = {} }: Update): string {
    const sets = Object.entries(set).map(([name, value]) => `${this.name(name)} = ${this.value(value)}`);
    const adds = Object.entries(add).map(
      ([name, by]) => `${this.name(name)} ${this.value({ N: String(by) })}`,
    );
    const clauses = { SET: sets, REMOVE: remove.map((name) => this.name(name)), ADD: adds };
    return Object.entries(clauses)
      .filter(([, parts]) => parts.length > 0)
      .map(([clause, parts]) => `${clause} ${parts.join(", ")}`)
      .join(" ");
  }

  names(attributes: readonly string[]): string {
    return attributes.map((name) => this.name(name)).join(", ");
  }

  placeholders(): {
    ExpressionAttributeNames?: Record<string, string>;
    ExpressionAttributeValues?: Item;
  } {
    const names = Object.fromEntries([...this.attributes].map(([name, placeholder]) => [placeholder, name]));
    return {
      ...(this.attributes.size > 0 && { ExpressionAttributeNames: names }),
      ...(this.count > 0 && { ExpressionAttributeValues: this.values }),
    };
  }

  private name(attribute: string): string {
    const known = this.attributes.get(attribute);
    if (known !== undefined) return known;
    const placeholder = `#a${this.attributes.size}`;
    this.attributes.set(attribute, placeholder);
    return placeholder;
  }

  private value(value: AttributeValue): string {
    const placeholder = `:v${this.count++}`;
    this.values[placeholder] = value;
    return placeholder;
  }
}
