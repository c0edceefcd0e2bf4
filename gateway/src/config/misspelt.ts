// Variables of the environment whose names are almost those of ours: they have no effect, which nothing else would say.
import leven from 'leven';
import { environment, isSecret } from './environment.ts';

/** Other programs have variables that look like our shorter names, such as HOME and PATH. */
const MIN_LENGTH = 8;
const MAX_DISTANCE = 2;

const KNOWN = [...Object.keys(environment.shape), 'MCP_API_KEY_L', 'MCP_API_KEY_C'];

function meantBy(name: string): string | undefined {
  const isKnown = (one: string) => one in environment.shape || /^MCP_API_KEY_./.test(one);
  const ofFile = name.replace(/_FILE$/, '');
  if (isKnown(name) || (ofFile !== name && isKnown(ofFile) && isSecret(ofFile))) return;
  const typed = ofFile.toUpperCase();
  const [nearest] = KNOWN.filter((known) => known.length >= MIN_LENGTH)
    .map((known) => ({ known, distance: typed === known.replace(/_(MS|SECONDS)$/, '') ? 1 : leven(typed, known) }))
    .filter(({ distance }) => distance <= MAX_DISTANCE)
    .sort((one, other) => one.distance - other.distance);
  return nearest && (ofFile !== name && isSecret(nearest.known) ? `${nearest.known}_FILE` : nearest.known);
}

/** Names only: a value may be a secret. */
export const misspeltIn = (env: NodeJS.ProcessEnv): string[] =>
  Object.entries(env).flatMap(([name, value]) => {
    const meant = value ? meantBy(name) : undefined;
    return meant ? [`${name}: l9-memory has no such variable; did you mean ${meant}?`] : [];
  });
