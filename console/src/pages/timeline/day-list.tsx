// What happened, latest first, under its days.
import { Link } from 'wouter-preact';
import { Chip, Scope } from '../../components/chip.tsx';
import { clockTime, dayOf, longDay } from './days.ts';
import type { Moment } from './query.ts';

export function DayList({ moments }: { moments: readonly Moment[] }) {
  const days = Map.groupBy(moments, ({ timestamp }) => dayOf(new Date(timestamp)));
  return (
    <>
      {[...days].map(([day, ofDay]) => (
        <section key={day} class="day" aria-labelledby={`day-${day}`}>
          <h2 id={`day-${day}`}>{longDay(day)}</h2>
          <ol class="moments">
            {ofDay.map((moment) => (
              <li
                key={moment.packetId}
                class={`moment ${moment.event ? 'events' : moment.sessionArchiveByPacketId ? 'sessions' : 'memories'}`}
              >
                <time dateTime={moment.timestamp}>{clockTime(moment.timestamp)}</time>
                <div class="moment-body">
                  <What moment={moment} />
                </div>
                <div class="moment-side">
                  <Labels moment={moment} />
                </div>
              </li>
            ))}
          </ol>
        </section>
      ))}
    </>
  );
}

function What({ moment: { packetId, title, content, sessionArchiveByPacketId: session } }: { moment: Moment }) {
  if (session) {
    return (
      <>
        <Link href={`/timeline/sessions/${session.archiveId}`}>{session.title}</Link>
        <p class="muted">{sessionLine(session)}</p>
      </>
    );
  }
  return <Link href={`/memories/${packetId}`}>{title ?? content ?? 'A memory without a text'}</Link>;
}

function sessionLine({
  messageCount,
  redacted,
  sourceTool,
  startedAt,
  endedAt,
}: NonNullable<Moment['sessionArchiveByPacketId']>): string {
  const minutes = startedAt && endedAt ? Math.round((Date.parse(endedAt) - Date.parse(startedAt)) / 60_000) : null;
  return [
    sourceTool,
    minutes !== null &&
      (minutes < 1 ? 'under a minute' : minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`),
    messageCount > 0 ? `${messageCount} messages` : 'summary only',
    redacted > 0 && `${redacted} redacted`,
  ]
    .filter(Boolean)
    .join(' · ');
}

function Labels({ moment: { kind, event, scope, projectId, speaker, metadata } }: { moment: Moment }) {
  return (
    <>
      <Chip tone={event ? 'info' : 'plain'}>{event ? event.eventType : kind}</Chip>
      {scope !== 'developer' && <Scope name={scope} />}
      <span class="muted">
        {[event?.agentId ?? speaker ?? metadata.creator, projectId].filter(Boolean).join(' · ')}
      </span>
    </>
  );
}
