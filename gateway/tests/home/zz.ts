import { createProcessHome, callTool, metric, kill } from './processes.ts';
const home = await createProcessHome();
const s = await home.serve();
const key = home.key('C');
const sentence = 'A long memory is cut into chunks, each with a vector of its own, which takes the model a while. ';
let t = Date.now();
await Promise.all(Array.from({ length: 40 }, (_, n) => callTool(s.url, key, 'save_memory', { content: `Number ${n}. ${sentence.repeat(25)}`, project_id: 'backlog' })));
console.log('saved', Date.now() - t);
for (let i = 0; i < 40; i++) { await new Promise(r => setTimeout(r, 1000)); const b = await metric(s.url, 'l9_embedding_backlog'); console.log((Date.now() - t) / 1000, b, await metric(s.url, 'l9_embedded_vectors_total')); if (b === 0) break; }
console.log(s.stdout.slice(-500), s.stderr);
await home.close();
