import { once } from 'node:events';
import type { Server } from 'node:http';

import { ConsoleLogger, StandardSchemaValidationPipe } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';

import { AppModule } from './app.module.js';
import type { Settings } from './settings.js';

/** The application, connected to MariaDB and Redis; it does not listen yet. */
export async function createApp(settings: Settings): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(AppModule.of(settings), {
    // What keeps it from starting is thrown, and written once by whoever starts it.
    logger: false,
    abortOnError: false,
  });
  app.useLogger(new ConsoleLogger({ logLevels: ['error', 'warn'] }));
  app.disable('x-powered-by');
  app.useGlobalPipes(new StandardSchemaValidationPipe());
  return app;
}

/**
 * Listens, and returns when it does. Who wants to connect while the queue is full is not answered, and tries again after
 * 1, 3 and 7 s.
 */
export async function listen(app: NestExpressApplication, settings: Settings): Promise<void> {
  await app.init();
  const server: Server = app.getHttpServer();
  server.keepAliveTimeout = 1000 * settings.KEEP_ALIVE_SECONDS;
  server.listen({ port: settings.PORT, host: settings.HOST, backlog: settings.BACKLOG });
  await once(server, 'listening');
}
