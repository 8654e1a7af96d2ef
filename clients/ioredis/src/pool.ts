/** N connections of ioredis: it has no pool of its own, and takes commands of several users on one connection. */

import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { type ConnectionOptions, checkServerIdentity } from 'node:tls';
import { Redis, type RedisOptions } from 'ioredis';
import { ConnectionFailed } from './failures.js';
import { type PlanMessage, endpointOf } from './plan.js';

/** One connection, with the operations that are on it. */
export interface Connection {
  redis: Redis;
  operations: number;
  /** What it was lost for. */
  failure: Error | undefined;
  isOpen: boolean;
}

/** Replies have the form that they always had, in the newer protocol, too. */
type Options = RedisOptions & { replyMapping: 'legacy' };
type Waiting = (connection: Connection | Promise<Connection>) => void;

export class Pool {
  readonly counts = { opened: 0, lost: 0, failed: 0, closed_idle: 0 };
  private readonly open: Connection[] = [];
  private readonly idle: Connection[] = [];
  private readonly waiting: Waiting[] = [];
  private readonly options: Options;
  private readonly isExclusive: boolean;
  private dialling = 0;
  private turn = 0;

  constructor(private readonly message: PlanMessage) {
    this.options = redisOptions(message);
    this.isExclusive = message.options.pool === 'exclusive';
  }

  get openCount(): number {
    return this.open.length;
  }

  /** Opens the connections that are there before the load begins: one at least, so that a missing server is found. */
  async openFirst(): Promise<void> {
    const { connections, min_idle } = this.message.plan.pool;
    const required = Math.min(Math.max(min_idle ?? connections, 1), connections);
    while (this.open.length < required) {
      const missing = Math.min(required - this.open.length, 64);
      const opened = await Promise.all(Array.from({ length: missing }, () => this.dial()));
      opened.forEach((connection) => this.release(connection));
    }
  }

  /** A connection for an operation. Rejects with ConnectionFailed where none could be opened. */
  acquire(): Connection | Promise<Connection> {
    const idle = this.message.plan.pool.order === 'lifo' ? this.idle.pop() : this.idle.shift();
    if (idle !== undefined) return this.taken(idle);
    const isFull = this.open.length + this.dialling >= this.message.plan.pool.connections;
    if (this.isExclusive) return isFull ? new Promise((resolve) => this.waiting.push(resolve)) : this.dial();
    if (this.open.length === 0) return isFull ? new Promise((resolve) => this.waiting.push(resolve)) : this.dial();
    if (!isFull) {
      // The operation need not wait for it.
      this.dial().then(
        (connection) => this.release(connection),
        () => undefined,
      );
    }
    this.turn = (this.turn + 1) % this.open.length;
    return this.taken(this.open[this.turn]!);
  }

  /** An operation ended. */
  release(connection: Connection): void {
    connection.operations -= 1;
    if (connection.operations > 0 || !connection.isOpen) return;
    const next = this.waiting.shift();
    if (next !== undefined) {
      next(this.taken(connection));
      return;
    }
    const { max_idle } = this.message.plan.pool;
    if (max_idle !== null && this.idle.length >= max_idle) {
      connection.isOpen = false;
      this.counts.closed_idle += 1;
      remove(this.open, connection);
      connection.redis.disconnect();
    } else {
      this.idle.push(connection);
    }
  }

  private taken(connection: Connection): Connection {
    connection.operations += 1;
    return connection;
  }

  /** Opens a connection, for one operation. */
  private async dial(): Promise<Connection> {
    this.dialling += 1;
    const redis = new Redis(this.options);
    const connection: Connection = { redis, operations: 1, failure: undefined, isOpen: false };
    redis.on('error', (error: Error) => (connection.failure ??= error));
    try {
      await this.connected(redis);
    } catch (error) {
      this.counts.failed += 1;
      this.dialling -= 1;
      redis.disconnect();
      // Who waits for a connection tries for one, too.
      this.waiting.shift()?.(this.dial());
      throw new ConnectionFailed('not opened', { cause: connection.failure ?? error });
    }
    this.dialling -= 1;
    this.counts.opened += 1;
    connection.isOpen = true;
    // What greets a new connection has the time of the connecting, not of a request.
    redis.options.commandTimeout = this.message.plan.timeouts.request_ms;
    this.open.push(connection);
    redis.once('end', () => this.ended(connection));
    if (!this.isExclusive) this.waiting.splice(0).forEach((next) => next(this.taken(connection)));
    return connection;
  }

  /** Returns once the connection is greeted, and rejects where that takes too long. */
  private async connected(redis: Redis): Promise<void> {
    const { connect_ms } = this.message.plan.timeouts;
    const { promise, resolve, reject } = withResolvers();
    const timer = setTimeout(() => {
      const late = new Error(`no answer to the connection within ${connect_ms} ms`);
      reject(Object.assign(late, { code: 'ETIMEDOUT' }));
    }, connect_ms);
    redis.connect().then(resolve, reject);
    await promise.finally(() => clearTimeout(timer));
  }

  private ended(connection: Connection): void {
    if (!connection.isOpen) return;
    connection.isOpen = false;
    remove(this.open, connection);
    remove(this.idle, connection);
    this.counts.lost += 1;
    this.waiting.shift()?.(this.dial());
  }
}

/** Promise.withResolvers, which Node has from 22 on. */
function withResolvers(): { promise: Promise<void>; resolve: () => void; reject: (reason: unknown) => void } {
  let resolve!: () => void;
  let reject!: (reason: unknown) => void;
  const promise = new Promise<void>((onResolve, onReject) => ([resolve, reject] = [onResolve, onReject]));
  return { promise, resolve, reject };
}

function remove<T>(items: T[], item: T): void {
  const at = items.indexOf(item);
  if (at >= 0) items.splice(at, 1);
}

/** The name that the server's certificate must have. (An address is not sent as the name of a server.) */
function named(name: string): ConnectionOptions {
  const checked: ConnectionOptions = {
    checkServerIdentity: (_, certificate) => checkServerIdentity(name, certificate),
  };
  return isIP(name) === 0 ? { ...checked, servername: name } : checked;
}

/** What ioredis is set to: nothing is sent again, and a connection that ended stays so. */
function redisOptions({ plan, options }: PlanMessage): Options {
  const endpoint = endpointOf(plan);
  const { tls } = endpoint;
  const place = endpoint.unix_path === null ? endpoint : undefined;
  return {
    ...(place ? { host: place.host, port: place.port, family: 0 } : { path: endpoint.unix_path! }),
    ...(endpoint.username === null ? {} : { username: endpoint.username }),
    ...(endpoint.password === null ? {} : { password: endpoint.password }),
    db: endpoint.database,
    protocol: plan.protocol === 'resp3' ? 3 : 2,
    replyMapping: 'legacy',
    connectionName: 'loadstone',
    connectTimeout: plan.timeouts.connect_ms,
    enableAutoPipelining: options.auto_pipelining === 'on',
    lazyConnect: true,
    // It would send INFO, which nobody counts.
    enableReadyCheck: false,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    ...(tls === null
      ? {}
      : {
          tls: {
            ...(tls.ca_file === null ? {} : { ca: readFileSync(tls.ca_file) }),
            ...(tls.cert_file === null ? {} : { cert: readFileSync(tls.cert_file) }),
            ...(tls.key_file === null ? {} : { key: readFileSync(tls.key_file) }),
            ...(tls.server_name === null ? {} : named(tls.server_name)),
            rejectUnauthorized: tls.verify,
          },
        }),
  };
}
