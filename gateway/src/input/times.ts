// The one reader of times as files, other systems and people write them.

const TEXT =
  /^(\d{4}-\d\d-\d\d)(?:(?:[Tt]|[ ]+)(\d\d:\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?[ ]?(Z|z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?)?$/;
const NUMBER = /^[+-]?\d+(?:\.\d+)?$/;

export interface GivenTime {
  /** ISO 8601 in UTC, with three digits of a second, or six where more were given. */
  time: string;
  /** False: the text names an hour and no zone, and was read as UTC. A day has one. */
  hasZone: boolean;
}

/**
 * Numbers, also as texts, are seconds since 1970, or milli-, micro- or nanoseconds if they are too large for that. Texts are ISO 8601
 * or as PostgreSQL writes them. A day is its beginning in UTC or, with endsDay, its end. Null: it is no time.
 */
export function readTime(value: unknown, { endsDay = false } = {}): GivenTime | null {
  if (typeof value === 'bigint') return fromEpoch(Number(value));
  if (typeof value === 'number') return fromEpoch(value);
  if (value instanceof Date) return fromEpoch(value.getTime(), 1);
  if (typeof value !== 'string') return null;
  const text = value.trim();
  return NUMBER.test(text) ? fromEpoch(Number(text)) : fromText(text, endsDay);
}

function fromEpoch(number: number, size = sizeOf(Math.abs(number))): GivenTime | null {
  const milliseconds = number * size;
  const date = new Date(Math.round(milliseconds));
  if (Number.isNaN(date.getTime())) return null;
  const time = date.toISOString();
  return /^\d{4}-/.test(time) ? { time, hasZone: true } : null;
}

const sizeOf = (number: number) => (number < 1e11 ? 1e3 : number < 1e14 ? 1 : number < 1e17 ? 1e-3 : 1e-6);

const DAY_MS = 86_400_000;
const LAST_DAY = '9999-12-31';

function fromText(text: string, endsDay: boolean): GivenTime | null {
  const [, day, minute = '00:00', second = '00', fraction = '', zone] = TEXT.exec(text) ?? [];
  if (day === undefined || day.startsWith('0000')) return null;
  const isDate = text.length === day.length;
  // JavaScript takes February 30th for March 2nd.
  if (!isTime(day, minute, second)) return null;
  const offset =
    !zone || /^[A-Z]+$/i.test(zone) ? 'Z' : `${zone.slice(0, 3)}:${zone.slice(3).replace(':', '') || '00'}`;
  const start = Date.parse(`${day}T${minute}:${second}${offset}`);
  // There is no time after the last day, which stands for all that is to come.
  if (isDate && endsDay && day === LAST_DAY) return { time: `${LAST_DAY}T23:59:59.999999Z`, hasZone: true };
  const date = new Date(isDate && endsDay ? start + DAY_MS : start);
  if (Number.isNaN(date.getTime())) return null;
  const digits = fraction.slice(0, 6).replace(/0+$/, '');
  const whole = date.toISOString();
  if (!/^\d{4}-/.test(whole)) return null;
  const time = `${whole.slice(0, 19)}.${digits.padEnd(digits.length > 3 ? 6 : 3, '0')}Z`;
  return { time, hasZone: isDate || zone !== undefined };
}

const isTime = (day: string, minute: string, second: string) => {
  const date = new Date(`${day}T${minute}:${second}Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(`${day}T${minute}:${second}`);
};

/** Where records of other systems keep the time, the first that is there. */
const FIELDS = [
  'timestamp',
  'created_at',
  'createdAt',
  'create_time',
  'createTime',
  'sent_at',
  'datetime',
  'date',
  'ts',
];

/** Reads the times of one file, and remembers what it could not read as it stands. */
export interface TimeReader {
  of(value: unknown): string | null;
  /** The time of a record, in whichever field it stands. */
  in(record: Readonly<Record<string, unknown>>): string | null;
  notices(): string[];
}

export function createTimeReader(): TimeReader {
  let withoutZone = 0;
  let unreadable = 0;
  const times = (count: number) => (count === 1 ? '1 time' : `${count} times`);
  return {
    of(value) {
      if (value === undefined || value === null || value === '') return null;
      const given = readTime(value);
      if (!given) unreadable += 1;
      else if (!given.hasZone) withoutZone += 1;
      return given?.time ?? null;
    },
    in(record) {
      const field = FIELDS.find((name) => record[name] !== undefined && record[name] !== null && record[name] !== '');
      return field === undefined ? null : this.of(record[field]);
    },
    notices: () => [
      ...(withoutZone > 0
        ? [`${times(withoutZone)} without a zone ${withoutZone === 1 ? 'was' : 'were'} read as UTC`]
        : []),
      ...(unreadable > 0 ? [`${times(unreadable)} could not be read`] : []),
    ],
  };
}
