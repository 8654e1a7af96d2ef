/** Which key an operation takes. */

import type { Keys } from './plan.js';
import type { Xoshiro } from './random64.js';

/** The number of the next key; undefined once every key of `exactly_once` was taken. */
export type Draw = () => number | undefined;

/** Draws keys as the plan distributes them. */
export function keyPicker(keys: Keys, random: Xoshiro): Draw {
  let next = 0;
  switch (keys.distribution) {
    case 'uniform':
      return () => random.below(keys.count);
    case 'sequential':
      return () => next++ % keys.count;
    case 'exactly_once':
      return () => (next < keys.count ? next++ : undefined);
    case 'zipf':
      return zipf(keys.count, keys.zipf_exponent, random);
    case 'gaussian':
      return () => gaussian(keys, random);
  }
}

/** Draws of a key that is there already, after which the next free one is taken. */
const TRIES = 16;

/**
 * So many other keys of one operation: each drawn as the first is, and different from all before it. Of keys that are
 * taken in order they are those that follow.
 */
export function otherKeys({ count, distribution }: Keys, draw: Draw, key: number, number: number): number[] {
  const taken = new Set([key]);
  while (taken.size <= number) {
    let other = (key + taken.size) % count;
    for (let tries = 0; distribution !== 'sequential' && tries < TRIES; tries++) {
      other = draw() ?? 0;
      if (!taken.has(other)) break;
    }
    while (taken.has(other)) other = (other + 1) % count;
    taken.add(other);
  }
  return [...taken].slice(1);
}

/** Around the middle of the key space, drawn again outside of it. */
function gaussian({ count, gaussian_sd }: Keys, random: Xoshiro): number {
  for (;;) {
    // A wide bell is flat inside the key space: there, uniform proposals are rejected less often.
    const isNarrow = gaussian_sd < 0.3;
    const place = isNarrow ? 0.5 + gaussian_sd * standardNormal(random) : random.unit();
    if (!isNarrow && random.unit() > Math.exp(-0.5 * ((place - 0.5) / gaussian_sd) ** 2)) continue;
    if (place >= 0 && place < 1) return Math.min(Math.floor(place * count), count - 1);
  }
}

/** By the polar method (Marsaglia & Bray 1964). */
function standardNormal(random: Xoshiro): number {
  for (;;) {
    const [x, y] = [2 * random.unit() - 1, 2 * random.unit() - 1];
    const square = x * x + y * y;
    if (square > 0 && square < 1) return x * Math.sqrt((-2 * Math.log(square)) / square);
  }
}

/**
 * Number k (from 0) with the weight (k + 1)^-exponent, by rejection-inversion: no table, for any number of keys.
 *
 * W. Hörmann & G. Derflinger, 'Rejection-inversion to generate variates from monotone discrete distributions', ACM
 * TOMACS 6 (1996) 169-184; H is the integral of h(x) = x^-exponent.
 */
function zipf(count: number, exponent: number, random: Xoshiro): () => number {
  const h = (x: number): number => Math.exp(-exponent * Math.log(x));
  const integral = (x: number): number => {
    const log = Math.log(x);
    return overItself(Math.expm1, (1 - exponent) * log) * log;
  };
  // Rounding may take the argument below -1, where the logarithm has no value.
  const inverse = (x: number): number => Math.exp(overItself(Math.log1p, Math.max(x * (1 - exponent), -1)) * x);
  const first = integral(1.5) - 1;
  const last = integral(count + 0.5);
  const squeeze = 2 - inverse(integral(2.5) - h(2));
  return () => {
    for (;;) {
      const u = last + random.unit() * (first - last);
      const x = inverse(u);
      const k = Math.min(Math.max(Math.floor(x + 0.5), 1), count);
      if (k - x <= squeeze || u >= integral(k + 0.5) - h(k)) return k - 1;
    }
  };
}

/** f(x) / x, also near 0. */
function overItself(f: (x: number) => number, x: number): number {
  return Math.abs(x) > 1e-8 ? f(x) / x : 1;
}
