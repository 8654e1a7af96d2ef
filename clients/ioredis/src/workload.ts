/** What the operations of a plan are: drawn, filled, judged. All users share one. */

import { type Expected, Judge, type Strict, type Verdict } from './judge.js';
import { type Draw, keyPicker, otherKeys } from './keys.js';
import type { Operation, Plan } from './plan.js';
import { Word, Xoshiro } from './random64.js';
import { type Filling, Template } from './templates.js';
import { Texts } from './texts.js';

/** What is known of a key: its newest version that was begun, whether it holds a document, writes without a reply. */
interface Key {
  version: number;
  stored: boolean;
  writing: number;
}

/** An operation of the plan. */
interface Prepared {
  name: string;
  writes: Operation['writes'];
  templates: Template[];
  readBack: Template | undefined;
  strict: Strict;
  /** It is drawn by random numbers up to this one, beyond those of the operations before it. */
  threshold: number;
}

/** One operation on its way, and the command that it is at. */
export interface Request {
  operation: Prepared;
  template: Template;
  step: number;
  filling: Filling;
  expected: Expected;
  /** No other write of the key was in flight when it began. */
  alone: boolean;
}

/** Streams of random numbers of one seed, each for one purpose. */
export const STREAM = { operations: 0, keys: 1, arrivals: 2, users: 2 ** 32 };

export class Workload {
  readonly readBack = { checked: 0, wrong: 0, skipped: 0 };
  private readonly operations: Prepared[];
  private readonly random: Xoshiro;
  private readonly drawKey: Draw;
  private readonly judgement: Judge;
  private readonly keys = new Map<number, Key>();
  private readonly recent: { operation: Prepared; key: number; version: number }[] = [];
  private seq = 0;

  constructor(private readonly plan: Plan) {
    const { payload_bytes, field_bytes } = plan.documents;
    const texts = new Texts(plan.seed, payload_bytes, field_bytes);
    const total = plan.operations.reduce((sum, { weight }) => sum + weight, 0);
    let threshold = 0;
    this.operations = plan.operations.map((operation, at) => {
      threshold += operation.weight / total;
      return prepared(operation, at, plan.keys.prefix, texts, threshold);
    });
    this.random = new Xoshiro(Word.of(plan.seed), Word.of(STREAM.operations));
    this.drawKey = keyPicker(plan.keys, new Xoshiro(Word.of(plan.seed), Word.of(STREAM.keys)));
    this.judgement = new Judge(plan.verify, plan.operations, texts);
  }

  /** The next operation; undefined once every key of `exactly_once` was taken. */
  begin(): Request | undefined {
    const operation = this.drawOperation();
    const number = this.drawKey();
    if (number === undefined) return undefined;
    const key = this.key(number);
    const alone = key.writing === 0;
    if (operation.writes !== 'nothing') {
      key.version += 1;
      key.writing += 1;
    }
    return {
      operation,
      template: operation.templates[0]!,
      step: 0,
      filling: { key: number, version: key.version, seq: this.seq++, previous: '', ...this.others(operation, number) },
      expected: { key: number, version: key.version, known: key.stored, newest: () => key.version, strict: undefined },
      alone,
    };
  }

  judge(request: Request, reply: unknown): Verdict {
    return this.judgement.judge(request.template.expect, request.expected, reply);
  }

  /** To the operation's next command, after this correct reply; false if there is none. */
  goOn(request: Request, reply: unknown): boolean {
    const next = request.operation.templates[request.step + 1];
    if (next === undefined) return false;
    request.filling.previous = typeof reply === 'string' ? reply : '';
    request.step += 1;
    request.template = next;
    return true;
  }

  /** The operation ended with a reply. (A write that was never answered may still happen.) */
  answered({ operation, filling, alone }: Request, correct: boolean): void {
    if (operation.writes === 'nothing') return;
    const key = this.key(filling.key);
    key.writing -= 1;
    key.stored ||= correct && operation.writes === 'document';
    if (!correct || !alone || operation.readBack === undefined) return;
    this.recent.push({ operation, key: filling.key, version: filling.version });
    // Kept short now and then: to take the first away each time would move all others.
    const most = this.plan.verify.read_back_max;
    if (this.recent.length > 2 * most + 1000) this.recent.splice(0, this.recent.length - most);
  }

  /** The operation was never sent: its write will not happen. */
  abandon({ operation, filling }: Request): void {
    if (operation.writes !== 'nothing') this.key(filling.key).writing -= 1;
  }

  /** What is to be read back after the drain, the newest write of each key first. Counts what is skipped. */
  readBacks(): Request[] {
    const requests: Request[] = [];
    const taken = new Set<number>();
    const most = this.plan.verify.read_back_max;
    const recent = most > 0 ? this.recent.slice(-most).reverse() : [];
    for (const { operation, key, version } of recent) {
      if (taken.has(key)) continue;
      taken.add(key);
      if (this.key(key).version !== version) {
        this.readBack.skipped += 1;
        continue;
      }
      const expected = { key, version, known: true, newest: () => version, strict: operation.strict };
      const filling = { key, version, seq: this.seq++, previous: '' };
      requests.push({ operation, template: operation.readBack!, step: 0, filling, expected, alone: true });
    }
    return requests;
  }

  private others({ templates }: Prepared, key: number): { others?: number[] } {
    const named = templates.reduce((most, { others }) => Math.max(most, others), 0);
    return named > 0 ? { others: otherKeys(this.plan.keys, this.drawKey, key, named) } : {};
  }

  private drawOperation(): Prepared {
    const { operations } = this;
    if (operations.length === 1) return operations[0]!;
    const drawn = this.random.unit();
    return operations.find(({ threshold }) => drawn < threshold) ?? operations.at(-1)!;
  }

  private key(number: number): Key {
    let key = this.keys.get(number);
    if (key === undefined) {
      const { loaded } = this.plan.keys;
      key = { version: loaded ? 1 : 0, stored: loaded, writing: 0 };
      this.keys.set(number, key);
    }
    return key;
  }
}

function prepared(operation: Operation, at: number, prefix: string, texts: Texts, threshold: number): Prepared {
  const place = `operations[${at}]`;
  const templates = operation.commands.map(
    (command, step) => new Template(command, `${place}.commands[${step}]`, prefix, texts, at * 65536 + step + 1),
  );
  const readBack = operation.read_back
    ? new Template(operation.read_back, `${place}.read_back`, prefix, texts, at * 65536)
    : undefined;
  return { name: operation.name, writes: operation.writes, templates, readBack, strict: strict(operation), threshold };
}

/** How the read-back of an operation is judged. */
function strict({ writes, commands, read_back }: Operation): Strict {
  if (read_back === null || writes === 'nothing') return undefined;
  if (writes === 'field') return 'field';
  if (read_back.expect !== 'value') return 'document';
  const writesValue = commands.some(({ args }) => args.some((argument) => argument.includes('{value}')));
  return writesValue ? 'value' : undefined;
}
