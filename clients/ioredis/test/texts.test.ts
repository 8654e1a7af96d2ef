import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outcomeOf } from '../src/failures.js';
import { Judge, type Strict } from '../src/judge.js';
import { keyPicker, otherKeys } from '../src/keys.js';
import { type Expect, PlanError } from '../src/plan.js';
import { Word, Xoshiro } from '../src/random64.js';
import { Template } from '../src/templates.js';
import { Texts } from '../src/texts.js';
import { example, text } from './examples.js';

const TEXTS = new Texts(5n, 20, 4);

test('the random numbers are those of the engine', () => {
  assert.equal(new Word().mix().toBigInt(), 0xe220a8397b1dcdafn);
  assert.equal(new Xoshiro(Word.of(1), Word.of(0)).next().toBigInt(), 0xc04ce0392dafc386n);
  const factor = 0xfedcba9876543210n;
  const product = Word.of(factor).multiply(0x9e3779b9, 0x7f4a7c15).toBigInt();
  assert.equal(product, BigInt.asUintN(64, factor * 0x9e3779b97f4a7c15n));
});

test('texts are those of the examples', () => {
  // A number of JavaScript does not hold all digits of a seed.
  const seeds = [...text('texts').matchAll(/"seed":\s*(\d+)/g)].map(([, digits]) => BigInt(digits!));
  let cases = 0;
  for (const [at, { payload_bytes, field_bytes, cases: all }] of example('texts').plans.entries()) {
    const texts = new Texts(seeds[at]!, payload_bytes, field_bytes);
    for (const { key, version, field, value, body, document_bytes, document } of all) {
      assert.equal(texts.field(key, version), field);
      assert.ok(texts.value(key, version).startsWith(value));
      assert.ok(texts.body(key, version).endsWith(body));
      assert.equal(texts.document(key, version).length, document_bytes);
      assert.equal(texts.document(key, version), document ?? texts.document(key, version));
      cases += 1;
    }
  }
  assert.ok(cases > 5);
});

interface Case {
  expect: Expect;
  known: boolean;
  strict: Strict | null;
  reply: Record<string, unknown>;
}

/** What the driver makes of a reply as ioredis returns it, or throws it. */
function verdict(judge: Judge, shared: Record<string, number>, { expect, known, strict, reply }: Case): string {
  const [[kind, value]] = Object.entries(reply) as [[string, unknown]];
  if (kind === 'error') {
    return outcomeOf(Object.assign(new Error(value as string), { name: 'ReplyError' })).error ?? 'ok';
  }
  const expected = {
    key: shared['key']!,
    version: shared['version']!,
    known,
    newest: () => shared['newest']!,
    strict: strict ?? undefined,
  };
  return judge.judge(expect, expected, kind === 'nil' ? null : value) ?? 'ok';
}

test('verdicts are those of the examples', () => {
  const shared = example('verdicts');
  const texts = new Texts(BigInt(shared.seed), shared.payload_bytes, shared.field_bytes);
  for (const given of shared.cases) {
    const operations = [{ writes: given.writes_fields ? 'field' : 'document' }];
    const judge = new Judge({ replies: true, count_mismatch: true, read_back_max: 0 }, operations, texts);
    assert.equal(verdict(judge, shared, given), given.verdict, JSON.stringify(given));
  }
});

function filled(args: string[], filling: object = {}): string[] {
  const template = new Template({ args: ['set', ...args], expect: 'any' }, 'operations[0]', 'app:', TEXTS, 1);
  return template.fill({ key: 7, version: 3, seq: 12, previous: '', ...filling });
}

test('placeholders are filled', () => {
  assert.deepEqual(filled(['{key}', '{id}/{version}', '{seq}', '{{x}}', 'größe']), [
    'app:000000000007',
    '000000000007/0000000003',
    '12',
    '{x}',
    'größe',
  ]);
  assert.deepEqual(filled(['{field_json}', '{value}', '{body}', '{document}']), [
    `"${TEXTS.field(7, 3)}"`,
    TEXTS.value(7, 3),
    TEXTS.body(7, 3),
    TEXTS.document(7, 3),
  ]);
});

test("random placeholders follow from the operation's number", () => {
  const numbers = Array.from({ length: 60 }, (_, seq) => filled(['{uniform 1..3}'], { seq })[0]);
  assert.deepEqual(new Set(numbers), new Set(['1', '2', '3']));
  const letters = filled(['{random 10 lowercase}'])[0]!;
  assert.match(letters, /^[a-z]{10}$/);
  assert.equal(filled(['{random 10 lowercase}'])[0], letters);
  assert.notEqual(filled(['{random 10 lowercase}'], { seq: 13 })[0], letters);
});

test('a changed document keeps all but its field', () => {
  const previous = TEXTS.document(7, 2);
  const changed = previous.replace(`"field":"${TEXTS.field(7, 2)}"`, `"field":"${TEXTS.field(7, 3)}"`);
  assert.equal(filled(['{changed}'], { previous })[0], changed);
  assert.equal(filled(['{changed}'])[0], TEXTS.document(7, 3));
});

test('what is no placeholder is refused by its place', () => {
  for (const argument of ['{colour}', '{', 'a}', '{uniform 5..4}', '{random 0 lowercase}', '{toString}']) {
    assert.throws(() => filled([argument]), { constructor: PlanError, message: /^operations\[0\]\.args\[1\]/ });
  }
});

test('other keys of an operation are named', () => {
  const template = new Template(
    { args: ['MGET', '{key3}/{key}/{key2}'], expect: 'any' },
    'operations[0]',
    'k:',
    TEXTS,
    1,
  );
  assert.equal(template.others, 2);
  const [filled] = template.fill({ key: 7, version: 1, seq: 0, previous: '', others: [3, 9] });
  assert.equal(filled, 'k:000000000009/k:000000000007/k:000000000003');
});

test('other keys differ from the first and from each other', () => {
  for (const distribution of ['uniform', 'zipf', 'gaussian', 'sequential'] as const) {
    const keys = { prefix: 'k:', count: 12, distribution, zipf_exponent: 0.99, gaussian_sd: 0.15, loaded: false };
    const draw = keyPicker(keys, new Xoshiro(Word.of(3), Word.of(0)));
    for (let key = 0; key < 12; key++) {
      assert.equal(new Set([key, ...otherKeys(keys, draw, key, 11)]).size, 12, distribution);
    }
  }
});
