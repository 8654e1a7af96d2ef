/** The clock of a load, and a timer that keeps to it: those of Node are late by up to a millisecond. */

import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';

/** Nanoseconds since the load began. */
export class Clock {
  private originMs = 0;
  startedUnixNs = 0;

  /** The load begins now. */
  begin(): void {
    this.originMs = performance.now();
    this.startedUnixNs = Math.round((performance.timeOrigin + this.originMs) * 1000) * 1000;
  }

  now(): number {
    return Math.round((performance.now() - this.originMs) * 1e6);
  }
}

/** The smallest step between two different readings of the clock. */
export function clockQuantumNs(): number {
  const readings = Array.from({ length: 2000 }, () => process.hrtime.bigint());
  const steps = readings.slice(1).map((reading, at) => Number(reading - readings[at]!));
  return Math.min(...steps.filter((step) => step > 0));
}

interface Due {
  timeNs: number;
  wake: () => void;
}

/** Wakes what waits, in time: a thread sleeps for it, and rings. */
export class Alarm {
  private readonly due = new Heap();
  private readonly memory = new SharedArrayBuffer(16);
  /** When to ring by the clock of the machine; 0 for never. */
  private readonly ringAt = new BigInt64Array(this.memory, 0, 1);
  private readonly changes = new Int32Array(this.memory, 8, 1);
  private armedNs = Infinity;

  constructor(private readonly clock: Clock) {
    const worker = new Worker(fileURLToPath(new URL('alarm-worker.js', import.meta.url)), { workerData: this.memory });
    worker.on('message', () => {
      this.armedNs = Infinity;
      this.ring();
    });
    worker.unref();
  }

  /** Calls `wake` then; at once if it has passed. */
  at(timeNs: number, wake: () => void): void {
    if (timeNs <= this.clock.now()) {
      wake();
      return;
    }
    this.due.push({ timeNs, wake });
    this.arm();
  }

  /** Returns then. */
  async until(timeNs: number): Promise<void> {
    if (timeNs > this.clock.now()) await new Promise<void>((resolve) => this.at(timeNs, resolve));
  }

  private ring(): void {
    for (let first = this.due.first; first !== undefined && first.timeNs <= this.clock.now(); first = this.due.first) {
      this.due.pop();
      first.wake();
    }
    this.arm();
  }

  private arm(): void {
    const timeNs = this.due.first?.timeNs ?? Infinity;
    if (timeNs >= this.armedNs) return;
    this.armedNs = timeNs;
    const left = BigInt(Math.max(0, timeNs - this.clock.now()));
    Atomics.store(this.ringAt, 0, process.hrtime.bigint() + left);
    Atomics.add(this.changes, 0, 1);
    Atomics.notify(this.changes, 0);
  }
}

/** The earliest first. */
class Heap {
  private readonly items: Due[] = [];

  get first(): Due | undefined {
    return this.items[0];
  }

  push(item: Due): void {
    const { items } = this;
    let at = items.push(item) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (items[parent]!.timeNs <= item.timeNs) break;
      items[at] = items[parent]!;
      at = parent;
    }
    items[at] = item;
  }

  pop(): void {
    const { items } = this;
    const last = items.pop();
    if (last === undefined || items.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && items[child + 1]!.timeNs < items[child]!.timeNs) child += 1;
      if (items[child]!.timeNs >= last.timeNs) break;
      items[at] = items[child]!;
      at = child;
    }
    items[at] = last;
  }
}
