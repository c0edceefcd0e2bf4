import buildConsole from '../tests/build-console.js';
import { setUp } from './setup.ts';

export default function prepare() {
  buildConsole();
  return setUp();
}
