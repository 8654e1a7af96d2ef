/** The load of one plan: users who wait and think, or arrivals, and what becomes of their operations. */

import { Alarm, Clock } from './clock.js';
import { ConnectionFailed, outcomeOf, reason } from './failures.js';
import { type Closed, type Open, type PlanMessage, endpointOf, label } from './plan.js';
import type { Connection, Pool } from './pool.js';
import { Word, Xoshiro } from './random64.js';
import { CORRECT, type Interval, type Outcome, Recorder, TIMED_OUT } from './recorder.js';
import { type Phase, S, Timeline, arrivals, ns, thinkNs, userStartNs } from './schedule.js';
import { type Request, STREAM, Workload } from './workload.js';

/** So long a user waits whose connection failed: a server that is gone would else be dialled without pause. */
const AFTER_FAILURE_NS = 10_000_000;
const READ_BACK_NS = 300_000_000;
const TICK_MS = 10;

/** One operation on its way. */
interface Task {
  request: Request;
  member: Phase;
  intendedNs: number;
  sentNs: number;
  completedNs: number;
}

export class Load {
  readonly clock = new Clock();
  readonly timeline: Timeline;
  readonly workload: Workload;
  readonly recorder: Recorder;
  stopped: string | undefined;
  /** When the load was over, and what had become of the connections by then. */
  endNs = 0;
  connections: Record<string, number> = {};
  private readonly alarm = new Alarm(this.clock);
  private readonly plan: PlanMessage['plan'];
  private readonly drainNs: number;
  private readonly underWay = new Set<Task>();
  private isExhausted = false;
  private failingSinceNs: number | undefined;

  constructor(
    message: PlanMessage,
    private readonly pool: Pool,
    deliver: (interval: Interval) => void,
  ) {
    this.plan = message.plan;
    this.timeline = new Timeline(this.plan.phases);
    this.workload = new Workload(this.plan);
    this.recorder = new Recorder(this.plan, this.timeline, deliver);
    this.recorder.openConnections = () => pool.openCount;
    this.drainNs = ns(this.plan.phases.drain_s);
  }

  /** The load ends now; the first reason stands. */
  stop(why: string): void {
    this.stopped ??= why;
  }

  /** Returns when the load is over: nothing is on its way any more, there is no more time, or it was stopped. */
  async run(): Promise<void> {
    this.clock.begin();
    const { model } = this.plan;
    const jobs = model.kind === 'closed' ? this.users(model) : this.arrivals(model);
    await Promise.race([jobs, this.timeIsUp()]);
    this.endNs = this.clock.now();
    this.connections = { ...this.pool.counts, open_at_end: this.pool.openCount };
    this.recorder.endMeasure(this.endNs);
    for (const { request, intendedNs } of this.underWay) {
      this.recorder.wentOn(request.operation.name, intendedNs, this.endNs);
    }
    this.recorder.finish(this.endNs);
  }

  /** Reads keys back that were written last, one after the other. */
  async readBack(): Promise<void> {
    if (this.recorder.total.inFlight > 0 || this.stopped !== undefined) return;
    const untilNs = this.clock.now() + READ_BACK_NS;
    for (const request of this.workload.readBacks()) {
      const connection = await this.connectionFor([]);
      if (connection === undefined || this.clock.now() > untilNs || this.stopped !== undefined) return;
      await this.readBackOne(connection, request);
      this.pool.release(connection);
    }
  }

  private async readBackOne({ redis }: Connection, request: Request): Promise<void> {
    const { name } = request.template;
    this.recorder.commandSent(name);
    const { readBack } = this.workload;
    try {
      const reply = await redis.call(name, ...request.template.fill(request.filling));
      readBack.wrong += Number(this.workload.judge(request, reply) !== undefined);
    } catch (error) {
      if (!outcomeOf(error as Error).replied) return;
      readBack.wrong += 1;
    }
    this.recorder.commandReplied(name);
    readBack.checked += 1;
  }

