import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keyPicker } from '../src/keys.js';
import type { Closed, Keys, Open } from '../src/plan.js';
import { Word, Xoshiro } from '../src/random64.js';
import { S, Timeline, arrivals, ns, thinkNs, userStartNs } from '../src/schedule.js';
import { PHASES } from './examples.js';

const OPEN: Open = { kind: 'open', rate_per_s: 1000, arrivals: 'constant', backlog_max: 10, schedule: [] };
const CLOSED: Closed = {
  kind: 'closed',
  users: 20,
  think_time_ms: 0,
  think_time: 'constant',
  operations_per_user: null,
  ramp_up: null,
};

function random(): Xoshiro {
  return new Xoshiro(Word.of(1), Word.of(0));
}

function until(endS: number, open: Open, phases = PHASES): number[] {
  const times: number[] = [];
  for (const time of arrivals(open, phases, random())) {
    if (time >= endS * S) break;
    times.push(time);
  }
  return times;
}

function between(low: number, value: number, high: number): void {
  assert.ok(low < value && value < high, `${value} is not between ${low} and ${high}`);
}

function counted<T>(items: T[]): Map<T, number> {
  const counts = new Map<T, number>();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return counts;
}

test('constant arrivals are evenly spaced', () => {
  assert.deepEqual(
    until(2, OPEN),
    Array.from({ length: 2000 }, (_, at) => at * 1e6),
  );
});

test('Poisson arrivals have their rate and variance', () => {
  const times = until(20, { ...OPEN, arrivals: 'poisson' });
  between(19_500, times.length, 20_500);
  const counts = [...counted(times.map((time) => Math.floor(time / ns(0.1)))).values()];
  const mean = times.length / counts.length;
  const variance = counts.reduce((sum, count) => sum + (count - mean) ** 2, 0) / counts.length;
  between(0.7, variance / mean, 1.4);
});

test('the rate rises over the ramp-up', () => {
  const times = until(2, OPEN, { ...PHASES, ramp_up_s: 2 });
  assert.equal(times.length, 1000);
  assert.equal(times.filter((time) => time < S).length, 250);
});

test('steps begin with the measure phase, and the last one lasts', () => {
  const schedule = [
    { rate_per_s: 500, duration_s: 1 },
    { rate_per_s: 2000, duration_s: 1 },
  ];
  const times = until(4, { ...OPEN, schedule }, { ...PHASES, warm_up_s: 1 });
  assert.deepEqual([...counted(times.map((time) => Math.floor(time / S))).values()], [1000, 500, 2000, 2000]);
});

test('users start over the ramp-up, or in steps', () => {
  const phases = { ...PHASES, ramp_up_s: 10 };
  const starts = (closed: Closed): number[] => [0, 10, 19].map((user) => userStartNs(closed, phases, user) / S);
  assert.deepEqual(starts(CLOSED), [0, 5, 9.5]);
  const ramp_up = { initial_users: 3, step_users: 2, step_every_s: 1 };
  assert.deepEqual(starts({ ...CLOSED, ramp_up }), [0, 4, 9]);
});

test('think times are constant, or have their mean', () => {
  const thinking: Closed = { ...CLOSED, think_time_ms: 2.5 };
  assert.equal(thinkNs(thinking, random()), 2_500_000);
  assert.equal(thinkNs(CLOSED, random()), 0);
  const numbers = random();
  const exponential: Closed = { ...thinking, think_time: 'exponential' };
  const times = Array.from({ length: 20_000 }, () => thinkNs(exponential, numbers));
  between(2_400_000, times.reduce((sum, time) => sum + time, 0) / times.length, 2_600_000);
});

test('an operation belongs to the phase of its intended time', () => {
  const timeline = new Timeline({ ...PHASES, ramp_up_s: 1, warm_up_s: 2 });
  const phases = [0, 0.9, 1, 2.9, 3, 12.9, 13].map((time) => timeline.phaseOf(ns(time)));
  assert.deepEqual(phases, ['ramp_up', 'ramp_up', 'warm_up', 'warm_up', 'measure', 'measure', 'drain']);
  timeline.enoughMeasured(ns(5));
  assert.equal(timeline.drainNs, ns(13), 'the shortest measure phase is over by then alone');
  timeline.endMeasure(ns(2));
  assert.deepEqual([timeline.phaseOf(ns(1.9)), timeline.phaseOf(ns(2))], ['warm_up', 'drain']);
});

function drawn(changed: Partial<Keys>, number: number): (number | undefined)[] {
  const keys = { prefix: '', count: 50, zipf_exponent: 0.99, gaussian_sd: 0.15, loaded: false, ...changed } as Keys;
  const draw = keyPicker(keys, random());
  return Array.from({ length: number }, draw);
}

test('keys are walked in order, around or once', () => {
  assert.deepEqual(drawn({ distribution: 'sequential', count: 3 }, 7), [0, 1, 2, 0, 1, 2, 0]);
  assert.deepEqual(drawn({ distribution: 'exactly_once', count: 3 }, 5), [0, 1, 2, undefined, undefined]);
});

test('zipf follows its power law', () => {
  for (const exponent of [0.3, 0.99, 1, 2.5]) {
    const weights = Array.from({ length: 50 }, (_, key) => (key + 1) ** -exponent);
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    const counts = counted(drawn({ distribution: 'zipf', zipf_exponent: exponent }, 50_000));
    const deviations = weights.map((weight, key) => {
      const expected = (weight / total) * 50_000;
      return ((counts.get(key) ?? 0) - expected) ** 2 / expected;
    });
    between(0.4, deviations.reduce((sum, deviation) => sum + deviation, 0) / 49, 1.8);
  }
});

test('gaussian is a bell around the middle, and uniform is flat', () => {
  for (const gaussian_sd of [0.1, 0.5]) {
    const counts = counted(drawn({ distribution: 'gaussian', gaussian_sd }, 50_000));
    assert.ok(counts.get(25)! > (counts.get(40) ?? 0) && (counts.get(40) ?? 0) > (counts.get(48) ?? 0));
    assert.ok([...counts.keys()].every((key) => key! >= 0 && key! < 50));
  }
  for (const count of counted(drawn({ distribution: 'uniform' }, 50_000)).values()) between(800, count, 1200);
});
