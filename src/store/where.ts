/** A WHERE clause in the making; `?` stands for the next value. */
export class Where<V> {
  private readonly conditions: string[] = [];
  readonly values: V[] = [];

  and(condition: string, ...values: V[]): this {
    this.conditions.push(condition);
    this.values.push(...values);
    return this;
  }

  /** Only if the filter names a value. */
  andIf<T extends V>(value: T | null | undefined, condition: string): this {
    return value === null || value === undefined ? this : this.and(condition, value);
  }

  get text(): string {
    return this.conditions.join(" AND ");
  }
}

/** A part of a text, for LIKE with `\` as escape. */
export const likePart = (text: string) => `%${text.replace(/[\\%_]/g, "\\$&")}%`;
