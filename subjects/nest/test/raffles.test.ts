import 'reflect-metadata';

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { after, before, beforeEach, mock, test } from 'node:test';

import type { NestExpressApplication } from '@nestjs/platform-express';
import { getRepositoryToken } from '@nestjs/typeorm';
import { Redis } from 'ioredis';
import { DataSource, type Repository } from 'typeorm';

import { createApp } from '../src/app.js';
import { Raffle } from '../src/raffle/raffle.entity.js';
import { readSettings, SETTINGS } from '../src/settings.js';
import type { Settings } from '../src/settings.js';

const KEY = 'raffles';

let app: NestExpressApplication;
let url: string;
let redis: Redis;
let database: DataSource;

interface Listed {
  id: number;
  title: string;
  product: { id: number; name: string };
  bids: { id: number; bidder: string; amount: number }[];
}

before(async () => {
  app = await createApp(readSettings(process.env));
  await app.listen(0, '127.0.0.1');
  url = await app.getUrl();
  redis = app.get(Redis);
  database = app.get(DataSource);
});

after(() => app.close());

beforeEach(async () => {
  await redis.del(KEY);
  for (const table of ['bid', 'raffle', 'product']) await database.query(`DELETE FROM ${table}`);
  for (let id = 1; id <= 12; id++) {
    await database.query('INSERT INTO product VALUES (?, ?, ?, ?)', [id, `product ${id}`, 'new', id]);
    await database.query('INSERT INTO raffle VALUES (?, ?, ?)', [id, id, `raffle ${id}`]);
  }
  await database.query(
    "INSERT INTO bid (raffle_id, bidder, amount) VALUES (12, 'ann', 1), (12, 'bob', 2), (3, 'ann', 3)",
  );
});

const list = async (): Promise<Listed[]> => (await fetch(`${url}/raffles`)).json() as Promise<Listed[]>;

const post = (path: string, body: unknown): Promise<Response> =>
  fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
};

const metric = async (line: string): Promise<number> => {
  const page = await (await fetch(`${url}/metrics`)).text();
  return Number(
    page
      .split('\n')
      .find((one) => one.startsWith(`${line} `))
      ?.split(' ')
      .at(-1) ?? NaN,
  );
};

test('the ten newest are listed, newest first, with product and bids', async () => {
  const raffles = await list();
  assert.deepEqual(
    raffles.map((raffle) => raffle.id),
    [12, 11, 10, 9, 8, 7, 6, 5, 4, 3],
  );
  assert.equal(raffles[0]?.product.name, 'product 12');
  assert.deepEqual(raffles[0]?.bids.map((bid) => bid.bidder).sort(), ['ann', 'bob']);
  assert.deepEqual(raffles[1]?.bids, []);
  assert.equal(raffles[9]?.bids.length, 1);
});

test('the list is JSON', async () => {
  const answer = await fetch(`${url}/raffles`);
  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
});

test('the list is one string in Redis, which expires', async () => {
  const raffles = await list();
  assert.equal(await redis.get(KEY), JSON.stringify(raffles));
  const left = await redis.pttl(KEY);
  assert.ok(left > 0 && left <= 10_000, String(left));
});

test('what is cached is answered, whatever the database holds', async () => {
  await list();
  await database.query('DELETE FROM raffle');
  assert.equal((await list()).length, 10);
  await redis.del(KEY);
  assert.deepEqual(await list(), []);
});

test('hits and misses are counted', async () => {
  const [hits, misses] = [
    await metric('cache_gets_total{result="hit"}'),
    await metric('cache_gets_total{result="miss"}'),
  ];
  await list();
  await list();
  await list();
  assert.equal(await metric('cache_gets_total{result="miss"}'), misses + 1);
  assert.equal(await metric('cache_gets_total{result="hit"}'), hits + 2);
});

for (const [flight, reads] of [
  [false, 20],
  [true, 1],
] as const) {
  test(`twenty requests that miss the cache together read the database ${String(reads)} times`, async () => {
    app.get<Settings>(SETTINGS).SINGLE_FLIGHT = flight;
    const missed = 'cache_gets_total{result="miss"}';
    const before = await metric(missed);
    let answer: (raffles: Raffle[]) => void = () => undefined;
    const answered = new Promise<Raffle[]>((resolve) => (answer = resolve));
    const find = mock.method(app.get<Repository<Raffle>>(getRepositoryToken(Raffle)), 'find', () => answered);
    const lists = Array.from({ length: 20 }, list);
    while ((await metric(missed)) < before + 20);
    answer([]);
    assert.deepEqual(await Promise.all(lists), Array(20).fill([]));
    assert.equal(find.mock.callCount(), reads);
    find.mock.restore();
    app.get<Settings>(SETTINGS).SINGLE_FLIGHT = false;
  });
}

