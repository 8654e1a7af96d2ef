// How PM2 runs the application: `fork` is one process, `cluster` is INSTANCES workers that share PORT.
const mode = process.env.EXEC_MODE ?? 'fork';
const instances = Number(process.env.INSTANCES ?? 1);

if (mode !== 'fork' && mode !== 'cluster') throw new Error(`EXEC_MODE: '${mode}' is neither fork nor cluster`);
if (!(Number.isInteger(instances) && instances >= 1))
  throw new Error(`INSTANCES: '${process.env.INSTANCES}' is no number from 1 on`);
if (mode === 'fork' && instances > 1)
  throw new Error('INSTANCES: only EXEC_MODE=cluster lets several processes share a port');

module.exports = {
  apps: [
    {
      name: 'nest',
      script: 'dist/main.js',
      exec_mode: mode,
      instances,
      // One that ends is not replaced: the load would go on with a worker that is cold, and nobody would see it.
      autorestart: false,
      // The application has metrics of its own; those of PM2 would take their share of each request.
      pmx: false,
      // What it writes goes to the terminal alone.
      out_file: '/dev/null',
      error_file: '/dev/null',
    },
  ],
};
