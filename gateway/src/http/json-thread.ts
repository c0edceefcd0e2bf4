// The thread that parses a large body, so that the gateway answers others meanwhile.
import { parentPort, workerData } from 'node:worker_threads';
import { type ParsedBody, parseBody } from './parse-body.ts';

const answer: ParsedBody = parseBody(Buffer.from(workerData as Uint8Array));
parentPort!.postMessage(answer);
