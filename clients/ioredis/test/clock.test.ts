import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Alarm, Clock, clockQuantumNs } from '../src/clock.js';

test('an alarm wakes all that wait, and none too early', async () => {
  const clock = new Clock();
  clock.begin();
  const alarm = new Alarm(clock);
  const keptAlive = setInterval(() => undefined, 1000);
  const waits = [30, 5, 20, 5, 1, 10, 25].map(async (ms) => {
    await alarm.until(ms * 1e6);
    assert.ok(clock.now() >= ms * 1e6, `${clock.now()} ns is before ${ms} ms`);
    return ms;
  });
  assert.equal((await Promise.all(waits)).length, 7);
  clearInterval(keptAlive);
});

test('what is due already is done at once', () => {
  const clock = new Clock();
  clock.begin();
  let isWoken = false;
  new Alarm(clock).at(0, () => (isWoken = true));
  assert.ok(isWoken);
});

test('the clock has a step, and the time of day', () => {
  const clock = new Clock();
  clock.begin();
  assert.ok(clockQuantumNs() >= 1);
  assert.ok(Math.abs(clock.startedUnixNs / 1e6 - Date.now()) < 60_000);
});
