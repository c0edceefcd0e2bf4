// The resources of MCP: a memory by its id, the brief of a project, and for reviewers the page of a tool. Each read is an operation of
// the caller of the key, as a call of a tool is.
import {
  type ListResourcesResult,
  type ReadResourceResult,
  type Resource,
  ResourceNotFoundError,
} from '@modelcontextprotocol/server';
import { mcpText } from '../base/errors.ts';
import { isProject, PROJECT_NAME } from '../input/names.ts';
import { RECALLED } from '../operations/recalled.ts';
import { recallForStart } from '../recall/recall.ts';
import type { Calls } from './calls.ts';
import { readableProjects, recallingIn } from './projects.ts';
import { asProtocolError, asResourceError, invalid, orProtocolError } from './protocol-errors.ts';
import { addressOf, briefUri, MAX_URI_LENGTH, TEXT } from './resource-uris.ts';
import { REVIEW_WIDGET, reviewWidget, WIDGET_TYPE } from './review-widget.ts';

const PAGE = 100;
const NOTHING = 'Nothing is remembered of this project that you may read.';

const reviewPage: Resource = { uri: REVIEW_WIDGET, name: 'Review of memories', mimeType: WIDGET_TYPE };

const briefOf = (project: string): Resource => ({
  uri: briefUri(project),
  name: `brief of ${project}`,
  title: `The brief of ${project}`,
  mimeType: TEXT,
});

/** The briefs of the projects in which the caller may read memories, a page at a time. */
export const listResources = (
  calls: Calls,
  { cursor, hasReviewPage }: { cursor: string | undefined; hasReviewPage: boolean },
): Promise<ListResourcesResult> =>
  orProtocolError(async () => {
    const last = cursor === undefined ? '' : Buffer.from(cursor, 'base64url').toString();
    const left = (await readableProjects(calls)).filter((project) => project > last);
    const page = left.slice(0, PAGE);
    const isFirst = cursor === undefined;
    return {
      resources: [...(isFirst && hasReviewPage ? [reviewPage] : []), ...page.map(briefOf)],
      ...(left.length > page.length && { nextCursor: Buffer.from(page.at(-1)!).toString('base64url') }),
    };
  });

/** The content of a resource. Throws the error of JSON-RPC that says why there is none. */
export async function readResource(calls: Calls, uri: string, hasReviewPage: boolean): Promise<ReadResourceResult> {
  if (uri === REVIEW_WIDGET && hasReviewPage) {
    const page = { uri, mimeType: WIDGET_TYPE, text: reviewWidget, _meta: { ui: { prefersBorder: true } } };
    return { contents: [page] };
  }
  const address = addressOf(uri);
  if (address === null) {
    const error = await calls.refuse('resources/read', invalid('uri', 'there is no such resource'));
    throw uri.length > MAX_URI_LENGTH ? asProtocolError(error) : new ResourceNotFoundError(uri, mcpText(error));
  }
  if ('project' in address && !isProject(address.project))
    throw asProtocolError(await calls.refuse('resources/read', invalid('uri', `its project must be ${PROJECT_NAME}`)));
  const text =
    'memory' in address ? await memoryText(calls, address.memory, uri) : await briefText(calls, address.project);
  return { contents: [{ uri, mimeType: TEXT, text }] };
}

async function memoryText({ call }: Calls, packetId: string, uri: string): Promise<string> {
  const called = await call('get_memory', { packet_id: packetId });
  if (called.error) throw asResourceError(uri, called.error);
  return called.summary;
}

/** A project that the caller can't see has the same brief as one that does not exist. */
const briefText = ({ callTools, identity }: Calls, project: string): Promise<string> =>
  orProtocolError(async () => {
    const block = await recallForStart(callTools, { ...recallingIn(identity, project), now: Date.now() });
    return block ? `${RECALLED}\n${block.text}` : NOTHING;
  });
