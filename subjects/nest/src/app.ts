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
