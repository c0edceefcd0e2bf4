// Fifty tenants of very different sizes. The caller is always C, which can read developer and global, 85 % of its tenant.
import { claimsOf } from '../../gateway/src/auth/directory.ts';
import type { Identity } from '../../gateway/src/auth/identity.ts';

/** Of 20 memories of a tenant 12 are developer, 5 global, 3 l-private: 60, 25 and 15 %. */
const CYCLE = 20;
const VISIBLE_OF_CYCLE = 17;

export const scopeOf = (place: number) => {
  const at = place % CYCLE;
  return at < 12 ? 'developer' : at < VISIBLE_OF_CYCLE ? 'global' : 'l-private';
};

export interface Tenant {
  id: string;
  name: string;
  /** How many memories C can read. */
  visible: number;
  total: number;
}

/** How many memories a tenant needs so that this many are visible. */
const totalFor = (visible: number) => Math.floor(visible / VISIBLE_OF_CYCLE) * CYCLE + (visible % VISIBLE_OF_CYCLE);

const tenantId = (n: number) => `00000000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;

export type TenantName = 'two percent' | 'sixty percent' | 'fifteen percent' | 'one percent' | '2,000' | '100' | 'none';

export function tenantsFor(rows: number) {
  const share = (part: number) => Math.floor(rows * part);
  const sizes: [TenantName, number][] = [
    ['two percent', share(0.02)],
    ['sixty percent', share(0.6)],
    ['fifteen percent', share(0.15)],
    ['one percent', share(0.01)],
    ['2,000', Math.min(2_000, share(0.02))],
    ['100', Math.min(100, share(0.01))],
    ['none', 0],
  ];
  const tenants: Tenant[] = sizes.map(([name, visible], index) => ({
    id: tenantId(index + 1),
    name,
    visible,
    total: totalFor(visible),
  }));
  const others = 50 - tenants.length;
  let left = rows - tenants.reduce((sum, { total }) => sum + total, 0);
  for (let n = 0; n < others; n++) {
    const total = Math.floor(left / (others - n));
    left -= total;
    const visible = Math.floor(total / CYCLE) * VISIBLE_OF_CYCLE + Math.min(total % CYCLE, VISIBLE_OF_CYCLE);
    tenants.push({ id: tenantId(tenants.length + 1), name: `other ${n + 1}`, visible, total });
  }
  return tenants;
}

/** The claims in the token of the coding agent C of a tenant. */
export const agentOf = (tenantId: string): Identity => ({
  ...claimsOf('C', tenantId),
  role: 'l9_agent',
  orgName: null,
});
