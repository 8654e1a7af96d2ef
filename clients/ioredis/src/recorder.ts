/** What was observed: counts and latencies, of the current interval and of the measure phase. */

import { Histogram } from './histogram.js';
import type { Plan } from './plan.js';
import { PHASES, type Phase, type Timeline, ns } from './schedule.js';

/** How an operation ended: correct (no error), with an error of some kind, or without a reply in time. */
export interface Outcome {
  error: string | undefined;
  replied: boolean;
}

export const CORRECT: Outcome = { error: undefined, replied: true };
export const TIMED_OUT: Outcome = { error: 'timeout', replied: false };

/** Events of one operation. */
export class Tally {
  offered = 0;
  sent = 0;
  ok = 0;
  dropped = 0;
  timeouts = 0;
  readonly errors: Record<string, number> = {};

  end({ error }: Outcome): void {
    if (error === undefined) this.ok += 1;
    else if (error === TIMED_OUT.error) this.timeouts += 1;
    else this.errors[error] = (this.errors[error] ?? 0) + 1;
  }

  get inFlight(): number {
    const errors = Object.values(this.errors).reduce((sum, count) => sum + count, 0);
    return this.sent - this.ok - this.timeouts - errors;
  }

  /** For a connection. */
  get waiting(): number {
    return this.offered - this.sent - this.dropped;
  }

  counts(): Record<string, unknown> {
    const { offered, sent, ok, errors, timeouts, dropped, inFlight, waiting } = this;
    return { offered, sent, ok, errors: { ...errors }, timeouts, dropped, in_flight: inFlight, unsent: waiting };
  }
}

/** Of correct replies. */
export class Latencies {
  readonly response = new Histogram();
  readonly service = new Histogram();

  merge(other: Latencies): void {
    this.response.merge(other.response);
    this.service.merge(other.service);
  }
}

/** What happened to an operation between two borders. */
export class IntervalOperation {
  readonly tally = new Tally();
  readonly latencies = new Latencies();
}

/** What happened between two borders. */
export interface Interval {
  phase: Phase;
  startNs: number;
  endNs: number;
  operations: Map<string, IntervalOperation>;
  gauges: { connections: number; users: number; backlog: number; in_flight: number };
}

/** One operation's members of the measure phase, followed to their end; and what ended within that phase. */
export class Measured {
  readonly tally = new Tally();
  readonly latencies = new Latencies();
  windowCompleted = 0;
  windowOk = 0;
  responseSumNs = 0;
  earlierNs = 0;
}

/** The members of one phase, or of several. */
class Members {
  readonly measured: Map<string, Measured>;
  readonly poolWait = new Histogram();
  readonly scheduleLag = new Histogram();

  constructor(plan: Plan) {
    this.measured = new Map(plan.operations.map(({ name }) => [name, new Measured()]));
  }
}

/** Of one operation that ended, since the load began. */
export interface Times {
  intendedNs: number;
  sentNs: number;
  completedNs: number;
}

/** Counts each event in the interval in which it happened, and operations by the phase that they were intended in. */
export class Recorder {
  readonly total = new Tally();
  readonly commands = new Map<string, { sent: number; replied: number }>();
  overflowed = 0;
  users = 0;
  openConnections: () => number = () => 0;
  private readonly counted: Members;
  /** By phase. Members of others than the measure phase are recorded in the same way and never reported, so that V8 has
   * run all of that code before. */
  private readonly members: readonly Members[];
  private measuredEnded = 0;
  private readonly intervalNs: number;
  private readonly required: number;
  private current: Interval;
  private borderNs: number;
  private isClosed = false;

  /** `deliver` gets each interval that ends, in their order. */
  constructor(
    plan: Plan,
    private readonly timeline: Timeline,
    private readonly deliver: (interval: Interval) => void,
  ) {
    this.counted = new Members(plan);
    const others = new Members(plan);
    this.members = PHASES.map((phase) => (phase === 'measure' ? this.counted : others));
    plan.operations.forEach(({ commands }) => commands.forEach(({ args }) => this.command(args[0]!.toUpperCase())));
    this.intervalNs = Math.max(1, ns(plan.interval_s));
    this.required = plan.phases.measure_operations ?? Infinity;
    this.current = this.interval('ramp_up', 0);
    this.borderNs = this.border();
  }

  /** Of the measure phase, by operation. */
  get measured(): Map<string, Measured> {
    return this.counted.measured;
  }

  get poolWait(): Histogram {
    return this.counted.poolWait;
  }

  get scheduleLag(): Histogram {
    return this.counted.scheduleLag;
  }

  /** An operation was picked up, so long after it was intended. */
  offered(name: string, member: Phase, lagNs: number, nowNs: number): void {
    for (const tally of this.tallies(name, member, nowNs)) tally.offered += 1;
    if (!this.of(member).scheduleLag.record(lagNs)) this.overflowed += 1;
  }

  /** Too many others wait for a connection. */
  dropped(name: string, member: Phase, nowNs: number): void {
    for (const tally of this.tallies(name, member, nowNs)) tally.dropped += 1;
  }

