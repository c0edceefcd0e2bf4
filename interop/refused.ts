// The expectations of suites and clients that the product refuses on purpose, with the reasons. An entry that passes fails the run, and
// so does one that the suite no longer has.

const NO_RESOURCES =
  'Memories are reached by tools. A list of resources would be read by hosts without an audit row of who asked.';
const NO_PROMPTS = 'The server offers no prompts: recalled text is data, never instructions.';
const NO_LOG = 'The log is for operators; the answer of a tool says all that its caller may know.';
const TEXT_ONLY = 'A memory is text: no tool answers with images, sounds or embedded resources.';
const NO_QUESTIONS = 'A stateless server asks its clients nothing: no sampling, no elicitation.';

/** By scenario of `conformance list --server`. */
export const refusedScenarios: Record<string, string> = {
  'logging-set-level': NO_LOG,
  'tools-call-with-logging': NO_LOG,
  'completion-complete':
    'Completion is offered for arguments of prompts and templates of resources, of which there are none.',
  'tools-call-image': TEXT_ONLY,
  'tools-call-audio': TEXT_ONLY,
  'tools-call-embedded-resource': TEXT_ONLY,
  'tools-call-mixed-content': TEXT_ONLY,
  'tools-call-with-progress': 'Every tool answers at once: long work is a job of its own.',
  'tools-call-sampling': NO_QUESTIONS,
  'tools-call-elicitation': NO_QUESTIONS,
  'elicitation-sep1034-defaults': NO_QUESTIONS,
  'elicitation-sep1330-enums': NO_QUESTIONS,
  'json-schema-2020-12':
    'The scenario calls a tool of its own, with $defs and $ref, which several hosts refuse, so that no schema of ours has them.',
  'resources-list': NO_RESOURCES,
  'resources-read-text': NO_RESOURCES,
  'resources-read-binary': NO_RESOURCES,
  'resources-templates-read': NO_RESOURCES,
  'resources-subscribe': NO_RESOURCES,
  'resources-unsubscribe': NO_RESOURCES,
  'prompts-list': NO_PROMPTS,
  'prompts-get-simple': NO_PROMPTS,
  'prompts-get-with-args': NO_PROMPTS,
  'prompts-get-embedded-resource': NO_PROMPTS,
  'prompts-get-with-image': NO_PROMPTS,
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
