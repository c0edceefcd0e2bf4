export { setUp as default } from './setup.ts';
