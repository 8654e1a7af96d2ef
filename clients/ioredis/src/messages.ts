/** Lines of JSON: what loadstone sends on standard input, and what goes to the thread that writes them. */

import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { clockQuantumNs } from './clock.js';
import type { Histogram, ValueCounts } from './histogram.js';
import type { Load } from './load.js';
import type { Interval, Latencies } from './recorder.js';
import { PHASES, S } from './schedule.js';

/** Standard input: the plan, and then what ends the load. */
export class Input {
  private readonly lines: string[] = [];
  private rest = '';
  private isOver = false;
  private take: () => void = () => undefined;

  constructor() {
    process.stdin.setEncoding('utf8');
    process.stdin.on('data', (text: string) => {
      const lines = (this.rest + text).split('\n');
      this.rest = lines.pop()!;
      this.lines.push(...lines);
      this.take();
    });
    process.stdin.on('end', () => {
      this.isOver = true;
      this.take();
    });
  }

  /** The next line; undefined at the end of the input. */
  next(): Promise<string | undefined> {
    return new Promise((resolve) => {
      this.take = () => {
        const line = this.lines.shift();
        if (line !== undefined || this.isOver) {
          this.take = () => undefined;
          resolve(line);
        }
      };
      this.take();
    });
  }
}

/** A message with value counts where it is to have histograms: they are encoded where they are written. */
export type Message = Record<string, unknown>;

/** Writes messages in a thread of its own: to encode histograms would keep the load waiting. */
export class Output {
  private readonly worker = new Worker(fileURLToPath(new URL('writer-worker.js', import.meta.url)));

  write(type: string, content: Message): void {
    this.worker.postMessage({ type, ...content });
  }

  /** Returns when all is written. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.worker.once('exit', resolve));
    this.worker.postMessage(null);
    await closed;
  }
}

function histograms({ response, service }: Latencies): Record<string, ValueCounts> {
  return { response_histogram: response.counts, service_histogram: service.counts };
}

export function intervalMessage(interval: Interval, startedUnixNs: number): Message {
  const { phase, startNs, endNs, gauges } = interval;
  const operations: Message = {};
  for (const [name, { tally, latencies }] of interval.operations) {
    const { offered, sent, ok, errors, timeouts, dropped } = tally;
    operations[name] = { offered, sent, ok, errors, timeouts, dropped, ...histograms(latencies) };
  }
  const times = { start_s: startNs / S, duration_s: (endNs - startNs) / S, start_unix_ns: startedUnixNs + startNs };
  return { phase, ...times, operations, ...gauges };
}

/** What a load came to, once it is over. `tellsWaits`: it is known when each operation got its connection. */
export function recordMessage(load: Load, tellsWaits: boolean): Message {
  const { recorder, timeline, endNs, workload } = load;
  const phases: Message = {};
  for (const phase of PHASES) {
    const [startNs, untilNs] = [timeline.startOf(phase), timeline.endOf(phase)];
    phases[phase] = { start_s: Math.min(startNs, endNs) / S, end_s: Math.min(untilNs, endNs) / S };
  }
  const operations: Message = {};
  for (const [name, measured] of recorder.measured) {
    operations[name] = {
      counts: measured.tally.counts(),
      window_completed: measured.windowCompleted,
      window_ok: measured.windowOk,
      response_sum_ns: measured.responseSumNs,
      earlier_ns: measured.earlierNs,
      ...histograms(measured.latencies),
    };
  }
  const wait: Histogram | undefined = tellsWaits ? recorder.poolWait : undefined;
  return {
    started_unix_ns: load.clock.startedUnixNs,
    phases,
    operations,
    total: recorder.total.counts(),
    commands: Object.fromEntries(recorder.commands),
    connections: load.connections,
    pool_wait_histogram: wait?.counts ?? null,
    schedule_lag_histogram: recorder.scheduleLag.counts,
    read_back: workload.readBack,
    overflowed: recorder.overflowed,
    clock_quantum_ns: clockQuantumNs(),
    stopped: load.stopped ?? null,
  };
}
