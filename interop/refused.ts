// The expectations of suites and clients that the product refuses on purpose, with the reasons. A scenario that passes fails the
// run, and so does an entry that the suite no longer has.

const OF_THE_SUITE =
  'The scenario calls a tool, prompt or resource that only the server of the suite has. Ours are tested in gateway/tests/mcp/offers.test.ts.';
const TEXT_RESOURCES = 'A resource is a memory or a brief, and both are texts.';
const NO_SUBSCRIPTIONS = 'Over HTTP no stream is kept, so no change of a resource could be told.';
const NO_LOG = 'The log is for operators; the answer of a tool says all that its caller may know.';
const TEXT_ONLY = 'A memory is text: no tool answers with images, sounds or embedded resources.';
const NO_QUESTIONS = 'A stateless server asks its clients nothing: no sampling, no elicitation.';

/** By scenario of `conformance list --server`, in every version that it applies to. */
export const refusedScenarios: Record<string, string> = {
  'logging-set-level': NO_LOG,
  'tools-call-with-logging': NO_LOG,
  'completion-complete': OF_THE_SUITE,
  'tools-call-image': TEXT_ONLY,
  'tools-call-audio': TEXT_ONLY,
  'tools-call-embedded-resource': TEXT_ONLY,
  'tools-call-mixed-content': TEXT_ONLY,
  'tools-call-with-progress': 'Every tool answers at once: long work is a job of its own.',
  'tools-call-sampling': NO_QUESTIONS,
  'tools-call-elicitation': NO_QUESTIONS,
  'elicitation-sep1034-defaults': NO_QUESTIONS,
  'elicitation-sep1330-enums': NO_QUESTIONS,
  'input-required-result-basic-elicitation': NO_QUESTIONS,
  'input-required-result-basic-sampling': NO_QUESTIONS,
  'input-required-result-basic-list-roots': NO_QUESTIONS,
  'input-required-result-request-state': NO_QUESTIONS,
  'input-required-result-multiple-input-requests': NO_QUESTIONS,
  'input-required-result-multi-round': NO_QUESTIONS,
  'input-required-result-non-tool-request': NO_QUESTIONS,
  'input-required-result-result-type': NO_QUESTIONS,
  'input-required-result-tampered-state': NO_QUESTIONS,
  'input-required-result-capability-check': NO_QUESTIONS,
  'http-custom-header-server-validation': 'No tool takes an argument from a header.',
  'json-schema-2020-12':
    'The scenario calls a tool of its own, with $defs and $ref, which several hosts refuse, so that no schema of ours has them.',
  'resources-read-text': OF_THE_SUITE,
  'resources-read-binary': TEXT_RESOURCES,
  'resources-templates-read': OF_THE_SUITE,
  'resources-subscribe': NO_SUBSCRIPTIONS,
  'resources-unsubscribe': NO_SUBSCRIPTIONS,
  'prompts-get-simple': OF_THE_SUITE,
  'prompts-get-with-args': OF_THE_SUITE,
  'prompts-get-embedded-resource': TEXT_ONLY,
  'prompts-get-with-image': TEXT_ONLY,
};

/** By id of a check of a scenario whose other checks pass. */
export const refusedChecks: Record<string, string> = {
  'sep-2575-server-rejects-undeclared-capability': OF_THE_SUITE,
  'sep-2575-missing-capability-http-400': OF_THE_SUITE,
  'sep-2575-http-server-no-independent-requests-on-stream': OF_THE_SUITE,
  'sep-2575-server-no-log-without-loglevel': OF_THE_SUITE,
};

const NEW_MEDIA_TYPE =
  'Since 1 January 2025 the specification names application/graphql-response+json where a client does not choose.';
const POST_ONLY = 'The text of a query may hold what a memory holds, and addresses are kept in logs and histories.';

/** By id of graphql-http's audits. */
export const refusedAudits: Record<string, string> = {
  '47DE': NEW_MEDIA_TYPE,
  '80D8': NEW_MEDIA_TYPE,
  '5A70': POST_ONLY,
  D6D5: POST_ONLY,
  '6A70': POST_ONLY,
};

/** By what the client does. */
export const refusedCalls: Record<string, string> = {
  'urql: a query by GET': POST_ONLY,
};

/** Passes if there are no faults; for a name on the list, if there are some. */
export function expectFaults(name: string, faults: string[], refused: Record<string, string>) {
  if (refused[name] === undefined) expect(faults, name).toStrictEqual([]);
  else expect(faults, `${name} passes now: take it off the list of what is refused`).not.toStrictEqual([]);
}
