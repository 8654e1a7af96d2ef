import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeFromCompressedBase64 } from 'hdr-histogram-js';
import { Histogram, encoded } from '../src/histogram.js';
import { PlanError } from '../src/plan.js';
import { CORRECT, type Interval, type Outcome, Recorder, TIMED_OUT } from '../src/recorder.js';
import { Timeline } from '../src/schedule.js';
import { plan } from './examples.js';

const MS = 1e6;

interface Lab {
  recorder: Recorder;
  timeline: Timeline;
  delivered: Interval[];
}

/** 10 ms of warm-up, measured until 30 ms, in intervals of 15 ms. */
function lab(phases: object = { warm_up_s: 0.01, measure_s: 0.02 }): Lab {
  const { plan: changed } = plan({ phases, interval_s: 0.015 });
  const timeline = new Timeline(changed.phases);
  const delivered: Interval[] = [];
  return { timeline, delivered, recorder: new Recorder(changed, timeline, (interval) => delivered.push(interval)) };
}

function operate({ recorder, timeline }: Lab, intendedMs: number, completedMs: number, outcome: Outcome): void {
  const [intendedNs, completedNs] = [intendedMs * MS, completedMs * MS];
  const member = timeline.phaseOf(intendedNs);
  recorder.offered('set', member, 0, intendedNs);
  recorder.sent('set', member, 0, intendedNs);
  recorder.ended('set', member, outcome, { intendedNs, sentNs: intendedNs, completedNs });
}

test('an operation counts by its intended time, and where it ends', () => {
  const all = lab();
  operate(all, 9, 11, CORRECT);
  operate(all, 12, 13, CORRECT);
  operate(all, 14, 16, { error: 'server_oom', replied: true });
  operate(all, 29, 31, CORRECT);
  all.recorder.finish(32 * MS);
  const measured = all.recorder.measured.get('set')!;
  const { offered, ok, errors } = measured.tally;
  assert.deepEqual({ offered, ok, errors }, { offered: 3, ok: 2, errors: { server_oom: 1 } });
  assert.deepEqual([measured.windowCompleted, measured.windowOk], [3, 2]);
  assert.deepEqual([measured.responseSumNs, measured.earlierNs], [5 * MS, MS]);
  assert.deepEqual(
    all.delivered.map(({ phase, startNs, endNs }) => [phase, startNs / MS, endNs / MS]),
    [
      ['warm_up', 0, 10],
      ['measure', 10, 25],
      ['measure', 25, 30],
      ['drain', 30, 32],
    ],
  );
  assert.deepEqual(
    all.delivered.map(({ operations }) => operations.get('set')?.tally.ok ?? 0),
    [0, 2, 0, 1],
  );
});

test('what did not end is in flight, and what was not sent is not', () => {
  const { recorder, ...all } = lab();
  operate({ recorder, ...all }, 12, 13, TIMED_OUT);
  for (let count = 0; count < 3; count += 1) recorder.offered('set', 'measure', 0, 14 * MS);
  recorder.sent('set', 'measure', 0, 15 * MS);
  recorder.dropped('set', 'measure', 15 * MS);
  recorder.finish(32 * MS);
  const expected = { offered: 4, sent: 2, ok: 0, errors: {}, timeouts: 1, dropped: 1, in_flight: 1, unsent: 1 };
  assert.deepEqual(recorder.total.counts(), expected);
  assert.deepEqual(recorder.measured.get('set')!.tally.counts(), expected);
  assert.equal(recorder.sent('set', 'measure', 0, 33 * MS), false, 'nothing is sent once the load is over');
  recorder.ended('set', 'measure', CORRECT, { intendedNs: 0, sentNs: 0, completedNs: 34 * MS });
  assert.deepEqual(recorder.total.counts(), expected);
});

test('enough operations end the measure phase', () => {
  const all = lab({ warm_up_s: 0, measure_s: 0.001, measure_operations: 2, measure_max_s: 60 });
  operate(all, 1, 2, CORRECT);
  assert.equal(all.timeline.drainNs, 60_000 * MS);
  operate(all, 3, 4, CORRECT);
  assert.equal(all.timeline.drainNs, 4 * MS);
});

test('histograms keep three digits', () => {
  for (const value of [0, 1, 999, 2047, 2048, 123_456, 3_000_000_000, 4_294_967_296, 3_600_000_000_000]) {
    const histogram = new Histogram();
    assert.ok(histogram.record(value));
    const decoded = decodeFromCompressedBase64(encoded(histogram.counts));
    assert.equal(decoded.totalCount, 1);
    assert.ok(Math.abs(decoded.maxValue - value) <= value / 1000, `${decoded.maxValue} for ${value}`);
  }
  assert.equal(new Histogram().record(3_600_000_000_001), false);
});

test('what cannot be driven is refused by its field', () => {
  const watch = { name: 'a', weight: 1, writes: 'nothing', commands: [{ args: ['WATCH', '{key}'], expect: 'ok' }] };
  const refused: [string, Record<string, object | number | boolean>][] = [
    ['protocol', { protocol: 'http1' as unknown as object }],
    ['acknowledged', { acknowledged: true }],
    ['start_at_unix_ns', { start_at_unix_ns: 5 }],
    ['pipeline_depth', { pipeline_depth: 2, model: { kind: 'open' } }],
    ['operations[0].commands[0]', { operations: [{ ...watch, read_back: null }] }],
  ];
  for (const [field, changed] of refused) {
    assert.throws(
      () => plan(changed),
      (error: Error) => error instanceof PlanError && error.message.startsWith(field),
    );
  }
  const operations = [{ ...watch, read_back: null }];
  assert.equal(plan({ operations }, { pool: 'exclusive' }).plan.operations.length, 1);
});
