// What a client of OAuth reads to get a token by itself (RFC 9728): which server issues tokens, and what they must be for. Without a
// JWKS_URL this installation signs its tokens, and there is no such server.
import type { Express, Request } from 'express';
import type { Config } from '../config/config.ts';

const WELL_KNOWN = '/.well-known/oauth-protected-resource';
/** The APIs that take tokens, each a resource of its own. The first one is that of a request to another path. */
const ENDPOINTS = ['/mcp', '/graphql'] as const;

export interface ProtectedResource {
  /** The address of the metadata, as a client of this request reaches it. */
  metadataUrl(request: Request): string;
  mount(app: Express): void;
}

/** Which API a request is for, be it a call or a question for the metadata. A router below the application sees a part of the path only. */
function endpointOf({ originalUrl }: Request): string {
  const [path] = originalUrl.split('?');
  return ENDPOINTS.find((endpoint) => path === endpoint || path === WELL_KNOWN + endpoint) ?? ENDPOINTS[0];
}

const isWebAddress = (text: string) => /^https?:\/\//i.test(text) && URL.canParse(text);

/** Null where tokens come from no issuer that a client could find. */
export function protectedResource({ jwksUrl, issuer, audience }: Config['jwt']): ProtectedResource | null {
  if (jwksUrl === null || !isWebAddress(issuer)) return null;
  // An audience that is an address is the name under which the issuer knows this server. Else the client's own address of it is taken,
  // whose host was checked before.
  const ownName = isWebAddress(audience) ? audience : null;
  const resourceOf = (request: Request) =>
    ownName ?? `${request.protocol}://${request.headers.host}${endpointOf(request)}`;
  const pathOf = (resource: string) => WELL_KNOWN + new URL(resource).pathname.replace(/\/$/, '');
  return {
    metadataUrl(request) {
      const resource = resourceOf(request);
      return new URL(resource).origin + pathOf(resource);
    },
    mount(app) {
      // Some clients ask at the root only.
      const own = ownName === null ? [] : [pathOf(ownName)];
      const paths = new Set([WELL_KNOWN, ...ENDPOINTS.map((endpoint) => WELL_KNOWN + endpoint), ...own]);
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
