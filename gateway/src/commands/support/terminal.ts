// The output of a server on a terminal: a progress line with the current step, and readable log lines.
const EVERY_MS = 1_000;
const CLEAR_LINE = '\r\u001b[K';

export type Terminal = ReturnType<typeof openTerminal>;

/** A stream that is not a terminal gets a line for each step. */
export function openTerminal(out: Pick<NodeJS.WriteStream, 'write' | 'isTTY'>, now: () => number = Date.now) {
  let step: string | null = null;
  let began = 0;
  let timer: NodeJS.Timeout | undefined;
  const show = () => {
    if (step === null) return;
    const seconds = Math.floor((now() - began) / 1_000);
    if (out.isTTY) out.write(`${CLEAR_LINE}l9-memory: ${step} …${seconds > 0 ? ` ${seconds} s` : ''}`);
  };
  const hide = () => {
    if (step !== null && out.isTTY) out.write(CLEAR_LINE);
  };
  return {
    /** Receives the JSON lines of a logger. */
    log: {
      write(line: string) {
        hide();
        out.write(inWords(line));
        show();
      },
    },
    /** Shows this step in the progress line, with the seconds since the start. */
    doing(next: string) {
      if (step === null) began = now();
      step = next;
      if (!out.isTTY) out.write(`l9-memory: ${next} …\n`);
      show();
      timer ??= setInterval(show, EVERY_MS).unref();
    },
    /** Removes the progress line. */
    done() {
      clearInterval(timer);
      timer = undefined;
      hide();
      step = null;
    },
  };
}

/** A JSON line of the log as `14:03:07 warn  what happened, field=value`. */
function inWords(line: string): string {
  const { level, time, msg, pid: _, service: __, environment: ___, ...fields } = JSON.parse(line);
  const clock = new Date(time).toTimeString().slice(0, 8);
  const details = Object.entries(fields).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return `${clock} ${String(level).padEnd(5)} ${[msg, ...details].join(', ')}\n`;
}
