// `l9-memory archive cost`: what storage would cost, from the prices that the tenant set.
import { sizeOfFile } from '../../input/files.ts';
import { type ClientOptions, connect, told } from '../support/client.ts';

const COST = `query ($bytes: Float, $pointer: String, $redundancy: Int, $connector: String) {
  estimateStorageCost(bytes: $bytes, pointer: $pointer, redundancy: $redundancy, connector: $connector) {
    bytes redundancy connector oneOffCost monthlyCost currency price reason disclaimer
  }
}`;

export interface CostOptions extends ClientOptions {
  redundancy?: string;
  connector?: string;
}

interface Estimate {
  bytes: number;
  redundancy: number;
  connector: string;
  oneOffCost: number | null;
  monthlyCost: number | null;
  currency: string | null;
  price: { priced_on: string; price_list: string | null } | null;
  reason: string | null;
  disclaimer: string;
}

/** Prints the estimate for so many bytes, for a file as large as it is, or for an archive. Returns 1 if there is none. */
export const cost = (env: NodeJS.ProcessEnv, size: string, options: CostOptions): Promise<number> =>
  told(async () => {
    const of = size.startsWith('cascade://')
      ? { pointer: size }
      : { bytes: /^\d+$/.test(size) ? Number(size) : sizeOfFile(size) };
    const client = await connect(env, options);
    const { estimateStorageCost } = await client.request<{ estimateStorageCost: Estimate }>(COST, {
      ...of,
      redundancy: options.redundancy === undefined ? undefined : Number(options.redundancy),
      connector: options.connector,
    });
    process.stdout.write(inWords(estimateStorageCost));
    return 0;
  });

function inWords(estimate: Estimate): string {
  const { bytes, redundancy, connector, oneOffCost, monthlyCost, currency, price, reason, disclaimer } = estimate;
  const amount = (cost: number | null) => (cost === null ? 'unknown' : `${cost} ${currency}`);
  const lines = [
    `${redundancy} × ${bytes} bytes with the connector ${connector}`,
    `once:    ${amount(oneOffCost)}`,
    `monthly: ${amount(monthlyCost)}`,
    price && `price of ${price.priced_on}${price.price_list ? ` (${price.price_list})` : ''}`,
    reason && `${reason}.`,
    disclaimer,
  ];
  return `${lines.filter(Boolean).join('\n')}\n`;
}
