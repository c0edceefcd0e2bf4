// Keeps repeated events from filling the audit log, or the log: the first of a kind have a row each, the others of the same minute (or
// other span) share one.

const MINUTE_MS = 60_000;

export interface RepeatsOptions<Event> {
  /** Events of one kind differ in nothing that the row of several would have to say. */
  kindOf(event: Event): string;
  /** Whose events share the limits of rows and kinds. */
  groupOf(event: Event): string;
  /** Writes one row for so many events. */
  write(event: Event, times: number): Promise<void>;
  /** What stands for the kinds of this event's group beyond `maxKinds`. */
  others(event: Event): Event;
  /** Whether a row that could not be written can be written later. */
  isTemporary(error: unknown): boolean;
  /** Called when the row of several could not be written. */
  onLost(event: Event, times: number, error: unknown): void;
  /** How many events of a kind have a row of their own, each minute. */
  first: number;
  /** The same for all events of a group together. */
  maxRows: number;
  /** How many kinds of a group are told apart, each minute. */
  maxKinds: number;
  /** Another span than a minute. */
  everyMs?: number;
}

export interface Repeats<Event> {
  /** Resolves when the event has its row, or is counted. Rejects if its row could not be written. */
  add(event: Event): Promise<void>;
  /** Writes what is counted. */
  close(): Promise<void>;
}

interface Kind<Event> {
  event: Event;
  rows: number;
  /** Events that share the next row. */
  times: number;
}

export function createRepeats<Event>(options: RepeatsOptions<Event>): Repeats<Event> {
  const {
    kindOf,
    groupOf,
    write,
    others,
    isTemporary,
    onLost,
    first,
    maxRows,
    maxKinds,
    everyMs = MINUTE_MS,
  } = options;
  let groups = new Map<string, { rows: number; kinds: Map<string, Kind<Event>> }>();
  const writing = new Set<Promise<void>>();
  let isClosed = false;

  const groupFor = (event: Event) => {
    const name = groupOf(event);
    const group = groups.get(name) ?? { rows: 0, kinds: new Map() };
    groups.set(name, group);
    return group;
  };

  /** Where the event is counted, and as what. */
  const placeOf = (event: Event) => {
    const { kinds } = groupFor(event);
    const isOther = !kinds.has(kindOf(event)) && kinds.size >= maxKinds;
    const counted = isOther ? others(event) : event;
    const kind = kinds.get(kindOf(counted)) ?? { event: counted, rows: isOther ? first : 0, times: 0 };
    kinds.set(kindOf(counted), kind);
    return { kind, counted };
  };

  const count = (event: Event, times: number) => {
    const { kind, counted } = placeOf(event);
    // A row for one event has to be of that event.
    if (kind.times === 0) kind.event = counted;
    kind.times += times;
  };

  const written = (event: Event, times: number) => {
    const row = write(event, times).finally(() => writing.delete(row));
    writing.add(row);
    return row;
  };

  const flush = () => {
    const due = [...groups.values()].flatMap(({ kinds }) => [...kinds.values()]);
    groups = new Map();
    for (const { event, times } of due) {
      if (times === 0) continue;
      written(event, times).catch((error: unknown) => {
        if (isTemporary(error) && !isClosed) count(event, times);
        else onLost(event, times, error);
      });
    }
  };
  const timer = setInterval(flush, everyMs).unref();

  return {
    async add(event) {
      const group = groupFor(event);
      const { kind } = placeOf(event);
      if (kind.rows >= first || group.rows >= maxRows) return count(event, 1);
      kind.rows += 1;
      group.rows += 1;
      try {
        await written(event, 1);
      } catch (error) {
        if (!isTemporary(error)) throw error;
        // It may be another minute now.
        count(event, 1);
      }
    },
    async close() {
      clearInterval(timer);
      isClosed = true;
      flush();
      await Promise.allSettled(writing);
    },
  };
}
