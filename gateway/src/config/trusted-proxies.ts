import ipaddr from 'ipaddr.js';
import { z } from 'zod';

/** The words of a list, separated by commas or blanks. */
export const words = (text: string) => text.split(/[\s,]+/).filter(Boolean);

// The names are those of Express. Its settings `true` and a number of hops are not offered, because a client could forge its address.
const NETWORKS = ['loopback', 'linklocal', 'uniquelocal'];
const isNetwork = (text: string) => NETWORKS.includes(text) || ipaddr.isValid(text) || isRange(text);

function isRange(text: string): boolean {
  try {
    return Boolean(ipaddr.parseCIDR(text));
  } catch {
    return false;
  }
}

/** TRUSTED_PROXIES, as Express takes it for `trust proxy`. */
export const trustedProxies = z
  .string()
  .transform(words)
  .refine((list) => list.every(isNetwork), {
    message: `must be addresses or ranges such as 10.0.0.0/8, or ${NETWORKS.join(', ')}, separated by commas`,
  });
