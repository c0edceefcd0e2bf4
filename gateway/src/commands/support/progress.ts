import cliProgress from 'cli-progress';

const PLAIN_LINE_EVERY_MS = 10_000;

export interface Progress {
  update(done: number, note?: string): void;
  stop(): void;
}

/** A progress bar on a terminal. Elsewhere, or if the total is unknown, a plain line every ten seconds. */
export function startProgress(
  label: string,
  total: number | null,
  stream: NodeJS.WriteStream = process.stderr,
): Progress {
  if (!stream.isTTY || total === null) return plainLines(label, total, stream);
  const bar = new cliProgress.SingleBar({
    stream,
    format: `${label} {bar} {percentage}% {note}`,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    hideCursor: true,
  });
  bar.start(total, 0, { note: '' });
  return { update: (done, note = '') => bar.update(Math.min(done, total), { note }), stop: () => bar.stop() };
}

function plainLines(label: string, total: number | null, stream: NodeJS.WritableStream): Progress {
  let next = Date.now() + PLAIN_LINE_EVERY_MS;
  return {
    update(done, note = '') {
      if (Date.now() < next) return;
      next = Date.now() + PLAIN_LINE_EVERY_MS;
      const part = total ? ` ${Math.floor((100 * Math.min(done, total)) / total)}%` : '';
      stream.write(`${label}${part} ${note}\n`);
    },
    stop() {},
  };
}
