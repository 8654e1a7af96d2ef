// Starts PM2 with the variables that the application, Node and the system read, and no others. PM2 obeys dozens more: by
// some it links itself to an account elsewhere, runs other code, or writes to other places.
import { createRequire } from 'node:module';

import { NAMES } from './dist/settings.js';

const OTHERS = [
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LANGUAGE', 'TZ', 'TMPDIR', 'LD_LIBRARY_PATH'],
  ...['SSL_CERT_FILE', 'SSL_CERT_DIR', 'NODE_EXTRA_CA_CERTS', 'NODE_OPTIONS', 'NODE_ENV', 'UV_THREADPOOL_SIZE'],
  ...['EXEC_MODE', 'INSTANCES', 'PM2_HOME'],
];
const read = new Set([...NAMES, ...OTHERS]);

for (const name of Object.keys(process.env)) {
  if (!read.has(name) && !name.startsWith('LC_')) delete process.env[name];
}
// It asks its makers every day whether there is a newer one.
process.env.PM2_DISABLE_VERSION_CHECK = 'true';
createRequire(import.meta.url)('pm2/bin/pm2-runtime');
