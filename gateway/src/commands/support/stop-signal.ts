// How a process that works for long is told to stop, and when it ends at the latest, whatever it does at that moment.

// npm passes on a Ctrl-C that the terminal has already sent to this process. Signals this close together count as one.
const SAME_SIGNAL_MS = 1_000;
// `docker stop` kills after ten seconds. Any work may be abandoned: the next process takes up again whatever was not stored.
export const STOP_WITHIN_MS = 8_000;

export interface StopOptions {
  /** How long the stop may take, asked when it begins. */
  limitMs?: () => number;
  /** The exit code of a process that was still at work then. */
  exitCode: number;
  /** Called before it ends. */
  onLimit: () => void;
}

/** Aborted by SIGINT, SIGTERM or `stop`. A second signal ends the process at once. */
export function stopSignal({ limitMs = () => STOP_WITHIN_MS, exitCode, onLimit }: StopOptions) {
  const controller = new AbortController();
  let since = 0;
  let limit: NodeJS.Timeout | undefined;
  const stop = (reason: string) => {
    if (controller.signal.aborted) return;
    since = Date.now();
    limit = setTimeout(() => {
      onLimit();
      process.exit(exitCode);
    }, limitMs());
    controller.abort(reason);
  };
  const onSignal = (name: NodeJS.Signals) => {
    if (controller.signal.aborted && Date.now() - since > SAME_SIGNAL_MS) process.exit(name === 'SIGINT' ? 130 : 143);
    stop(name);
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  const forget = () => {
    clearTimeout(limit);
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  };
  return { signal: controller.signal, stop, forget };
}
