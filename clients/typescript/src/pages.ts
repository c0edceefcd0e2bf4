/** A page of a list. */
export interface Page<Item> {
  items: Item[];
  /** Where the next page begins; null after the last one. Pass it as `after` to go on another time. */
  next: string | null;
  /** A sentence where not all memories could be looked at for the fields in `where`. */
  notice: string | null;
}

/**
 * A list that is read page by page, as far as it is used: `for await (const item of list)`, or `for await (const page of list.pages())`.
 * Each loop over it sends the requests again.
 */
export class Pages<Item> implements AsyncIterable<Item> {
  readonly #load: (after: string | null) => Promise<Page<Item>>;
  readonly #after: string | null;

  constructor(load: (after: string | null) => Promise<Page<Item>>, after: string | null = null) {
    this.#load = load;
    this.#after = after;
  }

  /** The pages, each of which is asked for when the loop gets to it. */
  async *pages(): AsyncGenerator<Page<Item>, void, undefined> {
    let after = this.#after;
    do {
      const page = await this.#load(after);
      yield page;
      after = page.next;
    } while (after !== null);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const { items } of this.pages()) yield* items;
  }
}
