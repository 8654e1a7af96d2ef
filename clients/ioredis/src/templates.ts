/** The arguments of a command: parsed once, filled for each operation. */

import { type Command, type Expect, PlanError } from './plan.js';
import { Word, Xoshiro } from './random64.js';
import { Texts, idOf, versionText } from './texts.js';

/** What the placeholders of one operation stand for. */
export interface Filling {
  key: number;
  version: number;
  seq: number;
  previous: string;
  /** The operation's other keys: `{key2}`, `{key3}`... */
  others?: number[];
}

type Fill = (filling: Filling) => string;

const TOKEN = /\{\{|\}\}|\{([^{}]*)\}|[{}]/g;

/** A command of the plan, ready to be filled. */
export class Template {
  readonly name: string;
  readonly expect: Expect;
  /** How many keys it names beside `{key}`. */
  others = 0;
  private readonly fills: Fill[];
  private salts = 0;

  /** `field` is the command's place in the plan; `salt` makes its random texts differ from another command's. */
  constructor(
    command: Command,
    field: string,
    private readonly prefix: string,
    private readonly texts: Texts,
    private readonly salt: number,
  ) {
    this.name = command.args[0]!.toUpperCase();
    this.expect = command.expect;
    this.fills = command.args.slice(1).map((argument, at) => this.parse(argument, `${field}.args[${at + 1}]`));
  }

  /** The arguments after the command's name. */
  fill(filling: Filling): string[] {
    return this.fills.map((fill) => fill(filling));
  }

  private parse(text: string, place: string): Fill {
    const pieces: (string | Fill)[] = [];
    let end = 0;
    for (const token of text.matchAll(TOKEN)) {
      pieces.push(text.slice(end, token.index));
      end = token.index + token[0].length;
      if (token[0] === '{{' || token[0] === '}}') pieces.push(token[0].slice(1));
      else if (token[1] === undefined) throw new PlanError(`${place}: \`${text}\`: a lone \`${token[0]}\``);
      else pieces.push(this.placeholder(token[1], text, place));
    }
    pieces.push(text.slice(end));
    return joined(pieces.filter((piece) => piece !== ''));
  }

  private placeholder(name: string, text: string, place: string): Fill {
    const { prefix, texts } = this;
    const named: Record<string, Fill> = {
      key: ({ key }) => prefix + idOf(key),
      document: ({ key, version }) => texts.document(key, version),
      id: ({ key }) => idOf(key),
      version: ({ version }) => versionText(version),
      field: ({ key, version }) => texts.field(key, version),
      body: ({ key, version }) => texts.body(key, version),
      field_json: ({ key, version }) => `"${texts.field(key, version)}"`,
      changed: ({ key, version, previous }) => texts.changed(previous, key, version),
      value: ({ key, version }) => texts.value(key, version),
      seq: ({ seq }) => String(seq),
    };
    const other = Number(/^key([1-9]\d{0,4})$/.exec(name)?.[1] ?? 0) - 2;
    if (other >= 0) {
      this.others = Math.max(this.others, other + 1);
      return ({ others }) => prefix + idOf(others![other]!);
    }
    const fill = (Object.hasOwn(named, name) ? named[name] : undefined) ?? this.random(name);
    if (fill === undefined) throw new PlanError(`${place}: \`${text}\`: unknown placeholder {${name}}`);
    return fill;
  }

  private random(name: string): Fill | undefined {
    const seed = new Word(this.salt, ++this.salts).mix().xor(this.texts.seed.hi, this.texts.seed.lo);
    const range = /^uniform (-?\d+)\.\.(-?\d+)$/.exec(name);
    if (range !== null && Number(range[1]) <= Number(range[2])) {
      const [low, span] = [Number(range[1]), Number(range[2]) - Number(range[1]) + 1];
      return ({ seq }) => String(low + new Xoshiro(seed, Word.of(seq)).below(span));
    }
    const letters = Number(/^random (\d+) lowercase$/.exec(name)?.[1] ?? 0);
    if (letters === 0) return undefined;
    return ({ seq }) => {
      const numbers = new Xoshiro(seed, Word.of(seq));
      return Array.from({ length: letters }, () => String.fromCharCode(97 + numbers.below(26))).join('');
    };
  }
}

/** One function for all pieces; most arguments have one. */
function joined(pieces: (string | Fill)[]): Fill {
  if (pieces.every((piece) => typeof piece === 'string')) {
    const literal = pieces.join('');
    return () => literal;
  }
  const [first] = pieces;
  if (pieces.length === 1 && typeof first === 'function') return first;
  return (filling) => pieces.map((piece) => (typeof piece === 'string' ? piece : piece(filling))).join('');
}
