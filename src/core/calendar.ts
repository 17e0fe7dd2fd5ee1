// Dates from milliseconds, in UTC and without the host's calendar: the core is pure. Days are counted from 1970-01-01.

export const dayMs = 86_400_000;

interface CivilDate {
  year: number;
  /** 1 to 12. */
  month: number;
  day: number;
}

const daysPer400Years = 146_097;
/** From 0000-03-01 to 1970-01-01. Years that begin in March have the leap day at their end. */
const daysTo1970 = 719_468;

export function dateOf(days: number): CivilDate {
  const shifted = days + daysTo1970;
  const era = Math.floor(shifted / daysPer400Years);
  const dayOfEra = shifted - era * daysPer400Years;
  const leaps =
    Math.floor(dayOfEra / 1460) -
    Math.floor(dayOfEra / 36_524) +
    Math.floor(dayOfEra / (daysPer400Years - 1));
  const yearOfEra = Math.floor((dayOfEra - leaps) / 365);
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  return {
    year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    day: dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1,
  };
}

export function daysOf({ year, month, day }: CivilDate): number {
  const shiftedYear = month <= 2 ? year - 1 : year;
  const era = Math.floor(shiftedYear / 400);
  const yearOfEra = shiftedYear - era * 400;
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  const dayOfEra = 365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * daysPer400Years + dayOfEra - daysTo1970;
}

const two = (value: number) => String(value).padStart(2, "0");

/** `2026-01-31`. */
export function dayText(ms: number): string {
  const { year, month, day } = dateOf(Math.floor(ms / dayMs));
  return `${year}-${two(month)}-${two(day)}`;
}

/** `2026-01-31T12:00Z`, to the minute. */
export function minuteText(ms: number): string {
  const minutes = Math.floor((((ms % dayMs) + dayMs) % dayMs) / 60_000);
  return `${dayText(ms)}T${two(Math.floor(minutes / 60))}:${two(minutes % 60)}Z`;
}
