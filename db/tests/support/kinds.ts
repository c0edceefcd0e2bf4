// An example of each built-in kind, and what its rules make of it.
import { createHash } from 'node:crypto';

export type Fields = Record<string, unknown>;

export interface KindExample {
  kind: string;
  /** A whole memory of the kind. */
  fields: Fields;
  required: string[];
  /** Fields that break a rule, with the field that the error names. */
  bad: [field: string, fields: Fields][];
  /** Other fields of a memory that is the same. Null: only the text makes it the same. */
  same: Fields | null;
  /** Other fields of a memory that is not the same. */
  other: Fields;
  /** What locks it, and changes that are refused from then on. */
  locks?: { by: Fields; refused: [field: string, change: Fields][]; allowed: Fields };
}

const ddl = 'create table a ();';
export const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

export const kindExamples: KindExample[] = [
  {
    kind: 'document',
    fields: { title: 'How billing works', doc_type: 'guide', source_url: 'docs/billing.md' },
    required: ['title'],
    bad: [
      ['title', { title: ' ' }],
      ['title', { title: 'x'.repeat(501) }],
      ['approved_at', { approved_at: 'tomorrow' }],
    ],
    same: { title: 'Billing, explained' },
    other: { source_url: 'docs/Billing.md' },
    locks: {
      by: { approved_at: '2026-11-01T10:00:00Z', approved_by: 'Ann' },
      refused: [
        ['approved_at', { approved_at: null }],
        ['approved_at', { approved_at: '2026-11-02T10:00:00Z' }],
        ['approved_by', { approved_by: 'Bob' }],
        ['title', { title: 'Another title' }],
      ],
      allowed: { doc_type: 'handbook', approved_at: '2026-11-01T10:00:00Z', approved_by: 'Ann' },
    },
  },
  {
    kind: 'section',
    fields: { heading: 'Refunds', level: 2, position: 1.5, body_md: '## Refunds\n\nRefunds take three days.\n' },
    required: ['heading', 'body_md'],
    bad: [
      ['level', { level: 'two' }],
      ['document_id', { document_id: 'no id' }],
      ['body_md', { body_md: '' }],
    ],
    same: { position: 7 },
    other: { body_md: '## Refunds\n\nRefunds take four days.\n' },
  },
  {
    kind: 'runbook',
    fields: {
      service: 'payments',
      title: 'The queue is full',
      steps: [{ number: 1, description: 'Look at the queue', command: 'queue status', expected: 'full' }],
      owner: 'Ann',
    },
    required: ['service', 'title', 'steps'],
    bad: [
      ['steps', { steps: [] }],
      ['steps', { steps: ['look'] }],
      ['steps.0.description', { steps: [{}] }],
      ['steps.0.description', { steps: [{ description: ' ' }] }],
      ['steps.1.number', { steps: [{ description: 'Look' }, { description: 'Wait', number: 'two' }] }],
      ['steps.0.command', { steps: [{ description: 'Look', command: { a: 1 } }] }],
      ['steps.0.expected', { steps: [{ description: 'Look', expected: 'x'.repeat(10_001) }] }],
      ['steps.0.foo', { steps: [{ description: 'Look', foo: 'x' }] }],
      ['last_verified_at', { last_verified_at: '31.12.2026' }],
    ],
    same: { owner: 'Bob' },
    other: { service: 'search' },
  },
  {
    kind: 'change',
    fields: {
      subject_ref: 'config/limits',
      change_type: 'changed',
      summary: 'Raised the limit to 50',
      files: ['limits.yml'],
    },
    required: ['subject_ref', 'change_type', 'summary'],
    bad: [
      ['files', { files: [1] }],
      ['commit_sha', { commit_sha: 'a'.repeat(65) }],
    ],
    same: { details: 'It was 20 before.' },
    other: { summary: 'Raised the limit to 60' },
  },
  {
    kind: 'issue',
    fields: {
      tracker: 'jira',
      external_id: 'PAY-12',
      title: 'Payments fail at midnight',
      status: 'open',
      labels: ['bug'],
    },
    required: ['tracker', 'external_id', 'title', 'status'],
    bad: [
      ['labels', { labels: [1] }],
      ['closed_at', { closed_at: 'yesterday' }],
    ],
    same: { title: 'Payments fail at night', status: 'closed' },
    other: { external_id: 'PAY-13' },
  },
  {
    kind: 'decision',
    fields: { title: 'Use one queue', status: 'proposed', rationale: 'Two queues drift apart.', component: 'payments' },
    required: ['title', 'status', 'rationale'],
    bad: [
      ['status', { status: 'done' }],
      ['alternatives', { alternatives: [{ a: 1 }] }],
      ['titel', { titel: 'a typo' }],
    ],
    same: { rationale: 'Two queues would drift apart.' },
    other: { component: 'search' },
    locks: {
      by: { status: 'accepted' },
      refused: [
        ['rationale', { rationale: 'Because.' }],
        ['status', { status: 'proposed' }],
        ['consequences', { consequences: 'None' }],
      ],
      allowed: { status: 'deprecated' },
    },
  },
  {
    kind: 'todo',
    fields: { text: 'Rotate the signing keys', status: 'open', priority: 'high', due_date: '2026-12-31' },
    required: ['text', 'status'],
    bad: [
      ['status', { status: 'later' }],
      ['due_date', { due_date: '2026-02-30' }],
      ['due_date', { due_date: 'tomorrow' }],
    ],
    same: { priority: 'low' },
    other: { text: 'Rotate the other keys' },
  },
  {
    kind: 'release_note',
    fields: { version: '2.1.0', release_date: '2026-11-20', new_features: ['Typed memories'] },
    required: ['version', 'release_date'],
    bad: [
      ['release_date', { release_date: 'soon' }],
      ['bug_fixes', { bug_fixes: {} }],
    ],
    same: { summary: 'Kinds' },
    other: { version: '2.1.1' },
  },
  {
    kind: 'ddl',
    fields: { migration_id: '0042_accounts', ddl_text: ddl, checksum: sha256(ddl) },
    required: ['migration_id', 'ddl_text', 'checksum'],
    bad: [
      ['checksum', { checksum: sha256('another text') }],
      ['ddl_text', { ddl_text: 7 }],
    ],
    same: { description: 'Adds a table', status: 'applied' },
    other: { migration_id: '0043_accounts' },
    locks: {
      by: {},
      refused: [['checksum', { ddl_text: 'create table b ();', checksum: sha256('create table b ();') }]],
      allowed: { status: 'applied', applied_at: '2026-11-20T10:00:00Z' },
    },
  },
  {
    kind: 'pr_context',
    fields: {
      repository: 'acme/shop',
      pr_number: 17,
      title: 'Pay by invoice',
      status: 'open',
      branch: 'invoices',
      base: 'main',
    },
    required: ['repository', 'pr_number', 'title', 'status'],
    bad: [
      ['pr_number', { pr_number: 'seventeen' }],
      ['merged_at', { merged_at: '12:00' }],
    ],
    same: { title: 'Pay with an invoice' },
    other: { pr_number: 18 },
  },
];
