import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';

import type { FactoryProvider } from '@nestjs/common';
import { Redis } from 'ioredis';

import { SETTINGS } from '../settings.js';
import type { Settings } from '../settings.js';

/** The one connection to Redis, up before the application is. */
export const redisProvider: FactoryProvider<Redis> = {
  provide: Redis,
  inject: [SETTINGS],
  useFactory: async (settings: Settings) => {
    const redis = new Redis({
      host: settings.REDIS_HOST,
      port: settings.REDIS_PORT,
      ...(settings.REDIS_USER ? { username: settings.REDIS_USER } : {}),
      ...(settings.REDIS_PASSWORD ? { password: settings.REDIS_PASSWORD } : {}),
      ...(settings.REDIS_TLS ? { tls: authority(settings) } : {}),
      db: settings.REDIS_DATABASE,
      keyPrefix: settings.REDIS_KEY_PREFIX,
      connectTimeout: settings.REDIS_CONNECT_TIMEOUT_MS,
      commandTimeout: settings.REDIS_COMMAND_TIMEOUT_MS,
      maxRetriesPerRequest: settings.REDIS_RETRIES,
      enableAutoPipelining: settings.REDIS_AUTO_PIPELINING,
      lazyConnect: true,
    });
    let reason = '';
    // Without a listener, each failure would be written with its stack.
    redis.on('error', (error: Error) => (reason = error.message));
    try {
      await redis.connect();
    } catch (error) {
      redis.disconnect();
      const said = reason || (error instanceof Error ? error.message : String(error));
      throw new Error(`Redis ${settings.REDIS_HOST}:${settings.REDIS_PORT}: ${said}`, { cause: error });
    }
    return redis;
  },
};

/** Verified whatever Node's own variables say: NODE_TLS_REJECT_UNAUTHORIZED=0 would have any server get the password. */
function authority(settings: Settings): ConnectionOptions {
  const ca = settings.REDIS_CA_FILE ? { ca: readFileSync(settings.REDIS_CA_FILE, 'utf8') } : {};
  const servername = settings.REDIS_TLS_NAME || settings.REDIS_HOST;
  return { servername, ...ca, rejectUnauthorized: true, minVersion: 'TLSv1.2' };
}
