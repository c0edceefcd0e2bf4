// The thread that parses a large body, so that the gateway answers others meanwhile.
import { parentPort, workerData } from 'node:worker_threads';
import { type ParsedBody, parseBody } from './parse-body.ts';

const { buffer, byteOffset, byteLength } = workerData as Uint8Array;
const answer: ParsedBody = parseBody(Buffer.from(buffer, byteOffset, byteLength));
parentPort!.postMessage(answer);
