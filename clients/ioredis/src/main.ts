/** Carries out the plan that stands on standard input, with ioredis. */

import { createRequire } from 'node:module';
import { ConnectionFailed, reason } from './failures.js';
import { Load } from './load.js';
import { Input, Output, intervalMessage, recordMessage } from './messages.js';
import { PlanError, endpointOf, label, readPlan } from './plan.js';
import { Pool } from './pool.js';

const { version } = createRequire(import.meta.url)('ioredis/package.json') as { version: string };

/** The load, from the plan to the record. */
async function drive(line: string, input: Input, output: Output): Promise<void> {
  const message = readPlan(line);
  const pool = new Pool(message);
  const load = new Load(message, pool, (interval) => {
    output.write('interval', intervalMessage(interval, load.clock.startedUnixNs));
  });
  void input.next().then(() => load.stop('stopped on request'));
  try {
    await pool.openFirst();
  } catch (error) {
    throw new ConnectionFailed(`${label(endpointOf(message.plan))}: ${reason(error)}`);
  }
  output.write('ready', { library: 'ioredis', version, runtime: `Node ${process.version}` });
  await load.run();
  await load.readBack();
  // Of operations that share a connection nothing tells when it is theirs.
  output.write('record', recordMessage(load, message.options.pool === 'exclusive'));
}

function failure(error: unknown): { kind: string; message: string } {
  if (error instanceof PlanError) return { kind: 'plan', message: error.message };
  if (error instanceof ConnectionFailed) return { kind: 'connect', message: error.message };
  return { kind: 'internal', message: String(error).replace(/\s+/g, ' ').slice(0, 1000) };
}

const input = new Input();
const output = new Output();
let status = 1;
const line = await input.next();
if (line !== undefined) {
  try {
    await drive(line, input, output);
    status = 0;
  } catch (error) {
    output.write('failed', failure(error));
  }
}
await output.close();
process.exit(status);
