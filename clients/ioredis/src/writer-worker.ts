/** Writes each message as a line of JSON, its histograms encoded. See `Output`. */

import { writeSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import { encoded } from './histogram.js';

const STANDARD_OUTPUT = 1;
const FULL_PAUSE_MS = 1;
const pause = new Int32Array(new SharedArrayBuffer(4));

parentPort!.on('message', (message: unknown) => {
  if (message === null) parentPort!.close();
  else write(JSON.stringify(message, (_, value: unknown) => (value instanceof Map ? encoded(value) : value)) + '\n');
});

function write(line: string): void {
  let rest = Buffer.from(line);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(STANDARD_OUTPUT, rest));
    } catch (error) {
      // Loadstone is gone: the end of the input ends the program.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return;
      Atomics.wait(pause, 0, 0, FULL_PAUSE_MS);
    }
  }
}
