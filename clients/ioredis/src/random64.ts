/** Random numbers of 64 bits as docs/driver-contract.md of loadstone has them. Two halves of 32 bits: BigInt takes ten times as long. */

const GOLDEN = [0x9e3779b9, 0x7f4a7c15] as const;

/** An unsigned number of 64 bits that changes in place. */
export class Word {
  constructor(
    public hi = 0,
    public lo = 0,
  ) {}

  /** The lower 64 bits of a whole number. */
  static of(value: number | bigint): Word {
    if (typeof value === 'bigint') {
      return new Word(Number((value >> 32n) & 0xffffffffn), Number(value & 0xffffffffn));
    }
    return new Word(Math.floor(value / 2 ** 32) >>> 0, value >>> 0);
  }

  copy(): Word {
    return new Word(this.hi, this.lo);
  }

  add(hi: number, lo: number): this {
    const low = (this.lo >>> 0) + (lo >>> 0);
    this.hi = (this.hi + hi + (low > 0xffffffff ? 1 : 0)) >>> 0;
    this.lo = low >>> 0;
    return this;
  }

  xor(hi: number, lo: number): this {
    this.hi = (this.hi ^ hi) >>> 0;
    this.lo = (this.lo ^ lo) >>> 0;
    return this;
  }

  /** Exclusive or with itself, shifted to the right by 1 to 31 bits. */
  xorShifted(bits: number): this {
    return this.xor(this.hi >>> bits, (this.lo >>> bits) | (this.hi << (32 - bits)));
  }

  /** Shifted to the left by 1 to 31 bits. */
  shiftedLeft(bits: number): Word {
    return new Word(((this.hi << bits) | (this.lo >>> (32 - bits))) >>> 0, (this.lo << bits) >>> 0);
  }

  /** Turned to the left by 1 to 31 bits. */
  turned(bits: number): Word {
    const word = this.shiftedLeft(bits);
    word.lo = (word.lo | (this.hi >>> (32 - bits))) >>> 0;
    return word;
  }

  multiply(hi: number, lo: number): this {
    const [a0, a1] = [this.lo & 0xffff, this.lo >>> 16];
    const [b0, b1] = [lo & 0xffff, lo >>> 16];
    const low = a0 * b0;
    const middle = a0 * b1 + a1 * b0 + (low >>> 16);
    const carry = a1 * b1 + Math.floor(middle / 0x10000);
    this.hi = (carry + Math.imul(this.lo, hi) + Math.imul(this.hi, lo)) >>> 0;
    this.lo = ((middle << 16) | (low & 0xffff)) >>> 0;
    return this;
  }

  /** Scatters the bits: one step of SplitMix64. */
  mix(): this {
    this.add(GOLDEN[0], GOLDEN[1]);
    this.xorShifted(30).multiply(0xbf58476d, 0x1ce4e5b9);
    this.xorShifted(27).multiply(0x94d049bb, 0x133111eb);
    return this.xorShifted(31);
  }

  timesGolden(): this {
    return this.multiply(GOLDEN[0], GOLDEN[1]);
  }
}

/** The stream number `stream` of `seed`, by xoshiro256++. */
export class Xoshiro {
  private readonly a: Word;
  private readonly b: Word;
  private readonly c: Word;
  private d: Word;

  constructor(seed: Word, stream: Word) {
    const from = seed.copy().mix();
    const other = new Word(~stream.hi >>> 0, ~stream.lo >>> 0).mix();
    from.add(other.hi, other.lo);
    const next = (): Word => {
      const word = from.copy().mix();
      from.add(GOLDEN[0], GOLDEN[1]);
      return word;
    };
    this.a = next();
    this.b = next();
    this.c = next();
    this.d = next();
  }

  /** 64 random bits. */
  next(): Word {
    const { a, b, c, d } = this;
    const result = a.copy().add(d.hi, d.lo).turned(23).add(a.hi, a.lo);
    const shifted = b.shiftedLeft(17);
    c.xor(a.hi, a.lo);
    d.xor(b.hi, b.lo);
    b.xor(c.hi, c.lo);
    a.xor(d.hi, d.lo);
    c.xor(shifted.hi, shifted.lo);
    // 45 to the left is 32 and 13.
    this.d = new Word(d.lo, d.hi).turned(13);
    return result;
  }

  /** From 0 (included) to 1 (excluded), of 53 bits. */
  unit(): number {
    const { hi, lo } = this.next();
    return (hi * 2 ** 21 + (lo >>> 11)) / 2 ** 53;
  }

  /** A whole number from 0 to `bound` - 1. */
  below(bound: number): number {
    return Math.floor(this.unit() * bound);
  }

  /** An exponential variate with the mean 1. */
  exponential(): number {
    return -Math.log(1 - this.unit());
  }
}
