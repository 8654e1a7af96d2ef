/** Latencies in nanoseconds with 3 significant digits, as HdrHistogram counts and encodes them. */

import { build, encodeIntoCompressedBase64 } from 'hdr-histogram-js';

const LONGEST_NS = 3_600_000_000_000;
/** Values below 2^11 have a count each; of longer ones the first 11 bits do. */
const EXACT = 2048;

/** How often each value was recorded: what goes to the thread that encodes it. */
export type ValueCounts = Map<number, number>;

/** Counts by value. Recording costs a look-up: HdrHistogram itself comes in where one is encoded. */
export class Histogram {
  readonly counts: ValueCounts = new Map();

  /** False if the value is too long to be recorded. */
  record(valueNs: number): boolean {
    if (valueNs > LONGEST_NS) return false;
    let unit = 1;
    // Of 2^32 and more the upper bits have a word of their own.
    if (valueNs >= EXACT) {
      const isLong = valueNs >= 2 ** 32;
      const bits = (isLong ? 64 - Math.clz32(valueNs / 2 ** 32) : 32 - Math.clz32(valueNs)) - 11;
      unit = 2 ** bits;
    }
    this.add(Math.floor(Math.max(valueNs, 0) / unit) * unit, 1);
    return true;
  }

  merge(other: Histogram): void {
    for (const [value, count] of other.counts) this.add(value, count);
  }

  private add(value: number, count: number): void {
    this.counts.set(value, (this.counts.get(value) ?? 0) + count);
  }
}

/** HdrHistogram's V2 encoding, compressed, in base64. */
export function encoded(counts: ValueCounts): string {
  const histogram = build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: LONGEST_NS,
    numberOfSignificantValueDigits: 3,
    bitBucketSize: 64,
    autoResize: false,
    useWebAssembly: false,
  });
  for (const [value, count] of counts) histogram.recordValueWithCount(value, count);
  return encodeIntoCompressedBase64(histogram);
}
