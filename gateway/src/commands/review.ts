// `l9-memory review`: what a reviewer does with memories that wait, and the rules that say which ones do. Texts of memories are printed
// in double quotes, in which nothing can end the line or change the terminal.
import { oneLine } from '../operations/fields.ts';
import { recalled } from '../operations/recalled.ts';
import { type Client, type ClientOptions, checkIds, connect, Refused, reasonOf } from './support/client.ts';

const PAGE = 100;
const DECIDED = 'decided { packetId status kind scope projectId updatedAt mergedInto }';

const QUEUE = `query ($k: Int, $cursor: String, $scope: String, $projectId: String, $creator: String, $kinds: [String!]) {
  reviewQueue(k: $k, cursor: $cursor, scope: $scope, projectId: $projectId, creator: $creator, kinds: $kinds) {
    waiting nextCursor
    items {
      packetId kind title content isTruncated fields scope projectId branch tags creator source agent toolName speaker timestamp
      createdAt updatedAt
      duplicates { packetId similarity content creator source createdAt }
      contradictions { factId subject predicate presentObject newObject confidence sourcePacket creator isFromAdmin }
      rejectedBefore { packetId reviewedBy reviewedAt reviewReason }
    }
  }
}`;
const APPROVE = `mutation ($input: ApproveMemoryInput!) { answer: approveMemory(input: $input) { ${DECIDED} } }`;
const REJECT = `mutation ($input: RejectMemoryInput!) { answer: rejectMemory(input: $input) { ${DECIDED} } }`;
const UNDO = `mutation ($input: UndoReviewInput!) { answer: undoReview(input: $input) { ${DECIDED} } }`;
const MERGE = `mutation ($input: MergeMemoriesInput!) {
  answer: mergeMemories(input: $input) { decided: merged { packetId status kind scope projectId updatedAt mergedInto } }
}`;
const RULE = 'ruleId caller scope projectId kinds source needsReview updatedAt';
const RULES = `query { admin { reviewRules(first: 1000) { ${RULE} } } }`;
const SET_RULE = `mutation ($needsReview: Boolean!, $caller: String, $scope: String, $projectId: String, $kinds: [String], $source: String) {
  admin {
    setReviewRule(needsReview: $needsReview, caller: $caller, scope: $scope, projectId: $projectId, kinds: $kinds, source: $source) { ${RULE} }
  }
}`;
const DELETE_RULE = 'mutation ($ruleId: UUID!) { admin { deleteReviewRule(ruleId: $ruleId) } }';

export interface ReviewOptions extends ClientOptions {
  json?: boolean;
}

interface Item {
  packetId: string;
  kind: string;
  title: string | null;
  content: string;
  scope: string;
  projectId: string | null;
  creator: string;
  createdAt: string;
  duplicates: { packetId: string; similarity: number }[];
  contradictions: { subject: string; predicate: string; presentObject: unknown }[];
  rejectedBefore: { packetId: string; reviewReason: string | null }[];
}

interface Decision {
  packetId: string;
  status: string;
  mergedInto: string | null;
}

interface Rule {
  ruleId: string;
  caller: string | null;
  scope: string | null;
  projectId: string | null;
  kinds: string[] | null;
  source: string | null;
  needsReview: boolean;
}

function inWords(one: Item): string {
  const where = [one.scope, one.projectId].filter(Boolean).join(', ');
  return [
    `${one.createdAt.slice(0, 16).replace('T', ' ')}  ${one.packetId}  ${one.kind} in ${where} by ${one.creator}`,
    recalled(oneLine(one.title ?? one.content).slice(0, 300)),
    ...one.duplicates.map((it) => `nearly the same: ${it.packetId} (${it.similarity.toFixed(2)})`),
    ...one.contradictions.map(
      (it) => `contradicts: ${recalled(`${it.subject} ${it.predicate}`)} is ${recalled(it.presentObject)}`,
    ),
    ...one.rejectedBefore.map((it) => `rejected before: ${it.packetId} ${recalled(it.reviewReason ?? '')}`),
  ].join('\n  ');
}

export interface ListOptions extends ReviewOptions {
  scope?: string;
  project?: string;
  creator?: string;
  kinds?: string[];
  limit: string;
}

