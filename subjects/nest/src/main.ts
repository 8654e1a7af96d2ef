import 'reflect-metadata';

import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';

import { createApp, listen } from './app.js';
import { readSettings } from './settings.js';

try {
  const settings = readSettings(process.env);
  const app = await createApp(settings);
  app.enableShutdownHooks();
  // PM2 is gone, and with it whoever could end this worker.
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));

  const ownPort = settings.WORKER_PORTS[settings.NODE_APP_INSTANCE];
  if (ownPort !== undefined) {
    // `exclusive`: not shared with the other workers of a cluster, so that this one can be asked for itself.
    const own = createServer(app.getHttpAdapter().getInstance() as RequestListener);
    own.on('error', (error) => fail(error));
    own.listen({ host: settings.HOST, port: ownPort, exclusive: true });
  }
  await listen(app, settings);
} catch (error) {
  fail(error);
}

function fail(error: unknown): void {
  console.error(error instanceof Error ? error.message : error);
  // What was written goes to PM2 by messages, which an exit at once would lose.
  setTimeout(() => process.exit(1), 100);
}
