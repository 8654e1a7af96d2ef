import { readFileSync } from 'node:fs';

import { Module } from '@nestjs/common';
import type { DynamicModule } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';

import { RaffleCache } from './cache/raffle.cache.js';
import { redisProvider } from './cache/redis.provider.js';
import { HealthController } from './health/health.controller.js';
import { Metrics } from './metrics/metrics.js';
import { MetricsController } from './metrics/metrics.controller.js';
import { RequestCount } from './metrics/request-count.interceptor.js';
import { Bid } from './raffle/bid.entity.js';
import { Product } from './raffle/product.entity.js';
import { RaffleController } from './raffle/raffle.controller.js';
import { Raffle } from './raffle/raffle.entity.js';
import { RaffleService } from './raffle/raffle.service.js';
import { SETTINGS } from './settings.js';
import type { Settings } from './settings.js';

@Module({})
export class AppModule {
  static of(settings: Settings): DynamicModule {
    return {
      module: AppModule,
      imports: [
        TypeOrmModule.forRoot({
          type: 'mariadb',
          host: settings.MARIADB_HOST,
          port: settings.MARIADB_PORT,
          username: settings.MARIADB_USER,
          password: settings.MARIADB_PASSWORD,
          database: settings.MARIADB_DATABASE,
          ...(settings.MARIADB_TLS ? { ssl: { ...authority(settings.MARIADB_CA_FILE), verifyIdentity: true } } : {}),
          entities: [Raffle, Product, Bid],
          // One that is not there is reported at once, and not after half a minute of tries.
          retryAttempts: 0,
          extra: { connectionLimit: settings.MARIADB_POOL },
        }),
        TypeOrmModule.forFeature([Raffle, Product, Bid]),
      ],
      controllers: [RaffleController, HealthController, MetricsController],
      providers: [
        { provide: SETTINGS, useValue: settings },
        { provide: APP_INTERCEPTOR, useClass: RequestCount },
        redisProvider,
        Metrics,
        RaffleCache,
        RaffleService,
      ],
    };
  }
}

function authority(file: string): { ca?: string } {
  return file ? { ca: readFileSync(file, 'utf8') } : {};
}