  /** An operation got its connection, after this wait. False if the load is over: it is not to be sent. */
  sent(name: string, member: Phase, waitNs: number, nowNs: number): boolean {
    for (const tally of this.tallies(name, member, nowNs)) tally.sent += 1;
    if (!this.isClosed && !this.of(member).poolWait.record(waitNs)) this.overflowed += 1;
    return !this.isClosed;
  }

  commandSent(name: string): void {
    this.command(name).sent += 1;
  }

  commandReplied(name: string): void {
    this.command(name).replied += 1;
  }

  /** An operation has its last reply, or was given up. */
  ended(name: string, member: Phase, outcome: Outcome, times: Times): void {
    if (this.isClosed) return;
    const { intendedNs, sentNs, completedNs } = times;
    for (const tally of this.tallies(name, member, completedNs)) tally.end(outcome);
    const ofWindow = this.of(this.timeline.phaseOf(completedNs)).measured.get(name)!;
    ofWindow.windowCompleted += Number(outcome.replied);
    ofWindow.windowOk += Number(outcome.error === undefined);
    this.of(member).measured.get(name)!.responseSumNs += completedNs - intendedNs;
    this.measuredEnded += Number(member === 'measure');
    if (this.measuredEnded >= this.required) this.endWhenEnough(completedNs);
    this.wentOn(name, intendedNs, completedNs);
    const { phase } = this.current;
    const isOfPhase = Number(member === phase) + Number(phase === 'drain') * Number(member === 'measure') > 0;
    if (outcome.error !== undefined || !isOfPhase) return;
    const { latencies } = this.operation(name);
    const fits = latencies.response.record(completedNs - intendedNs);
    if (!latencies.service.record(completedNs - sentNs) || !fits) this.overflowed += 1;
  }

  /** Counts the part of the measure phase that an operation took which had begun before it. */
  wentOn(name: string, intendedNs: number, endNs: number): void {
    const beginNs = this.timeline.startOf('measure');
    if (intendedNs < beginNs) {
      this.measured.get(name)!.earlierNs += Math.max(0, Math.min(endNs, this.timeline.drainNs) - beginNs);
    }
  }

  /** All the work there was is done, or the load is stopped: the measure phase ends. */
  endMeasure(nowNs: number): void {
    this.timeline.endMeasure(nowNs);
    this.borderNs = this.border();
    this.tick(nowNs);
  }

  /** Goes past the borders up to now. */
  tick(nowNs: number): void {
    while (nowNs >= this.borderNs && !this.isClosed) {
      const endNs = Math.max(this.borderNs, this.current.startNs);
      const { phase } = this.current;
      const next = endNs >= this.timeline.endOf(phase) ? PHASES[PHASES.indexOf(phase) + 1]! : phase;
      this.endInterval(endNs);
      this.current = this.interval(next, endNs);
      this.borderNs = this.border();
    }
  }

  /** The load is over: what is still on its way stays so. Delivers the last interval. */
  finish(nowNs: number): void {
    this.tick(nowNs);
    this.endInterval(Math.max(nowNs, this.current.startNs));
    this.isClosed = true;
  }

  /** Those that an event counts in. */
  private tallies(name: string, member: Phase, nowNs: number): Tally[] {
    if (this.isClosed) return [];
    if (nowNs >= this.borderNs) this.tick(nowNs);
    return [this.total, this.operation(name).tally, this.of(member).measured.get(name)!.tally];
  }

  private of(phase: Phase): Members {
    return this.members[PHASES.indexOf(phase)]!;
  }

  private operation(name: string): IntervalOperation {
    let operation = this.current.operations.get(name);
    if (operation === undefined) this.current.operations.set(name, (operation = new IntervalOperation()));
    return operation;
  }

  private command(name: string): { sent: number; replied: number } {
    let command = this.commands.get(name);
    if (command === undefined) this.commands.set(name, (command = { sent: 0, replied: 0 }));
    return command;
  }

  private endWhenEnough(completedNs: number): void {
    this.timeline.enoughMeasured(completedNs);
    this.borderNs = this.border();
  }

  private interval(phase: Phase, startNs: number): Interval {
    const gauges = { connections: 0, users: 0, backlog: 0, in_flight: 0 };
    return { phase, startNs, endNs: startNs, operations: new Map(), gauges };
  }

  /** When the current interval ends. */
  private border(): number {
    return Math.min(this.current.startNs + this.intervalNs, this.timeline.endOf(this.current.phase));
  }

  private endInterval(endNs: number): void {
    const interval = this.current;
    const { users, total } = this;
    interval.endNs = endNs;
    interval.gauges = {
      connections: this.openConnections(),
      users,
      backlog: total.waiting,
      in_flight: total.inFlight,
    };
    if (interval.phase === 'measure' || interval.phase === 'drain') {
      for (const [name, { latencies }] of interval.operations) this.measured.get(name)!.latencies.merge(latencies);
    }
    if (endNs > interval.startNs || interval.operations.size > 0) this.deliver(interval);
  }
}
