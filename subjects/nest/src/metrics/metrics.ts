import { constants, monitorEventLoopDelay, performance, PerformanceObserver } from 'node:perf_hooks';
import type { PerformanceEntry } from 'node:perf_hooks';

import { Injectable } from '@nestjs/common';
import type { OnApplicationShutdown } from '@nestjs/common';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

const RESOLUTION_MS = 10;
const GC_KINDS: Record<number, string> = {
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'minor',
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'major',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'incremental',
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: 'weakcb',
};

type Collection = PerformanceEntry & { detail: { kind: number } };

/** What this process exposes to Prometheus. Where prom-client's default metrics have a name for it, that is taken. */
@Injectable()
export class Metrics implements OnApplicationShutdown {
  readonly registry = new Registry();

  readonly requests = new Counter({
    name: 'http_requests_total',
    help: 'Requests that were answered',
    labelNames: ['method', 'route', 'status'],
    registers: [this.registry],
  });

  readonly cacheGets = new Counter({
    name: 'cache_gets_total',
    help: 'Looks into the cache, by what was found',
    labelNames: ['result'],
    registers: [this.registry],
  });

  private readonly delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });

  private readonly collections: PerformanceObserver;

  constructor() {
    this.delay.enable();
    this.collections = this.observeCollections();
    this.cacheGets.inc({ result: 'hit' }, 0);
    this.cacheGets.inc({ result: 'miss' }, 0);
    this.exposeEventLoop();
    this.exposeProcess();
  }

  onApplicationShutdown(): void {
    this.delay.disable();
    this.collections.disconnect();
  }

  private observeCollections(): PerformanceObserver {
    const durations = new Histogram({
      name: 'nodejs_gc_duration_seconds',
      help: 'Collections of garbage, by kind',
      labelNames: ['kind'],
      buckets: [0.001, 0.01, 0.1, 1, 2, 5],
      registers: [this.registry],
    });
    const observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        const { kind } = (entry as Collection).detail;
        durations.observe({ kind: GC_KINDS[kind] ?? 'other' }, entry.duration / 1e3);
      }
    });
    observer.observe({ entryTypes: ['gc'] });
    return observer;
  }

  /** Of the time since the page was requested last. */
  private exposeEventLoop(): void {
    const { delay, registry } = this;
    const late: Gauge[] = [];
    let before = performance.eventLoopUtilization();
    // The page is made in the order of registration: this one reads for those that follow.
    new Gauge({
      name: 'nodejs_eventloop_utilization',
      help: 'Share of the time in which the event loop was busy',
      registers: [registry],
      collect() {
        const found = [delay.mean, delay.percentile(99), delay.max];
        // The histogram holds the whole time between two ticks of its timer, which are RESOLUTION_MS apart by design.
        late.forEach((gauge, at) =>
          gauge.set(delay.count ? Math.max(0, (found[at] ?? 0) / 1e9 - RESOLUTION_MS / 1e3) : 0),
        );
        delay.reset();
        const now = performance.eventLoopUtilization();
        this.set(performance.eventLoopUtilization(now, before).utilization);
        before = now;
      },
    });
    for (const figure of ['mean', 'p99', 'max']) {
      const name = `nodejs_eventloop_lag_${figure}_seconds`;
      late.push(new Gauge({ name, help: `How late timers fired: ${figure}`, registers: [registry] }));
    }
  }

  private exposeProcess(): void {
    const gauge = (name: string, help: string, read: () => number): void => {
      new Gauge({ name, help, registers: [this.registry], collect: set });
      function set(this: Gauge): void {
        this.set(read());
      }
    };
    gauge('nodejs_heap_size_used_bytes', 'Memory of objects', () => process.memoryUsage().heapUsed);
    gauge('nodejs_heap_size_total_bytes', 'Memory reserved for objects', () => process.memoryUsage().heapTotal);
    gauge('nodejs_external_memory_bytes', 'Memory of buffers', () => process.memoryUsage().external);
    gauge('process_resident_memory_bytes', 'Resident memory', () => process.memoryUsage.rss());
    gauge('process_start_time_seconds', 'When the process began', () => performance.timeOrigin / 1e3);
    new Counter({
      name: 'process_cpu_seconds_total',
      help: 'User and system time of all its threads',
      registers: [this.registry],
      collect() {
        const { user, system } = process.cpuUsage();
        this.reset();
        this.inc((user + system) / 1e6);
      },
    });
  }
}
