/** The examples that all drivers share. */

import { readFileSync } from 'node:fs';
import type { Plan, PlanMessage } from '../src/plan.js';
import { readPlan } from '../src/plan.js';

const FOLDER = new URL('../../../../tests/examples/driver/', import.meta.url);

export function text(name: string): string {
  return readFileSync(new URL(`${name}.json`, FOLDER), 'utf8');
}

export function example(name: string): any {
  return JSON.parse(text(name));
}

/** The plan of an example, with other values for some of its fields. */
export function plan(changed: Record<string, object | number | boolean> = {}, options: object = {}): PlanMessage {
  const message = example('plan-closed');
  for (const [field, value] of Object.entries(changed)) {
    const isPart = typeof value === 'object' && value !== null && !Array.isArray(value);
    message.plan[field] = isPart ? { ...message.plan[field], ...value } : value;
  }
  message.options = { pool: 'shared', auto_pipelining: 'off', ...options };
  return readPlan(JSON.stringify(message));
}

export const PHASES: Plan['phases'] = {
  ramp_up_s: 0,
  warm_up_s: 0,
  measure_s: 10,
  measure_operations: null,
  measure_max_s: null,
  drain_s: 1,
};
