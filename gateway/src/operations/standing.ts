// Whose word each line of an answer is, and what superseded it: fields of the structured answer, and their place in the text
// that a model reads. Names stand where the text of a memory cannot: outside its quotes, in brackets before it.
import { z } from 'zod';
import { graphqlTypes, uuidText } from './graphql-types.ts';
import { recalled } from './recalled.ts';

export const writer = {
  creator: z.string().describe('The agent that wrote it.'),
  source: z.string().nullable().describe('The source of that agent.'),
};

export const superseded = {
  superseded_by: uuidText().nullish().describe('The memory that superseded it.'),
  is_partly_superseded: z.boolean().nullish().describe('Only some of the facts that it states are superseded.'),
};

export const textCreator = {
  text_creator: z.string().nullish().describe('The administrator whose text it is by now.'),
};

export const review = {
  review_state: z
    .enum(['pending', 'approved', 'rejected'])
    .nullish()
    .register(graphqlTypes, {
      name: 'ReviewState',
      values: {
        pending: 'It waits for a reviewer. Only its creator and administrators see it.',
        approved: 'An administrator approved it.',
        rejected: 'An administrator rejected it. Only its creator and administrators see it.',
      },
    })
    .describe('Only where it was, or is to be, reviewed.'),
};

export const standing = {
  ...writer,
  ...textCreator,
  ...superseded,
  ...review,
  is_own: z.boolean().nullish().describe('You saved it.'),
};

type Writer = z.output<z.ZodObject<typeof writer>>;
type Superseded = z.output<z.ZodObject<typeof superseded>>;
type TextCreator = z.output<z.ZodObject<typeof textCreator>>;
type Review = z.output<z.ZodObject<typeof review>>;
type Standing = Writer & TextCreator & Superseded & Review & { is_own?: boolean | null | undefined };

/** A row of an answer as the database gives it. */
export type AsStored<Row> = Omit<Row, keyof Standing> & { standing: Standing };

/** Puts the standing of a row among its other fields, and says nothing of text creators and successors where there are none. */
export function withStanding<Row>({ standing, ...row }: AsStored<Row>): Row {
  const { text_creator, superseded_by, is_partly_superseded, review_state, ...others } = standing;
  return {
    ...row,
    ...others,
    ...(text_creator && { text_creator }),
    ...(superseded_by && { superseded_by, is_partly_superseded }),
    ...(review_state && { review_state }),
  } as Row;
}

/** The reader, by the creator of its own memories. Null if that is not known; then every line names its creator. */
export type Reader = string | null;

const JOB = 'job';

/** The writer, as in " by L-CTO"; empty where it is the reader. */
export const byline = ({ creator, source }: Writer, reader: Reader): string => {
  if (creator === reader) return '';
  return creator === JOB && source ? ` by a job from ${source}` : ` by ${creator}`;
};

const mark = ({ superseded_by, is_partly_superseded }: Superseded) =>
  superseded_by ? `, ${is_partly_superseded ? 'partly ' : ''}superseded by ${superseded_by}` : '';

/** The standing of a row, as in " by L-CTO, superseded by 0198…"; empty for what is the reader's and holds. */
export const signature = (row: Standing, reader: Reader) =>
  `${byline(row, reader)}${textBy(row, reader)}${withheld(row)}${mark(row)}`;

/** What does not count yet is never taken for what does. */
const withheld = ({ review_state }: Review) =>
  review_state === 'pending' || review_state === 'rejected' ? `, ${review_state}` : '';

const textBy = ({ text_creator }: TextCreator, reader: Reader) =>
  text_creator && text_creator !== reader ? `, text by ${text_creator}` : '';

/** The id of a row with its standing, as in "[0197… by L-CTO]". */
export const label = (id: string, row: Standing, reader: Reader) => `[${id}${signature(row, reader)}]`;

/** A line that begins with its writers in brackets. */
export function signed(line: string, rows: readonly Writer[], reader: Reader): string {
  const bylines = rows.map((row) => byline(row, reader).trimStart());
  const distinct = [...new Set(bylines)].filter(Boolean);
  return distinct.length > 0 ? `[${distinct.join(', ')}] ${line}` : line;
}

/** The text of a memory, below a line with its standing. Only the reader's own needs none. */
export const headed = (text: string, id: string, row: Standing, reader: Reader): string =>
  `${signature(row, reader) === '' ? '' : `${label(id, row, reader)}\n`}${recalled(text)}`;

/** The standing of a whole memory, whose stamps stand in its metadata. */
export const standingOf = ({
  metadata,
  text_creator,
  superseded_by,
  is_partly_superseded,
  review_state,
}: Memory): Standing => ({
  creator: String(metadata.creator),
  source: typeof metadata.source === 'string' ? metadata.source : null,
  text_creator,
  superseded_by,
  is_partly_superseded,
  review_state,
});

interface Memory extends TextCreator, Superseded, Review {
  metadata: Record<string, unknown>;
}
