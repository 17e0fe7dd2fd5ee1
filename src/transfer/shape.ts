// What a value must look like, said once for both ways: how it is written, and what is accepted when it is read.

export interface Shape<T> {
  /** What is wrong with a value that was read, as a sentence about `path`, or null. */
  problem(value: unknown, path: string): string | null;
  /** The value with its fields in order, whatever order a store keeps them in. */
  ordered(value: T): unknown;
}

function plain<T>(what: string, fits: (value: unknown) => boolean): Shape<T> {
  return {
    problem: (value, path) => (fits(value) ? null : `${path} must be ${what}`),
    ordered: (value) => value,
  };
}

// SQLite ends a text at NUL and PostgreSQL refuses it; unpaired surrogates have no UTF-8 form.
const isText = (value: unknown) =>
  typeof value === "string" && !value.includes("\u0000") && value.isWellFormed();

export const text = plain<string>("a text of valid Unicode without NUL characters", isText);
export const whole = plain<number>("a whole number", Number.isSafeInteger);
export const real = plain<number>("a number", Number.isFinite);
export const flag = plain<boolean>("true or false", (value) => typeof value === "boolean");
/** Keys join ids by slashes. What else an id may have is judged when it is made. */
export const id = plain<string>("an id", (value) => isText(value) && /^[^/]+$/.test(value as string));

/** One of the words; as the keys of a record, so that none can be forgotten. */
export function word<T extends string>(words: Record<T, true>): Shape<T> {
  const known = Object.keys(words);
  return plain(`one of ${known.join(", ")}`, (value) => known.includes(value as string));
}

export function orNull<T>(shape: Shape<T>): Shape<T | null> {
  return {
    problem: (value, path) => (value === null ? null : shape.problem(value, path)),
    ordered: (value) => (value === null ? null : shape.ordered(value)),
  };
}

/** A field that is left out when there is nothing in it. */
export function unlessNull<T>(shape: Shape<T>): Shape<T | null> {
  return {
    problem: (value, path) => (value === undefined ? null : shape.problem(value, path)),
    ordered: (value) => (value === null ? undefined : shape.ordered(value)),
  };
}

/** A field that is omitted when it has its usual value; a reader gets none, and fills it in. */
export function unlessUsual<T>(usual: T, shape: Shape<T>): Shape<T> {
  const written = JSON.stringify(shape.ordered(usual));
  return {
    problem: (value, path) => (value === undefined ? null : shape.problem(value, path)),
    ordered: (value) => {
      const ordered = shape.ordered(value);
      return JSON.stringify(ordered) === written ? undefined : ordered;
    },
  };
}

/** A field that may be missing. */
export function optional<T>(shape: Shape<T>): Shape<T | undefined> {
  return {
    problem: (value, path) => (value === undefined ? null : shape.problem(value, path)),
    ordered: (value) => (value === undefined ? undefined : shape.ordered(value)),
  };
}

export function listOf<T>(shape: Shape<T>): Shape<T[]> {
  return {
    problem(value, path) {
      if (!Array.isArray(value)) return `${path} must be a list`;
      for (const [index, each] of value.entries()) {
        const problem = shape.problem(each, `${path}[${index}]`);
        if (problem) return problem;
      }
      return null;
    },
    ordered: (value) => value.map((each) => shape.ordered(each)),
  };
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Exactly these fields: one that is not known here would be lost without a word. */
export function object<T extends object>(fields: { [F in keyof T]-?: Shape<T[F]> }): Shape<T> {
  const shapes = Object.entries(fields) as [keyof T & string, Shape<unknown>][];
  return {
    problem(value, path) {
      if (!isObject(value)) return `${path} must be an object`;
      for (const [field, shape] of shapes) {
        const problem = shape.problem(value[field], `${path}.${field}`);
        if (problem) return problem;
      }
      const unknown = Object.keys(value).find((field) => !Object.hasOwn(fields, field));
      return unknown === undefined ? null : `${path}.${unknown} is not known`;
    },
    ordered: (value) =>
      Object.fromEntries(shapes.map(([field, shape]) => [field, shape.ordered(value[field])])),
  };
}

/** Anything that a caller has put in. Its fields are sorted: databases that keep JSON as such forget their order. */
export const json: Shape<Record<string, unknown>> = {
  problem: (value, path) => (isObject(value) ? null : `${path} must be an object`),
  ordered: sorted,
};

/** Texts under names that are nobody's business here, sorted for the same reason. */
export const textsByName: Shape<Record<string, string>> = {
  problem: (value, path) =>
    isObject(value) && Object.entries(value).flat().every(isText)
      ? null
      : `${path} must be an object of texts`,
  ordered: sorted,
};

/** Whole numbers under names, such as units by resource. */
export const numbersByName: Shape<Readonly<Record<string, number>>> = {
  problem: (value, path) =>
    isObject(value) && Object.values(value).every((each) => whole.problem(each, path) === null)
      ? null
      : `${path} must be an object of whole numbers`,
  ordered: sorted,
};

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const fields = Object.keys(value).sort();
  return Object.fromEntries(fields.map((field) => [field, sorted(value[field])]));
}
