import { useEffect, useRef, useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { Button } from '../../components/button.tsx';
import { icons } from '../../components/icon.tsx';
import { PageView } from '../../components/page-view.tsx';
import { Empty, Ready } from '../../components/states.tsx';
import { type Address, useAddress } from '../../lib/address.ts';
import { useData } from '../../lib/data.ts';
import { formatNumber, formatTime } from '../../lib/format.ts';
import { useMe } from '../../lib/me.ts';
import { NewMemory } from '../../memory/new-memory.tsx';
import { Filters } from './filters.tsx';
import { HitCard } from './hit-card.tsx';
import { MOST, type Result, type Searched, STEP, searchQuery, variablesOf } from './query.ts';
import { Snippet } from './snippet.tsx';
import './search.css';

export default function SearchView() {
  const { isReadOnly } = useMe();
  const address = useAddress();
  const variables = variablesOf(address);
  const answer = useData(searchQuery, variables ?? { k: STEP }, { skip: variables === null, isKept: true });
  const [isAdding, setAdding] = useState(false);
  return (
    <PageView
      title="Search"
      actions={
        !isReadOnly && (
          <Button icon={icons.plus} onClick={() => setAdding(true)}>
            New memory
          </Button>
        )
      }
    >
      <SearchField address={address} isBusy={answer.isRefreshing} />
      <Filters address={address} />
      {variables === null ? (
        <Empty title="Ask in your own words">
          Searches compare words and meaning, so “which day do releases go out?” finds “we deploy on Tuesdays”. Filters
          alone list the newest that match.
        </Empty>
      ) : (
        <Ready of={answer} rows={5}>
          {({ searchMemory }) =>
            searchMemory && <Hits result={searchMemory} address={address} onChanged={answer.refresh} />
          }
        </Ready>
      )}
      {isAdding && <NewMemory text={address.get('q')} onClose={() => setAdding(false)} />}
    </PageView>
  );
}

function SearchField({ address, isBusy }: { address: Address; isBusy: boolean }) {
  const asked = address.get('q');
  const [words, setWords] = useState(asked);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => setWords(asked), [asked]);
  useEffect(() => {
    if (!asked) field.current?.focus();
  }, []);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    address.set({ q: words.trim(), k: null });
  };
  return (
    <form class="search-form" onSubmit={submit}>
      <input
        ref={field}
        type="search"
        aria-label="Search memories"
        placeholder="What do you want to know?"
        value={words}
        onInput={(event) => setWords(event.currentTarget.value)}
      />
      <Button type="submit" look="primary" icon={icons.search} isBusy={isBusy}>
        Search
      </Button>
    </form>
  );
}

function Hits({
  result: { hits, nearest, searched },
  address,
  onChanged,
}: {
  result: Result;
  address: Address;
  onChanged: () => void;
}) {
  const k = Number(address.get('k')) || STEP;
  return (
    <>
      <Summary searched={searched} count={hits.length} address={address} />
      {hits.length + nearest.length === 0 ? (
        <Empty title="Nothing has to do with it">
          {searched.candidates} memories that you can read were considered. Ask in other words, loosen the filters, or
          show what is hardly relevant.
        </Empty>
      ) : hits.length === 0 ? (
        <Nearest nearest={nearest} />
      ) : (
        <ol class="hits">
          {hits.map((hit) => (
            <HitCard key={hit.packetId} hit={hit} onChanged={onChanged} />
          ))}
        </ol>
      )}
      {hits.length === k && k < MOST && (
        <p class="pager">
          <Button onClick={() => address.set({ k: String(Math.min(k * 2, MOST)) }, { replace: true })}>
            Show more
          </Button>
        </p>
      )}
    </>
  );
}

/** Nothing matched well, but something of this may be what was meant. */
function Nearest({ nearest }: Pick<Result, 'nearest'>) {
  return (
    <section class="nearest" aria-label="Nearest memories">
      <p>Nothing matched well; nearest:</p>
      <ul>
        {nearest.map(({ packetId, snippet }) => (
          <li key={packetId}>
            <Link href={`/memories/${packetId}`}>
              <Snippet text={snippet} />
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** What was searched, and what was left out: so that an empty answer is not taken for a missing permission. */
function Summary({ searched, count, address }: { searched: Searched; count: number; address: Address }) {
  const { mode, requestedMode, scopes, candidates, leftOut, minRelevance, notice, asOf } = searched;
  return (
    <div class="searched" role="status">
      <p>
        {count} of {candidates} considered, in {scopes.join(', ') || 'no scope'}
        {asOf && `, as of ${formatTime(asOf)}`}.
      </p>
      {leftOut > 0 && (
        <p>
          {leftOut} left out: relevance below {formatNumber(minRelevance)}.{' '}
          <button type="button" class="link" onClick={() => address.set({ all: 'yes' }, { replace: true })}>
            Show them
          </button>
        </p>
      )}
      {mode !== requestedMode && (
        <p>
          Searched by {mode} instead of {requestedMode}.
        </p>
      )}
      {notice && <p class="notice">{notice}</p>}
    </div>
  );
}
