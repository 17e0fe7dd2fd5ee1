// How rows are written into columns, and back: one table of fields per row. A field that is missing there does not compile.

export type Value = string | number | null;
// biome-ignore lint/suspicious/noExplicitAny: a row is decoded by position; its types are the schema's.
export type Row = any[];

/** Every column with the name of its table in front. */
export const prefixed = (table: string, columns: string) => columns.replaceAll(/\w+/g, `${table}.$&`);

export interface Converted<F, V = Value> {
  column: string;
  encode(value: F): V;
  // biome-ignore lint/suspicious/noExplicitAny: its type is the schema's.
  decode(stored: any): F;
}

/** The name of the column, if the value is stored as it is. */
type Stored<F, V> = ([F] extends [V] ? string : never) | Converted<F, V>;

interface Field {
  name: string;
  column: string;
  convert: Converted<unknown, unknown> | null;
}

/** The columns of a table, in the order of the fields. `V`: what the database stores. */
export class Layout<T extends object, V = Value> {
  /** `a, b, c` */
  readonly columns: string;
  private readonly fields: Field[];
  /** Copied for each row: quicker than adding one field after the other. */
  private readonly blank: Record<string, unknown> = {};

  constructor(fields: { [F in keyof T]-?: Stored<T[F], V> }) {
    this.fields = Object.entries(fields as Record<string, string | Converted<never, V>>).map(
      ([name, stored]) =>
        typeof stored === "string"
          ? { name, column: stored, convert: null }
          : { name, column: stored.column, convert: stored as unknown as Converted<unknown, unknown> },
    );
    this.columns = this.fields.map(({ column }) => column).join(", ");
    for (const { name } of this.fields) this.blank[name] = null;
  }

  get width(): number {
    return this.fields.length;
  }

  /** The same, of some fields only, in their order in the whole table. */
  part<F extends keyof T>(isMeant: (field: F) => boolean): Layout<Pick<T, F>, V> {
    const fields = this.fields.filter(({ name }) => isMeant(name as F));
    const stored = fields.map(({ name, column, convert }) => [name, convert ?? column]);
    return new Layout<Pick<T, F>, V>(Object.fromEntries(stored));
  }

  encode(row: T): V[] {
    const values: V[] = [];
    for (const { name, convert } of this.fields) {
      const value = (row as Record<string, unknown>)[name];
      values.push((convert === null ? value : convert.encode(value)) as V);
    }
    return values;
  }

  decode(row: Row): T {
    const decoded = { ...this.blank };
    for (let at = 0; at < this.fields.length; at++) {
      const { name, convert } = this.fields[at]!;
      decoded[name] = convert === null ? row[at] : convert.decode(row[at]);
    }
    return decoded as T;
  }
}
