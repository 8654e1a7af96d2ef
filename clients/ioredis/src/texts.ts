/** The generated texts: they follow from (seed, key, version) alone, so that nothing is stored to be verified. */

import { Word, Xoshiro } from './random64.js';

const PLACES = 2 ** 16;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const LETTERS = Buffer.from(Array.from({ length: 256 }, (_, byte) => ALPHABET.charCodeAt((byte * 62) >> 8)));
const LETTERS_ALONE = /^[A-Za-z0-9]*$/;
const CONSTANT: Readonly<Record<string, string>> = { type: 'document', author: 'loadstone', state: 'current' };
const PARTS = ['id', 'version', 'field', 'body'] as const;
const NAMES = new Set<string>([...PARTS, ...Object.keys(CONSTANT)]);

const BEFORE_ID = '{"id":"';
const BEFORE_VERSION = '","version":"';
const BEFORE_FIELD = '","type":"document","author":"loadstone","state":"current","field":"';
const BEFORE_BODY = '","body":"';
const AFTER_BODY = '"}';
const VERSION_AT = BEFORE_ID.length + 12 + BEFORE_VERSION.length;
const FIELD_AT = VERSION_AT + 10 + BEFORE_FIELD.length;

const enum Content {
  field,
  body,
  value,
}

/** The parts of a document, as they were read. */
export type Document = Readonly<Record<(typeof PARTS)[number], string>>;

export function idOf(key: number): string {
  return String(key).padStart(12, '0');
}

export function versionText(version: number): string {
  return String(version).padStart(10, '0');
}

/** Makes and reads the texts of one plan. */
export class Texts {
  readonly seed: Word;
  private readonly block: string;

  constructor(
    seed: bigint,
    readonly payloadBytes: number,
    readonly fieldBytes: number,
  ) {
    this.seed = Word.of(seed);
    const numbers = new Xoshiro(this.seed, new Word(0xffffffff, 0xffffffff));
    const letters = Buffer.alloc(Math.ceil((PLACES + payloadBytes) / 8) * 8);
    for (let at = 0; at < letters.length; at += 8) {
      const { hi, lo } = numbers.next();
      letters.writeUInt32LE(lo, at);
      letters.writeUInt32LE(hi, at + 4);
    }
    letters.forEach((byte, at) => (letters[at] = LETTERS[byte]!));
    this.block = letters.toString('latin1', 0, PLACES + payloadBytes);
  }

  field(key: number, version: number): string {
    return this.text(key, version, Content.field, this.fieldBytes);
  }

  body(key: number, version: number): string {
    return this.text(key, version, Content.body, this.payloadBytes - this.fieldBytes);
  }

  value(key: number, version: number): string {
    return this.text(key, version, Content.value, this.payloadBytes);
  }

  /** The JSON text of a document. */
  document(key: number, version: number): string {
    const head = BEFORE_ID + idOf(key) + BEFORE_VERSION + versionText(version) + BEFORE_FIELD;
    return head + this.field(key, version) + BEFORE_BODY + this.body(key, version) + AFTER_BODY;
  }

  /** `previous` with the field of `version`; the whole document of `version` if `previous` is none of ours. */
  changed(previous: string, key: number, version: number): string {
    if (this.laidOut(previous) === undefined) return this.document(key, version);
    return previous.slice(0, FIELD_AT) + this.field(key, version) + previous.slice(FIELD_AT + this.fieldBytes);
  }

  /** The parts of the JSON text of a document, in any order and with any spaces; undefined if it is none. */
  readDocument(text: string): Document | undefined {
    return this.laidOut(text) ?? readLoose(text);
  }

  /** Whether `text` could be the field of some version. */
  isSomeField(text: string): boolean {
    return text.length === this.fieldBytes && LETTERS_ALONE.test(text);
  }

  private text(key: number, version: number, content: Content, length: number): string {
    const word = Word.of(key).timesGolden().xor(this.seed.hi, this.seed.lo).mix();
    word.xor(version >>> 30, (version << 2) | content).mix();
    const place = word.lo % PLACES;
    return this.block.slice(place, place + length);
  }

  /** The parts of a text that is laid out as we write it. */
  private laidOut(text: string): Document | undefined {
    const bodyAt = FIELD_AT + this.fieldBytes + BEFORE_BODY.length;
    const end = bodyAt + this.payloadBytes - this.fieldBytes;
    if (
      text.length !== end + AFTER_BODY.length ||
      !text.startsWith(BEFORE_ID) ||
      !text.startsWith(BEFORE_VERSION, VERSION_AT - BEFORE_VERSION.length) ||
      !text.startsWith(BEFORE_FIELD, FIELD_AT - BEFORE_FIELD.length) ||
      !text.startsWith(BEFORE_BODY, bodyAt - BEFORE_BODY.length) ||
      !text.endsWith(AFTER_BODY)
    ) {
      return undefined;
    }
    return {
      id: text.slice(BEFORE_ID.length, BEFORE_ID.length + 12),
      version: text.slice(VERSION_AT, VERSION_AT + 10),
      field: text.slice(FIELD_AT, FIELD_AT + this.fieldBytes),
      body: text.slice(bodyAt, end),
    };
  }
}

function readLoose(text: string): Document | undefined {
  try {
    const read: unknown = JSON.parse(text);
    if (typeof read !== 'object' || read === null || Array.isArray(read)) return undefined;
    const hasConstants = Object.keys(CONSTANT).every((name) => name in read);
    return hasConstants ? readFields(read) : undefined;
  } catch {
    return undefined;
  }
}

/** The parts of a document kept as a hash, whose constant fields may be absent; undefined if it is none. */
export function readFields(read: object): Document | undefined {
  const fields = read as Record<string, unknown>;
  const names = Object.keys(fields);
  const isOurs = names.every((name) => NAMES.has(name) && fields[name] === (CONSTANT[name] ?? fields[name]));
  const isWhole = PARTS.every((name) => typeof fields[name] === 'string');
  return isOurs && isWhole ? (fields as Document) : undefined;
}
