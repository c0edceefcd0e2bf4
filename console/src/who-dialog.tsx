import { Chip, Scope } from './components/chip.tsx';
import { Id } from './components/copy.tsx';
import { Dialog } from './components/dialog.tsx';
import { Facts } from './components/fields-view.tsx';
import { present, useMe } from './lib/me.ts';

/** Whose key or token this tab uses, and what the database lets it do. */
export function WhoDialog({ onClose }: { onClose: () => void }) {
  const me = useMe();
  const projects = present(me.projects);
  const writable = present(me.writableScopes);
  const scopes = (list: readonly string[]) => list.map((name) => <Scope key={name} name={name} />);
  return (
    <Dialog title={`Signed in as ${me.caller}`} onClose={onClose}>
      <Facts
        items={[
          ['Saves as', me.creator],
          ['Role', <code key="role">{me.role}</code>],
          ['Tenant', me.tenantName],
          ['Org', me.orgId && <Id id={me.orgId} />],
          ['User', me.userId && <Id id={me.userId} />],
          ['Projects', projects.includes('*') ? 'every project' : projects.join(', ') || 'none'],
          ['Can read', scopes(present(me.readableScopes))],
          [
            'Can write',
            writable.length > 0 ? (
              scopes(writable)
            ) : (
              <Chip key="none" tone="warn">
                nothing: read-only
              </Chip>
            ),
          ],
          ['Can delete expired memories', me.canCleanUp ? 'yes' : 'no'],
        ]}
      />
      <p class="hint">
        The database decides about every row and every change. This page only leaves out what would be refused.
      </p>
    </Dialog>
  );
}
