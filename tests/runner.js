// jest-light-runner in child processes, because tests change the environment and WebAssembly needs much memory.
import { createRunner } from 'jest-light-runner';
import Tinypool from 'tinypool';

// jest-light-runner 0.8.2 shares one channel among its workers and drops all listeners when the first worker asks for the
// configuration, so that a worker that asks late waits forever. Here each call has a channel of its own.
const run = Tinypool.prototype.run;
Tinypool.prototype.run = function runWithOwnChannel(task, options) {
  if (!options?.channel) return run.call(this, task, options);
  const { workerData } = this.options;
  let send;
  const channel = {
    onMessage(listener) {
      send = listener;
    },
    postMessage(message) {
      if (message === 'jest-light-runner-get-worker-data') send({ type: 'jest-light-runner-worker-data', workerData });
    },
  };
  return run.call(this, task, { ...options, channel });
};

export default createRunner({ runtime: 'child_process' });
