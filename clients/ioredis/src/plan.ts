/** The plan as this driver uses it: what loadstone sends, checked for what ioredis cannot do. */

/** The plan has something that this driver cannot carry out; names the field. */
export class PlanError extends Error {}

export interface Tls {
  ca_file: string | null;
  server_name: string | null;
  verify: boolean;
  cert_file: string | null;
  key_file: string | null;
}

export interface Endpoint {
  host: string;
  port: number;
  unix_path: string | null;
  tls: Tls | null;
  username: string | null;
  password: string | null;
  database: number;
  slots: [number, number][];
}

export interface Closed {
  kind: 'closed';
  users: number;
  think_time_ms: number;
  think_time: 'constant' | 'exponential';
  ramp_up: { initial_users: number; step_users: number; step_every_s: number } | null;
  operations_per_user: number | null;
}

export interface Open {
  kind: 'open';
  rate_per_s: number;
  schedule: { rate_per_s: number; duration_s: number }[];
  arrivals: 'constant' | 'poisson';
  backlog_max: number;
}

export interface Pool {
  connections: number;
  min_idle: number | null;
  max_idle: number | null;
  order: 'lifo' | 'fifo';
}

export interface Phases {
  ramp_up_s: number;
  warm_up_s: number;
  measure_s: number;
  measure_operations: number | null;
  measure_max_s: number | null;
  drain_s: number;
}

export type Expect =
  'any' | 'ok' | 'integer' | 'positive' | 'item' | 'value' | 'document' | 'hash' | 'field' | 'field_array';

export interface Command {
  args: string[];
  expect: Expect;
}

export interface Operation {
  name: string;
  weight: number;
  commands: Command[];
  writes: 'nothing' | 'document' | 'field';
  read_back: Command | null;
}

export interface Keys {
  prefix: string;
  count: number;
  distribution: 'sequential' | 'uniform' | 'zipf' | 'gaussian' | 'exactly_once';
  zipf_exponent: number;
  gaussian_sd: number;
  loaded: boolean;
}

export interface Plan {
  seed: bigint;
  protocol: string;
  pipeline_depth: number;
  interval_s: number;
  endpoints: Endpoint[];
  model: Closed | Open;
  pool: Pool;
  phases: Phases;
  operations: Operation[];
  keys: Keys;
  documents: { payload_bytes: number; field_bytes: number };
  verify: { replies: boolean; count_mismatch: boolean; read_back_max: number };
  timeouts: { connect_ms: number; request_ms: number; gone_s: number };
  acknowledged: boolean;
  start_at_unix_ns: number | null;
}

export interface PlanMessage {
  plan: Plan;
  options: { pool: 'shared' | 'exclusive'; auto_pipelining: 'on' | 'off' };
}

/** After these a connection is not the same for the next command: others must not use it in between. */
const OF_ONE_USER = new Set(['WATCH', 'UNWATCH', 'MULTI', 'EXEC', 'DISCARD', 'SUBSCRIBE', 'PSUBSCRIBE', 'MONITOR']);

/** The plan of a message; throws a PlanError where this driver cannot do what it has. */
export function readPlan(line: string): PlanMessage {
  const message = parsed(line);
  // A seed has up to 63 bits, of which a number of JavaScript would lose some. It is the first field of a plan.
  message.plan.seed = BigInt(/"seed":\s*(\d+)/.exec(line)?.[1] ?? message.plan.seed);
  const wrong = undrivable(message);
  if (wrong !== undefined) throw new PlanError(wrong);
  return message;
}

function parsed(line: string): PlanMessage {
  try {
    const message = JSON.parse(line) as PlanMessage;
    if (message.plan.endpoints.length > 0 && message.options !== undefined) return message;
  } catch {
    // What it is not is said below.
  }
  throw new PlanError('plan: the first line holds none');
}

export function endpointOf(plan: Plan): Endpoint {
  return plan.endpoints[0]!;
}

export function label({ unix_path, host, port }: Endpoint): string {
  return unix_path ?? `${host}:${port}`;
}

function undrivable({ plan, options }: PlanMessage): string | undefined {
  if (!['resp2', 'resp3'].includes(plan.protocol)) {
    return `protocol: ${plan.protocol}: ioredis speaks resp2 and resp3`;
  }
  if (plan.endpoints.length > 1) return `endpoints: ${plan.endpoints.length}: this driver takes one server`;
  if (endpointOf(plan).slots.length > 0) return 'endpoints[0].slots: this driver does not drive a cluster';
  if (plan.acknowledged) return 'acknowledged: this driver does not report it; set it to false';
  if (plan.start_at_unix_ns !== null) return 'start_at_unix_ns: this driver begins at once; leave it out';
  if (plan.pipeline_depth > 1 && plan.model.kind === 'open') {
    return 'pipeline_depth: with arrivals it must be 1: nothing waits to be sent together';
  }
  return plan.operations.map((operation, at) => undrivableOperation(operation, at, plan, options)).find(Boolean);
}

function undrivableOperation(
  { commands }: Operation,
  at: number,
  plan: Plan,
  options: PlanMessage['options'],
): string | undefined {
  const place = `operations[${at}].commands`;
  if (plan.pipeline_depth > 1 && commands.length > 1) {
    return `${place}: ${commands.length}: a pipeline takes 1; set pipeline_depth to 1`;
  }
  const own = commands.findIndex(({ args }) => OF_ONE_USER.has(args[0]!.toUpperCase()));
  if (own < 0) return undefined;
  const name = commands[own]!.args[0];
  if (options.pool === 'shared') {
    return `${place}[${own}]: ${name} needs a connection of its own; use the option pool=exclusive`;
  }
  return options.auto_pipelining === 'on'
    ? `${place}[${own}]: ${name} cannot be pipelined; use the option auto_pipelining=off`
    : undefined;
}
