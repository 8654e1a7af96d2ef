import { z } from 'zod';

const port = z.coerce.number().int().min(1).max(65535);
const count = z.coerce.number().int().min(1);
const flag = z.enum(['true', 'false']).transform((text) => text === 'true');

/** So that keys are told from those of others on the same server: no other prefix is taken. */
const keyPrefix = z.string().regex(/^loadstone:[A-Za-z0-9_.-]+:[A-Za-z0-9_.:-]*$/, 'begin it with loadstone:NAME:');

/** Everything comes from the environment, under these names. */
const schema = z.object({
  HOST: z.string().default('127.0.0.1'),
  PORT: port,
  WORKER_PORTS: z
    .string()
    .default('')
    .transform((text) => text.split(',').filter(Boolean).map(Number))
    .pipe(z.array(z.int().min(1).max(65535))),
  NODE_APP_INSTANCE: z.coerce.number().int().min(0).default(0),
  MARIADB_HOST: z.string().min(1),
  MARIADB_PORT: port.default(3306),
  MARIADB_USER: z.string().min(1),
  MARIADB_PASSWORD: z.string().default(''),
  MARIADB_DATABASE: z.string().min(1),
  MARIADB_TLS: flag.default(false),
  MARIADB_CA_FILE: z.string().default(''),
  MARIADB_POOL: count.default(10),
  REDIS_HOST: z.string().min(1),
  REDIS_PORT: port.default(6379),
  REDIS_USER: z.string().default(''),
  REDIS_PASSWORD: z.string().default(''),
  REDIS_DATABASE: z.coerce.number().int().min(0).default(0),
  REDIS_TLS: flag.default(false),
  REDIS_CA_FILE: z.string().default(''),
  REDIS_TLS_NAME: z.string().default(''),
  REDIS_KEY_PREFIX: keyPrefix.default('loadstone:subject:'),
  REDIS_CONNECT_TIMEOUT_MS: count.default(5000),
  REDIS_COMMAND_TIMEOUT_MS: count.default(5000),
  REDIS_RETRIES: z.coerce.number().int().min(0).default(1),
  REDIS_AUTO_PIPELINING: flag.default(false),
  CACHE_SECONDS: count.default(10),
  SINGLE_FLIGHT: flag.default(false),
  KEEP_ALIVE_SECONDS: count.default(5),
  BACKLOG: count.default(511),
});

/** The variables that are read. */
export const NAMES: readonly string[] = Object.keys(schema.shape);

export type Settings = z.infer<typeof schema>;

/** The token by which the settings are injected. */
export const SETTINGS = Symbol('settings');

/** Throws one line that names each variable that is missing or wrong. */
export function readSettings(environment: NodeJS.ProcessEnv): Settings {
  const read = schema.safeParse(environment);
  if (read.success) return read.data;
  throw new Error(read.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; '));
}
