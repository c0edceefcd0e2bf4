// A document read as a whole.
import { useTestDatabase } from '../support/test-database.ts';

describe('get_document', () => {
  const db = useTestDatabase({ rollsBack: true });
  const read = async (id: string, caller = 'C') =>
    (
      await db.sql(caller, 'select d.body_md, d.sections, (d.memory).packet_id as id from public.get_document($1) d', [
        id,
      ])
    )[0];

  it('gives the text whole, by the id of the document or of a section, and is audited as one read', async () => {
    const [{ id }] = await db.sql(
      'C',
      "select (r.memory).packet_id as id from public.save_memory(kind => 'document', project_id => 'l9', envelope => '{\"title\": \"T\"}') r",
    );
    expect(await read(id)).toMatchObject({ id, body_md: '', sections: [] });
    const body = `# One\r\n\n${'text '.repeat(400)}\n# Two\n${'text '.repeat(300)}`;
    await db.sql('C', 'select documents.store_body(p, $2) from public.packet_store p where packet_id = $1', [id, body]);
    const whole = await read(id);
    expect(whole).toMatchObject({
      body_md: body,
      sections: [{ heading: 'One', level: 1, position: 1 }, { heading: 'Two' }],
    });
    expect(await read(whole.sections[1].packet_id, 'L')).toStrictEqual(whole);
    const rows = await db.sql('L', "select details from public.audit_log where operation = 'READ' and row_id = $1", [
      id,
    ]);
    expect(rows.map(({ details }) => details.sections)).toStrictEqual([0, 2, 2]);
  });

  it('tells a hidden document from a missing one for nobody', async () => {
    const [{ id }] = await db.sql(
      'L',
      "select (r.memory).packet_id as id from public.save_memory(kind => 'document', project_id => 'l9', scope => 'l-private', envelope => '{\"title\": \"T\"}') r",
    );
    await db.sql('L', "select documents.store_body(p, 'Secret text') from public.packet_store p where packet_id = $1", [
      id,
    ]);
    const [section] = (await read(id, 'L')).sections;
    const missing = '01900000-0000-7000-8000-000000000000';
    for (const hidden of [id, section.packet_id, missing]) {
      await db.sql('C', 'savepoint s');
      await expect(read(hidden)).rejects.toMatchObject({
        code: 'L9OWN',
        message: `memory ${hidden} does not exist, or is not yours`,
      });
    }
  });

  it('reads no other kind', async () => {
    const [{ id }] = await db.sql(
      'C',
      "select (r.memory).packet_id as id from public.save_memory('A note', project_id => 'l9') r",
    );
    await expect(read(id)).rejects.toMatchObject({ code: 'L9VAL', column: 'packet_id' });
  });
});
