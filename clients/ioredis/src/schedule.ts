/** When operations are intended: by users who wait and think, or by arrivals at a rate. Nanoseconds since the start. */

import type { Closed, Open, Phases } from './plan.js';
import type { Xoshiro } from './random64.js';

export const S = 1e9;
export const PHASES = ['ramp_up', 'warm_up', 'measure', 'drain'] as const;
export type Phase = (typeof PHASES)[number];

export function ns(seconds: number): number {
  return Math.round(seconds * S);
}

/** When each phase begins. The end of the measure phase may move closer. */
export class Timeline {
  private starts: [number, number, number, number];
  private readonly shortestNs: number;

  constructor({ ramp_up_s, warm_up_s, measure_s, measure_max_s }: Phases) {
    const warmUp = ns(ramp_up_s);
    const measure = warmUp + ns(warm_up_s);
    this.starts = [0, warmUp, measure, measure + ns(Math.max(measure_max_s ?? 0, measure_s))];
    this.shortestNs = measure + ns(measure_s);
  }

  get drainNs(): number {
    return this.starts[3];
  }

  /** The phase that a time lies in. Without branches: V8 drops optimised code where it comes into one for the first time,
   * and all operations did that at the beginning of the measure phase. */
  phaseOf(timeNs: number): Phase {
    const [, warmUp, measure, drain] = this.starts;
    return PHASES[Number(timeNs >= warmUp) + Number(timeNs >= measure) + Number(timeNs >= drain)]!;
  }

  startOf(phase: Phase): number {
    return this.starts[PHASES.indexOf(phase)]!;
  }

  /** When a phase ends; that of the drain is not known before. */
  endOf(phase: Phase): number {
    return this.starts[PHASES.indexOf(phase) + 1] ?? Infinity;
  }

  /** As many operations were measured as required: the measure phase ends, but not before its shortest length. */
  enoughMeasured(nowNs: number): void {
    this.endMeasure(Math.max(nowNs, this.shortestNs));
  }

  /** The measure phase ends then at the latest; phases that would begin later have no length. */
  endMeasure(endNs: number): void {
    this.starts = this.starts.map((start) => Math.min(start, endNs)) as typeof this.starts;
  }
}

/** When a user begins: in steps, or spread evenly over the ramp-up. */
export function userStartNs({ users, ramp_up }: Closed, phases: Phases, user: number): number {
  if (ramp_up === null) return ns((phases.ramp_up_s * user) / users);
  const later = Math.max(0, user + 1 - ramp_up.initial_users);
  return ns(Math.ceil(later / ramp_up.step_users) * ramp_up.step_every_s);
}

/** How long a user thinks now. */
export function thinkNs({ think_time_ms, think_time }: Closed, random: Xoshiro): number {
  if (think_time_ms === 0) return 0;
  return Math.round(think_time_ms * 1e6 * (think_time === 'exponential' ? random.exponential() : 1));
}

/** A stretch of time in which the rate changes linearly. */
interface Stretch {
  rate: number;
  endRate: number;
  lengthS: number;
}

/** When each operation is intended, one after the other, without end. */
export function* arrivals(open: Open, phases: Phases, random: Xoshiro): Generator<number> {
  const gap = open.arrivals === 'constant' ? () => 1 : () => random.exponential();
  const stretches = stretchesOf(open, phases)[Symbol.iterator]();
  let { rate, endRate, lengthS } = stretches.next().value!;
  let [startS, startWork] = [0, 0];
  let work = open.arrivals === 'constant' ? 0 : gap();
  for (;;) {
    for (;;) {
      const area = (lengthS * (rate + endRate)) / 2;
      if (work - startWork < area) break;
      startS += lengthS;
      startWork += area;
      ({ rate, endRate, lengthS } = stretches.next().value!);
    }
    const slope = lengthS === Infinity ? 0 : (endRate - rate) / lengthS;
    const rest = work - startWork;
    // rate * t + slope * t^2 / 2 = rest
    yield ns(startS + (rest > 0 ? (2 * rest) / (rate + Math.sqrt(rate * rate + 2 * slope * rest)) : 0));
    work += gap();
  }
}

function stretchesOf({ rate_per_s: rate, schedule }: Open, { ramp_up_s, warm_up_s }: Phases): Stretch[] {
  const stretches: Stretch[] = [];
  if (ramp_up_s > 0) stretches.push({ rate: 0, endRate: rate, lengthS: ramp_up_s });
  if (schedule.length === 0) return [...stretches, { rate, endRate: rate, lengthS: Infinity }];
  if (warm_up_s > 0) stretches.push({ rate, endRate: rate, lengthS: warm_up_s });
  for (const [at, step] of schedule.entries()) {
    const lengthS = at + 1 === schedule.length ? Infinity : step.duration_s;
    stretches.push({ rate: step.rate_per_s, endRate: step.rate_per_s, lengthS });
  }
  return stretches;
}
