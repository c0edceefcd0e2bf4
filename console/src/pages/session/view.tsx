import './session.css';
import { Link } from 'wouter-preact';
import { Chip, Scope, Tags } from '../../components/chip.tsx';
import { Id } from '../../components/copy.tsx';
import { Facts } from '../../components/fields-view.tsx';
import { PageView } from '../../components/page-view.tsx';
import { Empty, Failure, Loading, Ready } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { useData } from '../../lib/data.ts';
import { formatBytes } from '../../lib/format.ts';
import { Conversation } from './conversation.tsx';
import { type Archive, openedSession, sessionQuery } from './query.ts';

export default function SessionView({ archiveId }: Record<string, string>) {
  const session = useData(sessionQuery, { archiveId: archiveId! });
  const archive = session.data?.sessionArchiveByArchiveId;
  return (
    <PageView
      title={archive?.title ?? 'Session'}
      about={<Link href="/timeline?show=sessions">All archived sessions</Link>}
    >
      <Ready of={session}>
        {({ sessionArchiveByArchiveId: found }) =>
          found ? (
            <div class="session">
              <Opened archive={found} />
              <About archive={found} />
            </div>
          ) : (
            <Empty title="There is no such session, or you may not read it" />
          )
        }
      </Ready>
    </PageView>
  );
}

/** Opening is what this page is for, so it does not wait to be asked. */
function Opened({ archive }: { archive: Archive }) {
  const opened = useData(openedSession, { pointer: archive.pointer }, { isKept: true });
  const answer = opened.data?.retrieveSessionFromCascade;
  return (
    <section class="session-text" aria-label="The archived session">
      <p class="session-state" role="status">
        {answer?.verified && (
          <Chip
            tone="good"
            title="The hash and the tag of the stored bytes were checked when they were opened just now"
          >
            verified
          </Chip>
        )}
        <Chip
          tone={archive.redacted > 0 ? 'warn' : 'plain'}
          title="Secrets and personal data that were replaced before it was encrypted"
        >
          {archive.redacted === 0 ? 'nothing had to be redacted' : `${archive.redacted} redacted`}
        </Chip>
      </p>
      {opened.error ? (
        <Failure error={opened.error} onRetry={opened.refresh} />
      ) : answer ? (
        <Conversation data={answer.sessionData} />
      ) : (
        <Loading label="Fetching, checking and decrypting the session" />
      )}
    </section>
  );
}

function About({ archive }: { archive: Archive }) {
  const { messageCount, messagesGiven } = archive;
  return (
    <aside class="panel" aria-label="About this archive">
      <Facts
        items={[
          ['Began', archive.startedAt && <Time key="began" at={archive.startedAt} isExact />],
          ['Ended', archive.endedAt && <Time key="ended" at={archive.endedAt} isExact />],
          ['Tool', archive.sourceTool],
          [
            'Messages',
            messageCount === messagesGiven ? String(messageCount) : `${messageCount} of ${messagesGiven} stored`,
          ],
          ['Tags', archive.tags.length > 0 && <Tags key="tags" tags={archive.tags} />],
          ['Scope', <Scope key="scope" name={archive.scope} />],
          ['Project', archive.projectId],
          ['Archived by', archive.creator],
          ['Archived', <Time key="stored" at={archive.storedAt} />],
          ['Size', `${formatBytes(Number(archive.size))}, encrypted`],
          ['Stored in', archive.connectors.join(', ')],
          [
            'Checked last',
            archive.verifiedAt && (
              <>
                <Time at={archive.verifiedAt} /> by {archive.verifiedBy}
              </>
            ),
          ],
          ['Session', archive.sessionId],
          ['Pointer', <Id key="pointer" id={archive.pointer} what="Pointer" />],
          [
            'Memory',
            <Link key="memory" href={`/memories/${archive.packetId}`}>
              its memory
            </Link>,
          ],
        ]}
      />
    </aside>
  );
}
