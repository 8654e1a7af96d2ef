/** Whether a reply is correct: compared with the text that its key and version generate. */

import type { Expect, Plan } from './plan.js';
import { type Document, Texts, idOf, readFields } from './texts.js';

/** What must be there because nothing else was written since; undefined: any version that was begun. */
export type Strict = 'document' | 'field' | 'value' | undefined;

/** What a reply is compared with. */
export interface Expected {
  key: number;
  version: number;
  /** The key held a document for certain when the operation began. */
  known: boolean;
  /** The newest version of the key that was begun. */
  newest: () => number;
  strict: Strict;
}

/** The kind of an error; undefined if there is none. */
export type Verdict = string | undefined;

/** The rules of one plan. */
export class Judge {
  private readonly writesFields: boolean;

  constructor(
    private readonly verify: Plan['verify'],
    operations: readonly { writes: string }[],
    private readonly texts: Texts,
  ) {
    this.writesFields = operations.some(({ writes }) => writes === 'field');
  }

  /** Judges a reply that is no error of the server. */
  judge(expect: Expect, expected: Expected, reply: unknown): Verdict {
    if (!this.verify.replies) return undefined;
    const verdict = this.compare(expect, expected, reply);
    return this.verify.count_mismatch ? verdict : undefined;
  }

  private compare(expect: Expect, expected: Expected, reply: unknown): Verdict {
    switch (expect) {
      case 'any':
        return undefined;
      case 'ok':
        return typeof reply === 'string' ? unless(reply === 'OK') : 'wrong_type';
      case 'integer':
        return typeof reply === 'number' ? undefined : 'wrong_type';
      case 'positive':
        return typeof reply !== 'number' ? 'wrong_type' : reply >= 1 ? undefined : 'not_positive';
      case 'item':
        return reply === null ? 'nil_reply' : typeof reply === 'string' ? undefined : 'wrong_type';
      case 'value':
        return this.value(expected, reply);
      case 'hash':
        return this.hash(expected, reply);
      case 'document':
        return typeof reply === 'string' ? this.document(expected, reply) : absentOr('wrong_type', expected, reply);
      case 'field':
        return typeof reply === 'string' ? this.field(expected, reply) : absentOr('wrong_type', expected, reply);
      case 'field_array':
        return this.fieldArray(expected, reply);
    }
  }

  private value(expected: Expected, reply: unknown): Verdict {
    if (reply === null) return expected.strict === undefined ? undefined : 'missing';
    if (typeof reply !== 'string') return 'wrong_type';
    if (expected.strict === 'value') return unless(reply === this.texts.value(expected.key, expected.version));
    return unless(reply.length === this.texts.payloadBytes);
  }

  private document(expected: Expected, text: string): Verdict {
    const isArray = text.startsWith('[') && text.endsWith(']');
    const document = this.texts.readDocument(isArray ? text.slice(1, -1) : text);
    return document === undefined ? 'wrong_reply' : this.parts(expected, document);
  }

  private fieldArray(expected: Expected, reply: unknown): Verdict {
    if (typeof reply !== 'string') return absentOr('wrong_type', expected, reply);
    if (reply === '[]') return absentOr('wrong_type', expected, null);
    const isArray = reply.startsWith('["') && reply.endsWith('"]');
    return isArray ? this.field(expected, reply.slice(2, -2)) : 'wrong_reply';
  }

  private hash(expected: Expected, reply: unknown): Verdict {
    const fields = Array.isArray(reply) ? paired(reply) : reply;
    if (typeof fields !== 'object' || fields === null) return absentOr('wrong_type', expected, fields);
    if (Object.keys(fields).length === 0) return absentOr('wrong_type', expected, null);
    const document = readFields(fields);
    return document === undefined ? 'wrong_reply' : this.parts(expected, document);
  }

  /** Every comparison is made, whatever the others say: against the null server the work must be the same. */
  private parts(expected: Expected, document: Document): Verdict {
    const { key, version: due, strict } = expected;
    const version = /^\d+$/.test(document.version) ? Number(document.version) : 0;
    const isVersion = strict === 'document' ? version === due : version >= 1 && version <= expected.newest();
    const isKey = document.id === idOf(key);
    const isBody = document.body === this.texts.body(key, version);
    let isField = this.texts.isSomeField(document.field);
    if (strict !== undefined) isField = document.field === this.texts.field(key, due);
    else if (!this.writesFields) isField = document.field === this.texts.field(key, version);
    return unless(isKey && isVersion && isBody && isField);
  }

  private field({ key, version, strict }: Expected, text: string): Verdict {
    return unless(strict === undefined ? this.texts.isSomeField(text) : text === this.texts.field(key, version));
  }
}

function unless(correct: boolean): Verdict {
  return correct ? undefined : 'wrong_reply';
}

/** The key, or the field, is not there if the reply is null; else the reply has the error `otherwise`. */
function absentOr(otherwise: string, { known, strict }: Expected, reply: unknown): Verdict {
  if (reply !== null) return otherwise;
  return known || strict !== undefined ? 'missing' : undefined;
}

/** Field, value, field, value as an object; of an odd number nothing is left that could be a document. */
function paired(items: unknown[]): object {
  if (items.length % 2 !== 0) return { '': items };
  return Object.fromEntries(items.flatMap((item, at) => (at % 2 === 0 ? [[String(item), items[at + 1]]] : [])));
}
