// The header WWW-Authenticate of an answer 401, as RFC 6750 and RFC 9728 have it.
const REALM = 'l9-memory';

/** What the header may quote as it is. */
const quotable = (text: string) => text.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, '?').slice(0, 300);

/**
 * `given` counts the different keys and tokens of the request. Of a request without one it only says what is asked for. `metadataUrl` is where a
 * client reads who issues tokens, or null.
 */
export function challenge(
  given: number,
  reason: string,
  metadataUrl: string | null = null,
): Record<'WWW-Authenticate', string> {
  const error = given > 1 ? 'invalid_request' : 'invalid_token';
  const why = given > 0 ? `, error="${error}", error_description="${quotable(reason)}"` : '';
  const where = metadataUrl === null ? '' : `, resource_metadata="${quotable(metadataUrl)}"`;
  return { 'WWW-Authenticate': `Bearer realm="${REALM}"${why}${where}` };
}
