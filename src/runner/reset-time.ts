// When a limit ends, as agents write it: seconds of the epoch, "in 2 hours 5 minutes", "8h44m7s", "at 3pm (Asia/Tokyo)", "Apr 23 at
// 4pm", a time of RFC 3339. What has no zone is in this machine's.

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** So far behind the words that announce it. */
const textMax = 160;
/** A time of day that has just passed was not for tomorrow. */
const justPassedMs = hour;

const announced =
  /\b(?:resets?(?:[ _-]?(?:at|in|after|time))?|(?:try|available) again(?: at| in| after)?|retry(?:[ _-]?(?:after|delay|in|at))?|retrying in|ends on)\b|limit reached\|/gi;

/** Null: the text has no time that can be read. `zone` is the one of times without. */
export function resetTimeIn(text: string, now: number, zone: string = localZone()): number | null {
  const plain = text.replace(/\s+/g, " ");
  for (const { index, 0: word } of plain.matchAll(announced)) {
    const after = plain.slice(index + word.length, index + word.length + textMax);
    const found = readTime(after.replace(/^["'\s:=·∙|]+/, ""), now, zone);
    if (found !== null) return found;
  }
  return null;
}

/** A time at the beginning of the text. */
export function readTime(text: string, now: number, zone: string = localZone()): number | null {
  const words = text.replace(/^(?:at|in|after|on|by|approximately|about)\s+/i, "");
  return epochIn(words, now) ?? instantIn(words) ?? durationIn(words, now) ?? clockIn(words, now, zone);
}

const localZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Seconds or milliseconds since 1970, near the present; a smaller number is not one. */
function epochIn(text: string, now: number): number | null {
  const found = /^(\d{10}|\d{13})\b/.exec(text);
  if (!found) return null;
  const at = Number(found[1]) * (found[1]!.length === 10 ? second : 1);
  return Math.abs(at - now) < 366 * day ? at : null;
}

function instantIn(text: string): number | null {
  const found = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?\s?(?:Z|UTC|[+-]\d\d:?\d\d)/i.exec(text);
  if (!found) return null;
  const at = Date.parse(found[0].replace(" ", "T").replace(/\s?UTC$/i, "Z"));
  return Number.isNaN(at) ? null : at;
}

const units: readonly [RegExp, number][] = [
  [/^(?:ms|milliseconds?)$/i, 1],
  [/^(?:s|secs?|seconds?)$/i, second],
  [/^(?:m|mins?|minutes?)$/i, minute],
  [/^(?:h|hrs?|hours?)$/i, hour],
  [/^(?:d|days?)$/i, day],
];

/** A bare number is of seconds only behind a name that says so, as in `resets_in_seconds`. */
function durationIn(text: string, now: number): number | null {
  if (/^less than a minute/i.test(text)) return now + minute;
  const named = /^_?seconds?["':=\s]+(\d+(?:\.\d+)?)/i.exec(text);
  if (named) return now + Number(named[1]) * second;
  let rest = text;
  let total: number | null = null;
  for (;;) {
    const found = /^\s*(?:,|and)?\s*(\d+(?:\.\d+)?)\s*([a-z]+)/i.exec(rest);
    const unit = found && units.find(([name]) => name.test(found[2]!));
    if (!found || !unit) return total === null ? null : now + total;
    total = (total ?? 0) + Number(found[1]) * unit[1];
    rest = rest.slice(found[0].length);
  }
}

const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const monthName = "(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\\.?";
const date = `(?:${monthName} (\\d{1,2})(?:st|nd|rd|th)?(?:,? (\\d{4}))?(?: at|,)? )?`;
const clock = "(\\d{1,2})(?::(\\d\\d))?(?::\\d\\d)?\\s?([ap])?\\.?(m)?\\.?";
const zoneName = "(?:\\s*\\(?([A-Z][A-Za-z]+(?:[/_+-][A-Za-z0-9_+-]+)*)\\)?)?";
const timeOfDay = new RegExp(`^${date}${clock}(?![\\w/:-])${zoneName}`, "i");

interface Day {
  year: number;
  month: number;
  day: number;
}

function clockIn(text: string, now: number, zone: string): number | null {
  const found = timeOfDay.exec(text);
  if (!found) return null;
  const [, month, dayOfMonth, year, hours, minutes, half, meridiem] = found;
  // A number alone is no time of day.
  if (minutes === undefined && meridiem === undefined) return null;
  const time = timeOf({ hours: Number(hours), minutes: Number(minutes ?? 0), half });
  const place = zoneOf(found[8], zone);
  if (time === null || place === null) return null;
  const today = dayIn(now, place);
  if (month !== undefined) {
    const on = { year: Number(year ?? today.year), month: monthOf(month), day: Number(dayOfMonth) };
    const at = instant(on, time, place);
    // Around New Year.
    if (year === undefined && at < now - 180 * day) return instant({ ...on, year: on.year + 1 }, time, place);
    return at;
  }
  const at = instant(today, time, place);
  if (at > now) return at;
  return at > now - justPassedMs ? null : instant({ ...today, day: today.day + 1 }, time, place);
}

function timeOf({ hours, minutes, half }: { hours: number; minutes: number; half: string | undefined }) {
  if (minutes > 59) return null;
  if (half === undefined) return hours > 23 ? null : hours * hour + minutes * minute;
  if (hours < 1 || hours > 12) return null;
  return ((hours % 12) + (half.toLowerCase() === "p" ? 12 : 0)) * hour + minutes * minute;
}

const monthOf = (name: string) => months.indexOf(name.slice(0, 3).toLowerCase());

/** Offsets of zones that have short names only, in hours. */
const shortZones: Record<string, number> = {
  UTC: 0,
  GMT: 0,
  EST: -5,
  EDT: -4,
  CST: -6,
  CDT: -5,
  MST: -7,
  MDT: -6,
  PST: -8,
  PDT: -7,
  CET: 1,
  CEST: 2,
  JST: 9,
};

/** A word behind a time that is no zone is not heeded; the name of a zone that nobody knows makes the time unreadable. */
function zoneOf(name: string | undefined, zone: string): string | null {
  if (name === undefined) return zone;
  const short = shortZones[name.toUpperCase()];
  if (short !== undefined) {
    // Names of this kind count westwards.
    return `Etc/GMT${short > 0 ? "-" : "+"}${Math.abs(short)}`;
  }
  if (!name.includes("/")) return zone;
  return isZone(name) ? name : null;
}

function isZone(name: string): boolean {
  try {
    Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

function dayIn(at: number, zone: string): Day {
  const shifted = new Date(at + offsetAt(at, zone));
  return { year: shifted.getUTCFullYear(), month: shifted.getUTCMonth(), day: shifted.getUTCDate() };
}

/** The offset at the time itself counts, which the second look knows. A time that a clock skips is the one after it. */
function instant({ year, month, day }: Day, time: number, zone: string): number {
  const local = Date.UTC(year, month, day) + time;
  const nearly = local - offsetAt(local, zone);
  const offset = offsetAt(nearly, zone);
  const exact = local - offset;
  return offsetAt(exact, zone) === offset ? exact : Math.max(exact, nearly);
}

function offsetAt(at: number, zone: string): number {
  const parts = Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  }).formatToParts(at);
  const of = (type: string) => Number(parts.find((part) => part.type === type)?.value);
  const local = Date.UTC(of("year"), of("month") - 1, of("day"), of("hour"), of("minute"), of("second"));
  return local - Math.floor(at / second) * second;
}
