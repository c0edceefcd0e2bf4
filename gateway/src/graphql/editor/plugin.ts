// Ruru, the GraphQL editor at `/`, opens on this machine with a working example and a bar that takes a token.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot, typed } from '../../base/paths.ts';
import { isLoopback } from '../../http/guard.ts';

const tokenBar = readFileSync(
  join(packageRoot, 'gateway', 'src', 'graphql', 'editor', 'token-bar.html'),
  'utf8',
).replace('npm run token -- --caller', typed.token);

const EXAMPLE = `# Put a token in above, press ▶, and choose: Save, then Search.

mutation Save {
  saveMemory(
    input: { content: "We deploy on Tuesdays, never on Fridays.", projectId: "l9", kind: "rule" }
  ) {
    status
    memory {
      packetId
      scope
    }
  }
}

# The question shares no word with the memory: it is found by its meaning.
query Search {
  searchMemory(query: "which day do releases go out?") {
    hits {
      score
      content
    }
    searched {
      mode
      scopes
    }
  }
}
`;

const exampleScript = `<script>RURU_CONFIG.defaultQuery = ${JSON.stringify(EXAMPLE)};</script>`;

/** Elsewhere people log in some other way, and have no `npm run token`. */
const isThisMachine = (host: string | undefined) =>
  host !== undefined && URL.canParse(`http://${host}`) && isLoopback(new URL(`http://${host}`).hostname);

export const editorPlugin: GraphileConfig.Plugin = {
  name: 'EditorPlugin',
  version: '1.0.0',
  grafserv: {
    middleware: {
      ruruHTML(next, event) {
        if (isThisMachine(event.request.getHeader('host'))) {
          event.htmlParts.configScript += exampleScript;
          event.htmlParts.bodyContent = `${tokenBar}${event.htmlParts.bodyContent}`;
        }
        return next();
      },
    },
  },
};
