export { tearDown as default } from './setup.ts';
