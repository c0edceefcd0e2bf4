// Part of `npm ci`: removes from installed packages what nothing here loads, a third of all that is installed. Both runtimes of the
// bundled model come with the builds for every platform, and the GraphQL editor with its files twice and their source maps.
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const packages = join(import.meta.dirname, '..', 'node_modules');
const { platform, arch } = process;

/** Folders, and what stays of each. */
const KEPT: Record<string, RegExp> = {
  // The build for Node, and the WebAssembly that it loads.
  'onnxruntime-web/dist': /^ort\.node\.min\.(mjs|js)$|^ort-wasm-simd-threaded\.(mjs|wasm)$/,
  'onnxruntime-node/bin/napi-v6': new RegExp(`^${platform}$`),
  [`onnxruntime-node/bin/napi-v6/${platform}`]: new RegExp(`^${arch}$`),
  // Ruru serves its files from dist/.
  'ruru/static': /^$/,
};

for (const [folder, kept] of Object.entries(KEPT)) {
  const path = join(packages, folder);
  if (!existsSync(path)) continue;
  for (const entry of readdirSync(path)) if (!kept.test(entry)) rmSync(join(path, entry), { recursive: true });
}