test('after a read that failed the next one reads again', async () => {
  app.get<Settings>(SETTINGS).SINGLE_FLIGHT = true;
  const find = mock.method(app.get<Repository<Raffle>>(getRepositoryToken(Raffle)), 'find', () =>
    Promise.reject(new Error('gone')),
  );
  assert.equal((await fetch(`${url}/raffles`)).status, 500);
  find.mock.restore();
  assert.equal((await list()).length, 10);
  app.get<Settings>(SETTINGS).SINGLE_FLIGHT = false;
});

test('a bid is written, and the cache is let be', async () => {
  const cached = await list();
  const answer = await post('/raffles/11/bids', { bidder: 'cleo', amount: 9 });
  assert.equal(answer.status, 201);
  const bid = (await answer.json()) as Record<string, unknown>;
  assert.deepEqual(bid, { id: bid['id'], raffleId: 11, bidder: 'cleo', amount: 9 });
  const rows = await database.query('SELECT bidder, amount FROM bid WHERE raffle_id = 11');
  assert.deepEqual(rows, [{ bidder: 'cleo', amount: 9 }]);
  assert.deepEqual(await list(), cached);
});

test('a bid for no raffle is refused', async () => {
  assert.equal((await post('/raffles/99/bids', { bidder: 'cleo', amount: 9 })).status, 404);
});

for (const body of [
  {},
  { bidder: '', amount: 1 },
  { bidder: 'cleo', amount: 0 },
  { bidder: 'cleo', amount: 1.5 },
  { bidder: 'cleo', amount: '1' },
  { bidder: 'c'.repeat(51), amount: 1 },
  { bidder: 'cleo', amount: 1, id: 7 },
]) {
  test(`a bid of ${JSON.stringify(body)} is refused`, async () => {
    assert.equal((await post('/raffles/12/bids', body)).status, 400);
  });
}

test('a raffle that is no number is refused', async () => {
  assert.equal((await post('/raffles/abc/bids', { bidder: 'cleo', amount: 1 })).status, 400);
});

test('it is ready, and reports requests, event loop, heap and collections', async () => {
  assert.equal((await fetch(`${url}/health/ready`)).status, 200);
  assert.equal((await fetch(`${url}/health/live`)).status, 200);
  await list();
  assert.ok((await metric('http_requests_total{method="GET",route="/raffles",status="200"}')) >= 1);
  assert.ok((await metric('nodejs_heap_size_used_bytes')) > 1e6);
  assert.ok((await metric('nodejs_eventloop_lag_p99_seconds')) >= 0);
  assert.ok((await metric('process_cpu_seconds_total')) > 0);
  const busy = await metric('nodejs_eventloop_utilization');
  assert.ok(busy >= 0 && busy <= 1);
});

test('an event loop that was blocked for 100 ms says so, and an idle one is not late', async () => {
  await metric('nodejs_eventloop_lag_max_seconds');
  await new Promise((resolve) => setTimeout(resolve, 50));
  const until = performance.now() + 100;
  while (performance.now() < until);
  await new Promise((resolve) => setTimeout(resolve, 50));
  const late = await metric('nodejs_eventloop_lag_max_seconds');
  assert.ok(late >= 0.08, String(late));
});

for (const [name, said] of [
  ['REDIS_PORT', /^Redis 127\.0\.0\.1:1: .*ECONNREFUSED.*\n$/],
  ['MARIADB_PORT', /^connect ECONNREFUSED 127\.0\.0\.1:1\n$/],
] as const) {
  test(`what does not answer at ${name} ends it with one line`, async () => {
    const main = new URL('../src/main.js', import.meta.url).pathname;
    const started = spawn(process.execPath, [main], { env: { ...process.env, [name]: '1' } });
    let written = '';
    started.stderr.on('data', (text: Buffer) => (written += text.toString()));
    const [status] = (await once(started, 'close')) as [number];
    assert.equal(status, 1);
    assert.match(written, said);
  });
}

test('a thousand clients may connect while it is busy, and stay connected while they pause', async () => {
  const main = new URL('../src/main.js', import.meta.url).pathname;
  const port = await freePort();
  const env = { ...process.env, PORT: String(port), KEEP_ALIVE_SECONDS: '75', BACKLOG: '1024' };
  const started = spawn(process.execPath, [main], { env, stdio: 'ignore' });
  const own = `http://127.0.0.1:${String(port)}/health/live`;
  let sockets: Socket[] = [];
  try {
    while (!(await fetch(own).catch(() => undefined))?.ok);
    assert.equal((await fetch(own)).headers.get('keep-alive'), 'timeout=75');
    started.kill('SIGSTOP');
    sockets = Array.from({ length: 1000 }, () => connect({ port, host: '127.0.0.1' }));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  } finally {
    for (const socket of sockets) socket.destroy();
    started.kill('SIGKILL');
    await once(started, 'close');
  }
});

test('a variable that is wrong or missing is named', () => {
  assert.throws(() => readSettings({ ...process.env, CACHE_SECONDS: 'soon' }), /^Error: CACHE_SECONDS: /);
  assert.throws(() => readSettings({ ...process.env, REDIS_HOST: undefined }), /^Error: REDIS_HOST: /);
});