  /** Returns when the drain is over, or the load is stopped. Keeps the intervals going. */
  private timeIsUp(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setInterval(() => {
        const now = this.clock.now();
        this.recorder.tick(now);
        const { inFlight, waiting } = this.recorder.total;
        const hasDrained = inFlight + waiting === 0 || now >= this.timeline.drainNs + this.drainNs;
        if (this.stopped !== undefined || (now >= this.timeline.drainNs && hasDrained)) {
          clearInterval(timer);
          resolve();
        }
      }, TICK_MS);
      timer.unref();
    });
  }

  private async users(model: Closed): Promise<void> {
    await Promise.all(Array.from({ length: model.users }, (_, number) => this.user(model, number)));
  }

  private async user(model: Closed, number: number): Promise<void> {
    const random = new Xoshiro(Word.of(this.plan.seed), Word.of(STREAM.users + number));
    let nextNs = userStartNs(model, this.plan.phases, number);
    let left = model.operations_per_user ?? Infinity;
    await this.alarm.until(nextNs);
    this.recorder.users += 1;
    for (;;) {
      const tasks = this.beginBatch(nextNs, Math.min(this.plan.pipeline_depth, left));
      if (tasks.length === 0) break;
      left -= tasks.length;
      const failed = tasks.length === 1 ? await this.operate(tasks[0]!) : await this.pipeline(tasks);
      const pauseNs = Math.max(thinkNs(model, random), failed ? AFTER_FAILURE_NS : 0);
      nextNs = tasks.at(-1)!.completedNs + pauseNs;
      await this.alarm.until(nextNs);
    }
    this.recorder.users -= 1;
  }

  private beginBatch(intendedNs: number, most: number): Task[] {
    const tasks: Task[] = [];
    while (tasks.length < most) {
      const task = this.begin(intendedNs);
      if (task === undefined) break;
      tasks.push(task);
    }
    return tasks;
  }

  private async arrivals(model: Open): Promise<void> {
    const random = new Xoshiro(Word.of(this.plan.seed), Word.of(STREAM.arrivals));
    const onTheirWay = new Set<Promise<boolean>>();
    for (const intendedNs of arrivals(model, this.plan.phases, random)) {
      if (this.isExhausted || this.timeline.phaseOf(intendedNs) === 'drain') break;
      await this.alarm.until(intendedNs);
      const task = this.arrived(intendedNs, model.backlog_max);
      if (task === undefined) continue;
      const ended = this.operate(task);
      onTheirWay.add(ended);
      void ended.finally(() => onTheirWay.delete(ended));
    }
    await Promise.all(onTheirWay);
  }

  private arrived(intendedNs: number, backlogMax: number): Task | undefined {
    const isFull = this.recorder.total.waiting >= backlogMax;
    const task = this.begin(intendedNs);
    if (task === undefined || !isFull) return task;
    this.recorder.dropped(task.request.operation.name, task.member, this.clock.now());
    this.workload.abandon(task.request);
    this.underWay.delete(task);
    return undefined;
  }

  /** The next operation, which was intended then; undefined if there is none. */
  private begin(intendedNs: number): Task | undefined {
    const member = this.timeline.phaseOf(intendedNs);
    if (member === 'drain' || this.isExhausted || this.stopped !== undefined || this.endNs > 0) return undefined;
    const request = this.workload.begin();
    if (request === undefined) {
      this.isExhausted = true;
      return undefined;
    }
    const now = this.clock.now();
    this.recorder.offered(request.operation.name, member, now - intendedNs, now);
    const task = { request, member, intendedNs, sentNs: 0, completedNs: now };
    this.underWay.add(task);
    return task;
  }

  /** Carries an operation out. Whether its connection failed. */
  private async operate(task: Task): Promise<boolean> {
    const connection = await this.connectionFor([task]);
    if (connection === undefined) return true;
    try {
      return this.sent(task) ? await this.exchange(task, connection) : false;
    } finally {
      this.pool.release(connection);
    }
  }

  private async exchange(task: Task, connection: Connection): Promise<boolean> {
    const { request } = task;
    for (;;) {
      const { name } = request.template;
      this.recorder.commandSent(name);
      let reply: unknown;
      try {
        reply = await connection.redis.call(name, ...request.template.fill(request.filling));
      } catch (error) {
        return this.failed(task, connection, error as Error);
      }
      task.completedNs = this.clock.now();
      if (!this.isCorrect(task, reply)) return false;
      if (!this.workload.goOn(request, reply)) {
        this.ended(task, CORRECT);
        return false;
      }
    }
  }

  /** Sends the commands of several operations at once. Whether their connection failed. */
  private async pipeline(tasks: Task[]): Promise<boolean> {
    const connection = await this.connectionFor(tasks);
    if (connection === undefined) return true;
    const pipeline = connection.redis.pipeline();
    for (const task of tasks) {
      if (!this.sent(task)) continue;
      const { template, filling } = task.request;
      this.recorder.commandSent(template.name);
      pipeline.call(template.name, ...template.fill(filling));
    }
    const results = (await pipeline.exec()) ?? [];
    this.pool.release(connection);
    const completedNs = this.clock.now();
    let isLost = false;
    for (const [at, [error, reply]] of results.entries()) {
      const task = tasks[at]!;
      if (error !== null) isLost = this.failed(task, connection, error) || isLost;
      task.completedNs = completedNs;
      if (error === null && this.isCorrect(task, reply)) this.ended(task, CORRECT);
    }
    return isLost;
  }

  /** A connection; undefined if there is none, which is the end of the operations. */
  private async connectionFor(tasks: Task[]): Promise<Connection | undefined> {
    try {
      const got = this.pool.acquire();
      return got instanceof Promise ? await got : got;
    } catch (error) {
      for (const task of tasks) {
        this.sent(task);
        task.completedNs = task.sentNs;
        this.workload.abandon(task.request);
        this.ended(task, outcomeOf(error as Error), error);
      }
      return undefined;
    }
  }

  /** An operation got its connection. False if the load is over. */
  private sent(task: Task): boolean {
    task.sentNs = this.clock.now();
    return this.recorder.sent(task.request.operation.name, task.member, task.sentNs - task.intendedNs, task.sentNs);
  }

  /** A reply came. To compare it takes no part of the operation's time. */
  private isCorrect(task: Task, reply: unknown): boolean {
    this.recorder.commandReplied(task.request.template.name);
    const error = this.workload.judge(task.request, reply);
    if (error !== undefined) this.ended(task, { error, replied: true });
    return error === undefined;
  }

  /** An error came in place of a reply. Whether the connection failed. */
  private failed(task: Task, connection: Connection, error: Error): boolean {
    task.completedNs = this.clock.now();
    let outcome = outcomeOf(error);
    const isLost = !outcome.replied && outcome !== TIMED_OUT;
    const cause = isLost ? new ConnectionFailed('lost', { cause: connection.failure ?? error }) : error;
    if (isLost) outcome = outcomeOf(cause);
    if (outcome.replied) this.recorder.commandReplied(task.request.template.name);
    this.ended(task, outcome, cause);
    return isLost;
  }

  private ended(task: Task, outcome: Outcome, error?: unknown): void {
    const { request, member, intendedNs, sentNs, completedNs } = task;
    this.underWay.delete(task);
    if (outcome.replied) this.workload.answered(request, outcome.error === undefined);
    if (outcome.replied || outcome === TIMED_OUT) this.failingSinceNs = undefined;
    else this.unreachable(completedNs, error);
    this.recorder.ended(request.operation.name, member, outcome, { intendedNs, sentNs, completedNs });
  }

  /** A connection failed. With nothing else for long enough, the server is gone. */
  private unreachable(nowNs: number, error: unknown): void {
    this.failingSinceNs ??= nowNs;
    const { gone_s } = this.plan.timeouts;
    if (nowNs - this.failingSinceNs > gone_s * S) {
      const why = `${label(endpointOf(this.plan))}: ${reason(error)}`;
      this.stop(`server gone: no connection for ${gone_s.toFixed(1)} s, last: ${why}`);
    }
  }
}
