// The rules of the built-in kinds hold for raw SQL under an agent's role, because a trigger enforces them.
import { type Fields, kindExamples } from '../support/kinds.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('the built-in kinds', () => {
  const db = useTestDatabase({ rollsBack: true });

  const insert = async (kind: string, fields: Fields, project = 'l9', ttl: string | null = null) =>
    (
      await db.sql(
        'C',
        `insert into public.packet_store (packet_type, envelope, project_id, ttl) values ($1, $2, $3, $4)
         returning packet_id, content, title, ttl, archived_at, envelope - 'content' as fields`,
        [kind, fields, project, ttl],
      )
    )[0];
  const change = (id: string, fields: Fields) =>
    db.sql(
      'C',
      'update public.packet_store set envelope = envelope || $2 where packet_id = $1 returning ttl, title, content',
      [id, fields],
    );

  it.each(
    kindExamples,
  )('keeps the fields of $kind, requires some of them and names the one that is wrong', async (example) => {
    const saved = await insert(example.kind, example.fields);
    expect(saved.fields).toStrictEqual(example.fields);
    expect(saved.content).toMatch(/\S/);
    for (const field of example.required) {
      const { [field]: _, ...rest } = example.fields;
      await expect(insert(example.kind, rest, 'l9-2')).rejects.toMatchObject({
        code: 'L9VAL',
        message: expect.stringMatching(`^${field}: is required`),
      });
      await expect(insert(example.kind, { ...rest, [field]: null }, 'l9-2')).rejects.toMatchObject({
        code: 'L9VAL',
        column: field,
      });
    }
    for (const [field, fields] of example.bad)
      await expect(insert(example.kind, { ...example.fields, ...fields }, 'l9-2')).rejects.toMatchObject({
        code: expect.stringMatching(/L9VAL|L9LIM/),
        message: expect.stringMatching(`^${field}: `),
        column: field,
      });
  });

  it.each(kindExamples)('tells by its identity whether a $kind is the same as another, within a project', async ({
    kind,
    fields,
    same,
    other,
  }) => {
    await insert(kind, fields);
    await expect(insert(kind, { ...fields, ...same })).rejects.toMatchObject({ code: '23505' });
    await insert(kind, { ...fields, ...other });
    await insert(kind, { ...fields, ...same }, 'another-project');
  });

  it.each(
    kindExamples.filter(({ locks }) => locks),
  )('locks a $kind, says what to do instead and leaves the rest open', async ({ kind, fields, locks }) => {
    const { packet_id } = await insert(kind, fields);
    await change(packet_id, locks!.by);
    for (const [field, refused] of locks!.refused) {
      await expect(change(packet_id, refused)).rejects.toMatchObject({
        code: 'L9IMM',
        message: expect.stringMatching(new RegExp(`^${field}: is locked in this ${kind}; .*store `)),
        column: field,
      });
    }
    await change(packet_id, locks!.allowed);
  });

  it.each(kindExamples.filter(({ locks }) => locks))('keeps the kind of a $kind while it is locked', async ({
    kind,
    fields,
    locks,
  }) => {
    const { packet_id } = await insert(kind, fields);
    await change(packet_id, locks!.by);
    const lifted = Object.fromEntries(Object.keys(locks!.by).map((field) => [field, null]));
    const refused = {
      code: 'L9IMM',
      column: 'kind',
      message: expect.stringMatching(`^kind: is locked in this ${kind};`),
    };
    for (const statement of [
      "update public.packet_store set packet_type = 'note' where packet_id = $1 and $2::jsonb is not null",
      "update public.packet_store set packet_type = 'note', envelope = envelope || $2 where packet_id = $1",
      "select public.update_memory($1, kind => 'note', envelope => $2)",
    ])
      await expect(db.sql('C', statement, [packet_id, lifted]), statement).rejects.toMatchObject(refused);
  });

  it('names a kind with the article that it has', async () => {
    await expect(insert('issue', { colour: 'red' })).rejects.toMatchObject({
      message: 'tracker: is required in an issue',
    });
    await expect(insert('todo', { text: 'x', status: 'open', colour: 'red' })).rejects.toMatchObject({
      message: expect.stringMatching('^colour: a todo has no such field; it has text, '),
    });
  });

  it('writes the parts of a step in their order, not in that of their names', async () => {
    const { fields } = kindExamples.find(({ kind }) => kind === 'runbook')!;
    const steps = [
      { expected: 'empty', number: 1, command: 'queue drain', description: 'Empty the queue' },
      { description: 'Look again', expected: null },
    ];
    expect((await insert('runbook', { ...fields, steps })).content).toBe(
      'The queue is full\n\npayments\n\n1 Empty the queue queue drain empty\nLook again',
    );
  });
});
