// What a client of OAuth reads to get a token by itself (RFC 9728): which server issues tokens, and what they must be for. Without a
// JWKS_URL this installation signs its tokens, and there is no such server.
import type { Express, Request } from 'express';
import type { Config } from '../config/config.ts';

const WELL_KNOWN = '/.well-known/oauth-protected-resource';
const ENDPOINT = '/mcp';

export interface ProtectedResource {
  /** The address of the metadata, as a client of this request reaches it. */
  metadataUrl(request: Request): string;
  mount(app: Express): void;
}

const isWebAddress = (text: string) => /^https?:\/\//i.test(text) && URL.canParse(text);

/** Null where tokens come from no issuer that a client could find. */
export function protectedResource({ jwksUrl, issuer, audience }: Config['jwt']): ProtectedResource | null {
  if (jwksUrl === null || !isWebAddress(issuer)) return null;
  // An audience that is an address is the name under which the issuer knows this server. Else the client's own address of it is taken,
  // whose host was checked before.
  const ownName = isWebAddress(audience) ? audience : null;
  const resourceOf = (request: Request) => ownName ?? `${request.protocol}://${request.headers.host}${ENDPOINT}`;
  const pathOf = (resource: string) => WELL_KNOWN + new URL(resource).pathname.replace(/\/$/, '');
  return {
    metadataUrl(request) {
      const resource = resourceOf(request);
      return new URL(resource).origin + pathOf(resource);
    },
    mount(app) {
      // Some clients ask at the root only. There is one resource here, so the answer is the same.
      const paths = new Set([WELL_KNOWN, WELL_KNOWN + ENDPOINT, ...(ownName === null ? [] : [pathOf(ownName)])]);
      app.get([...paths], (request, response) => {
        response.json({
          resource: resourceOf(request),
          authorization_servers: [issuer],
          bearer_methods_supported: ['header'],
          resource_name: 'l9-memory',
        });
      });
    },
  };
}
