// What the running server says to `l9-memory doctor` about itself.
import type { Client } from '../support/client.ts';
import { type Check, note, well, wrong } from './check.ts';

const CLOCK_WITHIN_MS = 5_000;
const SEALED_WITHIN_SECONDS = 15 * 60;

const REMEDIES: Record<string, string> = {
  database: 'the database does not answer: see the log of the server',
  migrations: 'migrations are pending: restart the server of this version, which runs them',
  reads: 'callers cannot read: too many calls wait, or the database does not answer',
  disk: 'the disk is full, so saves are refused: make room',
  embedder: 'the model does not answer, so searches use words only: see the log of the server',
};

export async function ofReadiness(client: Client): Promise<Check[]> {
  const ready = await client.ready();
  const warnings = (ready.warnings as string[] | undefined) ?? [];
  return [
    ...Object.entries(REMEDIES)
      // Of the disk another line says how much room is left.
      .filter(([name]) => name !== 'disk' || ready[name] !== 'ok')
      .map(([name, remedy]) => (ready[name] === 'ok' ? well(name, 'ok') : wrong(name, `${ready[name]}: ${remedy}`))),
    ...warnings.map((one) => wrong('start', one)),
  ];
}

const HEALTH = `{ admin { health {
  checkedAt servingModel arrivingModel arrivingRemaining embeddingWaiting embeddingFailing embeddingError unsealedOldestSeconds
  indexes { indexName isValid } jobs { type failed lastError lastFailedAt lastCompletedAt }
} } }`;

interface Health {
  checkedAt: string;
  servingModel: string | null;
  arrivingModel: string | null;
  arrivingRemaining: number | null;
  embeddingWaiting: number;
  embeddingFailing: number;
  embeddingError: string | null;
  unsealedOldestSeconds: number | null;
  indexes: { indexName: string; isValid: boolean }[];
  jobs: { type: string; lastError: string | null; lastFailedAt: string | null; lastCompletedAt: string | null }[];
}

export async function ofHealth(client: Client): Promise<Check[]> {
  const asked = Date.now();
  const { admin } = await client.request<{ admin: { health: Health } }>(HEALTH);
  const { health } = admin;
  const middle = (asked + Date.now()) / 2;
  const apart = Math.abs(Date.parse(health.checkedAt) - middle);
  const invalid = health.indexes.filter(({ isValid }) => !isValid).map(({ indexName }) => indexName);
  const failing = health.jobs.filter((job) => job.lastFailedAt && job.lastFailedAt > (job.lastCompletedAt ?? ''));
  const unsealed = health.unsealedOldestSeconds ?? 0;
  return [
    apart <= CLOCK_WITHIN_MS
      ? well('clock', 'that of the database and of this machine agree')
      : wrong(
          'clock',
          `that of the database and of this machine differ by ${Math.round(apart / 1000)} s: set them by NTP`,
        ),
    health.arrivingModel === null
      ? well('model', `all vectors are of ${health.servingModel ?? 'no model yet'}`)
      : note(
          'model',
          `${health.servingModel} serves while ${health.arrivingModel} is prepared, ${health.arrivingRemaining} memories to go`,
        ),
    health.embeddingFailing === 0
      ? well('vectors', `${health.embeddingWaiting} memories wait for theirs`)
      : wrong(
          'vectors',
          `${health.embeddingFailing} memories got none (${health.embeddingError}): see the log of the server`,
        ),
    invalid.length === 0
      ? well('indexes', `${health.indexes.length} are valid`)
      : wrong('indexes', `${invalid.join(', ')}: \`reindex index concurrently\` mends an invalid one`),
    ...failing.map((job) => wrong('jobs', `${job.type} fails: ${job.lastError}`)),
    unsealed <= SEALED_WITHIN_SECONDS
      ? well('audit', 'the log is sealed up to now')
      : wrong(
          'audit',
          `rows of ${Math.round(unsealed / 60)} minutes ago are not sealed: the job that seals does not run`,
        ),
  ];
}
