import { Inject, Injectable } from '@nestjs/common';
import type { OnApplicationShutdown } from '@nestjs/common';
import { Redis } from 'ioredis';

import { Metrics } from '../metrics/metrics.js';
import { SETTINGS } from '../settings.js';
import type { Settings } from '../settings.js';

const KEY = 'raffles';

/** The list of raffles as one JSON string, which expires by itself: nothing that is written removes it. */
@Injectable()
export class RaffleCache implements OnApplicationShutdown {
  private flight: Promise<string> | undefined;

  constructor(
    private readonly redis: Redis,
    private readonly metrics: Metrics,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async list(read: () => Promise<unknown>): Promise<string> {
    const cached = await this.redis.get(KEY);
    this.metrics.cacheGets.inc({ result: cached === null ? 'miss' : 'hit' });
    if (cached !== null) return cached;
    if (!this.settings.SINGLE_FLIGHT) return this.refresh(read);
    this.flight ??= this.refresh(read).finally(() => (this.flight = undefined));
    return this.flight;
  }

  onApplicationShutdown(): void {
    this.redis.disconnect();
  }

  private async refresh(read: () => Promise<unknown>): Promise<string> {
    const list = JSON.stringify(await read());
    await this.redis.set(KEY, list, 'EX', this.settings.CACHE_SECONDS);
    return list;
  }
}
