// How searches and memory_find weigh what they find.
import type { AnyVariables, Client, TypedDocumentNode } from '@urql/preact';
import { Ready } from '../../components/states.tsx';
import { useData } from '../../lib/data.ts';
import { present } from '../../lib/me.ts';
import { FREE_KINDS } from '../../memory/query.ts';
import { Desk } from './desk.tsx';
import {
  previewFindQuery,
  previewSearchQuery,
  type RankingData,
  rankingQuery,
  setFindSettings,
  setSearchSettings,
} from './query.ts';
import { Section } from './section.tsx';
import { FIND, FIND_DEFAULTS, SEARCH, SEARCH_DEFAULTS, settingsOf } from './weights.ts';

async function ask<Data, Variables extends AnyVariables>(
  client: Client,
  document: TypedDocumentNode<Data, Variables>,
  variables: Variables,
): Promise<Data | undefined> {
  const { data, error } = await client.query(document, variables, { requestPolicy: 'network-only' });
  if (error) throw error;
  return data;
}

const previewSearch = async (client: Client, query: string, weights: Record<string, unknown>) =>
  ((await ask(client, previewSearchQuery, { query, weights }))?.previewSearch?.hits ?? []).map(
    ({ packetId, snippet, content, score }) => ({ packetId, text: snippet || content, score }),
  );

const previewFind = async (client: Client, query: string, weights: Record<string, unknown>) =>
  present((await ask(client, previewFindQuery, { query, weights }))?.admin?.previewFind).map(
    ({ packetId, title, content }) => ({ packetId, text: title ?? content ?? '', score: null }),
  );

/** The names of kinds, which half-lives are suggested for. */
const kindsOf = (kinds: RankingData['memoryKinds']) => [
  ...FREE_KINDS,
  ...present(kinds?.nodes).map(({ kind }) => kind),
];

export function Ranking() {
  const ranking = useData(rankingQuery, {});
  return (
    <Section
      title="Ranking"
      about="How searches weigh what they find: search_memory, and the page Search. Try a change on a query: both answers are shown, and nothing is changed until you keep it."
    >
      <Ready of={ranking}>
        {({ admin, memoryKinds }) => {
          const kept = settingsOf(admin?.searchSettings?.[0], SEARCH_DEFAULTS);
          return (
            <Desk
              key={JSON.stringify(kept)}
              weights={SEARCH}
              kept={kept}
              kinds={kindsOf(memoryKinds)}
              mutation={setSearchSettings}
              preview={previewSearch}
              onKept={ranking.refresh}
            />
          );
        }}
      </Ready>
    </Section>
  );
}

export function Finding() {
  const ranking = useData(rankingQuery, {});
  return (
    <Section
      title="memory_find"
      about="How memory_find, by which agents look for kinds, fields and identifiers, ranks what it finds. The weights count relative to their sum. A comparison matches by words alone."
    >
      <Ready of={ranking}>
        {({ admin, memoryKinds }) => {
          const kept = settingsOf(admin?.findSettings?.[0], FIND_DEFAULTS);
          return (
            <Desk
              key={JSON.stringify(kept)}
              weights={FIND}
              kept={kept}
              kinds={kindsOf(memoryKinds)}
              mutation={setFindSettings}
              preview={previewFind}
              onKept={ranking.refresh}
            />
          );
        }}
      </Ready>
    </Section>
  );
}