/** Prints what waits, oldest first. */
export const list = (
  env: NodeJS.ProcessEnv,
  { scope, project, creator, kinds, limit, json, ...options }: ListOptions,
) =>
  run(env, options, async (client) => {
    const most = Number(limit);
    if (!Number.isInteger(most) || most < 1) throw new Refused('--limit: a whole number from 1');
    const asked = { scope, projectId: project, creator, kinds };
    const lines: string[] = [];
    for (
      let cursor: string | null = null, isFirst = true;
      isFirst || (cursor !== null && lines.length < most);
      isFirst = false
    ) {
      const k = Math.min(PAGE, most - lines.length);
      const page: { reviewQueue: { items: Item[]; nextCursor: string | null } } = await client.request(QUEUE, {
        ...asked,
        k,
        cursor,
      });
      lines.push(...page.reviewQueue.items.map((one) => (json ? JSON.stringify(one) : inWords(one))));
      cursor = page.reviewQueue.nextCursor;
    }
    return lines.length === 0 && !json ? 'Nothing waits for a review.\n' : lines.map((line) => `${line}\n`).join('');
  });

const decide = (
  env: NodeJS.ProcessEnv,
  ids: string[],
  mutation: string,
  input: object,
  { json, ...options }: ReviewOptions,
) =>
  run(env, options, async (client) => {
    checkIds(...ids);
    const { answer } = await client.request<{ answer: { decided: Decision[] } }>(mutation, { input });
    return answer.decided
      .map((one) =>
        json ? JSON.stringify(one) : `${one.packetId} ${one.status}${one.mergedInto ? ` into ${one.mergedInto}` : ''}`,
      )
      .map((line) => `${line}\n`)
      .join('');
  });

export interface ApproveOptions extends ReviewOptions {
  text?: string;
  title?: string;
  tags?: string[];
  reason?: string;
}

export const approve = (
  env: NodeJS.ProcessEnv,
  packetIds: string[],
  { text, title, tags, reason, ...options }: ApproveOptions,
) => decide(env, packetIds, APPROVE, { packetIds, text, title, tags, reason }, options);

export const reject = (
  env: NodeJS.ProcessEnv,
  packetIds: string[],
  { reason, ...options }: ReviewOptions & { reason: string },
) => decide(env, packetIds, REJECT, { packetIds, reason }, options);

export const merge = (
  env: NodeJS.ProcessEnv,
  keep: string,
  others: string[],
  { text, ...options }: ReviewOptions & { text?: string },
) => decide(env, [keep, ...others], MERGE, { keep, others, text }, options);

export const undo = (env: NodeJS.ProcessEnv, packetIds: string[], options: ReviewOptions) =>
  decide(env, packetIds, UNDO, { packetIds }, options);

function ruleInWords({ ruleId, needsReview, ...rule }: Rule): string {
  const conditions = [
    rule.caller && `what ${rule.caller} writes`,
    rule.scope && `scope ${rule.scope}`,
    rule.projectId && `project ${rule.projectId}`,
    rule.kinds && `kinds ${rule.kinds.join(', ')}`,
    rule.source && `source ${rule.source}`,
  ].filter(Boolean);
  return `${ruleId}  ${needsReview ? 'needs review' : 'counts at once'}: ${conditions.join(', ') || 'everything'}`;
}

export interface RulesOptions extends ReviewOptions {
  needsReview?: boolean;
  counts?: boolean;
  of?: string;
  scope?: string;
  project?: string;
  kinds?: string[];
  source?: string;
  delete?: string;
}

/** Sets or deletes a rule, where one is given, and prints all rules. */
export const rules = (env: NodeJS.ProcessEnv, { json, ...options }: RulesOptions) =>
  run(env, options, async (client) => {
    const { of: caller, scope, project: projectId, kinds, source } = options;
    if (options.needsReview && options.counts) throw new Refused('--needs-review and --counts: only one of them');
    if (options.delete) {
      checkIds(options.delete);
      const { admin } = await client.request<{ admin: { deleteReviewRule: boolean } }>(DELETE_RULE, {
        ruleId: options.delete,
      });
      if (!admin.deleteReviewRule) throw new Refused('--delete: there is no such rule');
    } else if (options.needsReview || options.counts) {
      const needsReview = options.needsReview === true;
      await client.request(SET_RULE, { needsReview, caller, scope, projectId, kinds, source });
    } else if ([caller, scope, projectId, kinds, source].some((given) => given !== undefined)) {
      throw new Refused('say with --needs-review or --counts what becomes of these saves');
    }
    const { admin } = await client.request<{ admin: { reviewRules: Rule[] } }>(RULES);
    const lines = admin.reviewRules.map((one) => (json ? JSON.stringify(one) : ruleInWords(one)));
    return lines.length === 0 && !json ? 'Nothing needs a review.\n' : lines.map((line) => `${line}\n`).join('');
  });

async function run(
  env: NodeJS.ProcessEnv,
  options: ClientOptions,
  work: (client: Client) => Promise<string>,
): Promise<number> {
  try {
    process.stdout.write(await work(await connect(env, options)));
    return 0;
  } catch (error) {
    process.stderr.write(`${error instanceof Refused ? error.message : reasonOf(error)}\n`);
    return 1;
  }
}
