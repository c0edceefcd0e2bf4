// The two bundled models, and the two runtimes that can run them. Both models are one file: weights of 8 bits.
//
// The first also rounds the activations of every layer to 8 bits. Runtimes differ in the seventh digit of a sum, which now and then
// rounds another way, and each layer enlarges that: the vectors of WebAssembly and of the native runtime, or of the native one
// on two kinds of processors, differ by up to 0.02. So only WebAssembly, which computes the same everywhere, makes its vectors.
// The second sums in floating point, so that every runtime makes the same vectors to within 1e-6.
import { createRequire } from 'node:module';
import { LOCAL_MODEL, type Runtime } from '../config/config.ts';

export const FLOAT_MODEL = 'all-MiniLM-L6-v2-int8-float';
export const NATIVE_PACKAGE = 'onnxruntime-node';

/** The runtimes that may run a model, the preferred one first. */
export function runtimesOf(model: string, forced: Runtime | null): readonly Runtime[] {
  if (model === LOCAL_MODEL) return ['wasm'];
  return forced ? [forced] : ['native', 'wasm'];
}

export const isBundled = (model: string): boolean => model === LOCAL_MODEL || model === FLOAT_MODEL;

/** The model of a new database. */
export const bundledModel = (forced: Runtime | null | undefined): string =>
  forced === 'native' ? FLOAT_MODEL : LOCAL_MODEL;

export function isNativeInstalled(name = NATIVE_PACKAGE): boolean {
  try {
    createRequire(import.meta.url).resolve(name);
    return true;
  } catch {
    return false;
  }
}

// Names of the same length: the file is changed in place.
const ROUNDED_PRODUCT = 'DynamicQuantizeMatMul';
const FLOAT_PRODUCT = 'DequantizedMatMulSums';

/**
 * The file of the first model as that of the second: its products have another name, under which a function is appended that makes
 * floating-point numbers of the weights, once, and multiplies these. In protobuf, appending is adding a field.
 */
export function withFloatSums(model: Buffer): Buffer {
  for (let at = model.indexOf(ROUNDED_PRODUCT); at >= 0; at = model.indexOf(ROUNDED_PRODUCT, at + 1))
    model.write(FLOAT_PRODUCT, at);
  return Buffer.concat([model, FLOAT_FUNCTION]);
}

/** A field of protobuf: text and messages with their length, numbers below 128 as one byte. */
const field = (number: number, value: string | Buffer | number): Buffer => {
  const key = (number << 3) | (typeof value === 'number' ? 0 : 2);
  const keyBytes = key < 128 ? [key] : [(key & 127) | 128, key >> 7];
  if (typeof value === 'number') return Buffer.from([...keyBytes, value]);
  const bytes = Buffer.from(value);
  return Buffer.concat([Buffer.from([...keyBytes, bytes.length]), bytes]);
};
const FLOAT = 1;
const INTEGER_ATTRIBUTE = 2;
const OPERATORS_OF = 21;
const node = (operator: string, inputs: string[], output: string, ...attributes: Buffer[]) =>
  field(
    7,
    Buffer.concat([...inputs.map((input) => field(1, input)), field(2, output), field(4, operator), ...attributes]),
  );
const toFloat = field(5, Buffer.concat([field(1, 'to'), field(3, FLOAT), field(20, INTEGER_ATTRIBUTE)]));

const FLOAT_FUNCTION = field(
  25,
  Buffer.concat([
    field(1, FLOAT_PRODUCT),
    ...['x', 'q', 'scale'].map((input) => field(4, input)),
    field(5, 'y'),
    node('Cast', ['q'], 'f', toFloat),
    node('Mul', ['f', 'scale'], 'w'),
    node('MatMul', ['x', 'w'], 'y'),
    field(9, Buffer.concat([field(1, ''), field(2, OPERATORS_OF)])),
    field(10, 'com.microsoft'),
  ]),
);
