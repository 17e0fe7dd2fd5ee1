// What a run has looked up and is not known yet. Single items are guessed to be absent, so that the run continues and finds what
// else it looks up; then everything is fetched together, and it runs again (../runs.ts).

import { unanswered } from "../questions.js";
import { nameOf, type Place, type Span } from "./items.js";

/** At least so many items of a span, from its beginning or its end. */
export interface WantedSpan extends Span {
  limit: number;
  descending: boolean;
}

export class Wanted {
  guesses = 0;
  private places = new Map<string, Place>();
  private spans = new Map<string, WantedSpan>();

  get isOpen(): boolean {
    return this.places.size > 0 || this.spans.size > 0;
  }

  /** The run continues with a guess. */
  item(place: Place): void {
    this.guesses++;
    this.places.set(nameOf(place), place);
  }

  /** To be fetched along, whether or not the run continues. */
  span(span: WantedSpan): void {
    this.guesses++;
    const { table, pk, from, to, descending } = span;
    const name = `${table}|${pk}|${from}|${to}|${descending}`;
    const known = this.spans.get(name);
    if (!known || known.limit < span.limit) this.spans.set(name, span);
  }

  /** The run ends here: what it asked for cannot be guessed. */
  must(span: WantedSpan): never {
    this.span(span);
    throw unanswered;
  }

  /** To be answered now. */
  take(): { places: Place[]; spans: WantedSpan[] } {
    const taken = { places: [...this.places.values()], spans: [...this.spans.values()] };
    this.forget();
    return taken;
  }

  forget(): void {
    this.places = new Map();
    this.spans = new Map();
  }
}
