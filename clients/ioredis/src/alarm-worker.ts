/** Sleeps until the time in shared memory, and rings. See `Alarm`. */

import { parentPort, workerData } from 'node:worker_threads';

const ringAt = new BigInt64Array(workerData as SharedArrayBuffer, 0, 1);
const changes = new Int32Array(workerData as SharedArrayBuffer, 8, 1);

for (;;) {
  const change = Atomics.load(changes, 0);
  const at = Atomics.load(ringAt, 0);
  const leftMs = at === 0n ? Infinity : Number(at - process.hrtime.bigint()) / 1e6;
  if (leftMs > 0) {
    Atomics.wait(changes, 0, change, leftMs);
  } else if (Atomics.compareExchange(ringAt, 0, at, 0n) === at) {
    parentPort!.postMessage(null);
  }
}
