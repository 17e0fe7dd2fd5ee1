// What is wrong with a field, in plain words on every surface. Where the contract has no words of its own, the validator's text is
// replaced: it names types that callers of the command line never typed.

const article = (type: string) => (/^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`);

const typeWords: Record<string, string> = {
  string: "text",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  record: "an object",
  date: "a time",
};

const typeWord = (type: string) => typeWords[type] ?? article(type);

const plainer: [RegExp, string | ((found: string, first: string, second: string) => string)][] = [
  [/Too small: expected string to have >=1 characters?/g, "must not be empty"],
  [/Too small: expected \w+ to be >(-?[\d.]+)/g, "must be more than $1"],
  [/Too small: expected \w+ to (?:be|have) >=?\s?(-?[\d.]+)(?: \w+)?/g, "must be at least $1"],
  [/Too big: expected (?:array|string) to have <=(\d+) (\w+)/g, "must have at most $1 $2"],
  [/Too big: expected \w+ to be <=?\s?(-?[\d.]+)/g, "must be at most $1"],
  [/Invalid input: expected \w+, received undefined/g, "is required"],
  [/Invalid input: expected (\w+), received \w+/g, (_, type) => `must be ${typeWord(type)}`],
  [
    /Invalid option: expected one of (.+)/g,
    (_, all) => `must be one of ${all.replace(/"/g, "").split("|").join(", ")}`,
  ],
  [/Unrecognized keys?: (.+)/g, (_, keys) => `has no field ${keys.replace(/"/g, "")}`],
  [/Invalid input$/g, "is not valid"],
];

export const plainly = (message: string): string =>
  plainer.reduce((text, [from, to]) => text.replace(from, to as string), message);
