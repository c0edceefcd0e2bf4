// Texts with a meaning in SQL, JSON, logs or terminals, in every argument of every query of the schema.
import { getIntrospectionQuery } from 'postgraphile/graphql';
import { describeOnServer } from '../../../db/tests/support/on-engine.ts';
import { assertDocumented, assertNoTrace, payloadsFor } from '../access/attacker.ts';
import { askEach, startWatchedGateway, type WatchedGateway } from '../access/watched-gateway.ts';
import type { TestGateway } from '../support/gateway.ts';

// On one engine: what refuses these texts is the same on both, and the server answers more of them in a minute.
describeOnServer('injection through GraphQL queries', () => {
  let watched: WatchedGateway;
  let gateway: TestGateway;
  let traces: string[];
  beforeAll(async () => {
    watched = await startWatchedGateway();
    ({ gateway, traces } = watched);
  });
  afterAll(() => gateway.close());

  it('treats each argument as data: conditions, cursors and ids', async () => {
    const { data } = await gateway.graphql('C', getIntrospectionQuery());
    const types = new Map<string, Type>(data.__schema.types.map((type: Type) => [type.name, type]));
    const named = (ref: TypeRef): string => ref.name ?? named(ref.ofType!);
    const spelled = (ref: TypeRef): string =>
      ref.kind === 'NON_NULL'
        ? `${spelled(ref.ofType!)}!`
        : ref.kind === 'LIST'
          ? `[${spelled(ref.ofType!)}]`
          : ref.name!;
    const isText = (name: string) =>
      ['String', 'Cursor', 'ID', 'UUID', 'Datetime', 'JSON', 'BigInt', 'BigFloat'].includes(name);
    const selection = (name: string, deep = true): string => {
      const { fields } = types.get(name)!;
      if (!fields) return types.get(name)!.kind === 'INTERFACE' ? '{ __typename }' : '';
      if (fields.some((field) => field.name === 'totalCount')) return '{ totalCount pageInfo { endCursor } }';
      const scalars = fields.filter(({ type, args }) => args.length === 0 && !types.get(named(type))!.fields);
      if (scalars.length > 0)
        return `{ ${scalars
          .slice(0, 3)
          .map((field) => field.name)
          .join(' ')} }`;
      const [first] = fields.filter(({ args }) => args.length === 0);
      return deep && first ? `{ ${first.name} ${selection(named(first.type), false)} }` : '{ __typename }';
    };
    let asked = 0;
    let placesTried = 0;
    const isAsked = new Set(['searchMemory', 'getMemoryStats', 'admin', '__schema', '__type']);
    const token = await gateway.token({ caller: 'L', scopes: ['developer', 'global'] });
    const roots = [
      ...types.get('Query')!.fields!.map((field) => ({ field, as: watched, within: (document: string) => document })),
      ...types.get('AdminQuery')!.fields!.map((field) => ({
        field,
        as: { ...watched, token },
        within: (document: string) => `admin { ${document} }`,
      })),
    ];
    for (const { field, as, within } of roots.filter(({ field }) => !isAsked.has(field.name))) {
      const places = field.args.flatMap((argument) => {
        const type = types.get(named(argument.type))!;
        if (isText(type.name))
          return [
            {
              variable: spelled(argument.type),
              place: `${argument.name}: $v`,
              rest: field.args.filter(({ name, type }) => name !== argument.name && type.kind === 'NON_NULL'),
            },
          ];
        if (type.kind !== 'INPUT_OBJECT') return [];
        const rest = field.args.filter(({ name, type }) => name !== argument.name && type.kind === 'NON_NULL');
        return type.inputFields!.flatMap((inner, n) => {
          const outer = (value: string) => `${argument.name}: { ${inner.name}: ${value} }`;
          if (isText(named(inner.type))) return [{ variable: spelled(inner.type), place: outer('$v'), rest }];
          // The columns of a filter take turns with its operators.
          const operators = types
            .get(named(inner.type))!
            .inputFields?.filter((operator) => isText(named(operator.type)));
          const operator = operators?.[n % operators.length];
          if (!operator) return [];
          const value = operator.type.kind === 'LIST' ? '[$v]' : '$v';
          return [{ variable: `${named(operator.type)}!`, place: outer(`{ ${operator.name}: ${value} }`), rest }];
        });
      });
      for (const { variable, place, rest } of places) {
        placesTried += 1;
        const payloads = payloadsFor(placesTried);
        const others = rest.map(
          ({ name, type }) => `${name}: ${named(type) === 'UUID' ? '"01900000-0000-7000-8000-000000000000"' : '"x"'}`,
        );
        const document = within(`${field.name}(${[place, ...others].join(', ')}) ${selection(named(field.type))}`);
        const inCursors = /^(Cursor|ID)/.test(variable)
          ? ['natural', 'memories', 'Memory'].flatMap((first) =>
              payloads.map((text) => Buffer.from(JSON.stringify([first, text])).toString('base64')),
            )
          : [];
        // GraphQL turns most of them away itself, and then each is a request of its own. Other ones at each place.
        const turn = Math.floor(placesTried / 4) % 4;
        const tried = /^(String|ID|Cursor|JSON)/.test(variable) ? payloads : payloads.filter((_, n) => n % 4 === turn);
        for (const values of [tried, inCursors.slice(0, 80)]) {
          if (values.length === 0) continue;
          for (const [n, { code, text }] of (await askEach(as, 'query', variable, document, [...values])).entries()) {
            const what = `${document} with ${JSON.stringify(values[n]).slice(0, 80)}`;
            if (code !== null) assertDocumented(code, `${what}: ${text.slice(0, 300)}`);
            assertNoTrace(text, traces, what);
            asked += 1;
          }
        }
      }
    }
    expect(asked, String(asked)).toBeGreaterThan(250);
    await watched.unharmed();
  });

  it('logs no hostile text, key or token', () => watched.assertCleanLog());
});

interface TypeRef {
  kind: string;
  name: string | null;
  ofType: TypeRef | null;
}
interface Type {
  kind: string;
  name: string;
  fields: { name: string; args: { name: string; type: TypeRef }[]; type: TypeRef }[] | null;
  inputFields: { name: string; type: TypeRef }[] | null;
}
