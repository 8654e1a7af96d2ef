/** Plans for tests, by one of the examples that all drivers share. */

import { readFileSync } from 'node:fs';
import type { PlanMessage } from '../src/plan.js';
import { readPlan } from '../src/plan.js';

const EXAMPLE = new URL('../../../../tests/examples/driver/plan-closed.json', import.meta.url);

/** The plan of an example, with other values for some of its fields. */
export function plan(changed: Record<string, object | number | boolean> = {}, options: object = {}): PlanMessage {
  const message = JSON.parse(readFileSync(EXAMPLE, 'utf8'));
  for (const [field, value] of Object.entries(changed)) {
    const isPart = typeof value === 'object' && value !== null && !Array.isArray(value);
    message.plan[field] = isPart ? { ...message.plan[field], ...value } : value;
  }
  message.options = { pool: 'shared', auto_pipelining: 'off', ...options };
  return readPlan(JSON.stringify(message));
}
