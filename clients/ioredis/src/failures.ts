/** What went wrong with an operation: the errors of ioredis as the kinds that docs/driver-contract.md of loadstone names. */

import { type Outcome, TIMED_OUT } from './recorder.js';

const OF_SERVER = new Set(
  (
    'err ask busy busygroup busykey clusterdown crossslot execabort loading masterdown misconf moved noauth noperm ' +
    'noproto noreplicas noscript oom readonly tryagain unblocked wrongpass wrongtype'
  ).split(' '),
);
const OF_SYSTEM: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection_refused',
  ECONNRESET: 'connection_reset',
  EPIPE: 'connection_reset',
  ETIMEDOUT: 'connect_timeout',
};

/** A connection could not be made, or was lost; `cause` is the first error of it, where there is one. */
export class ConnectionFailed extends Error {}

/** How an operation ended that this was thrown for. */
export function outcomeOf(error: Error): Outcome {
  if (error instanceof ConnectionFailed) return { error: kindOf(error.cause), replied: false };
  if (error.name === 'ReplyError') return { error: ofServer(error.message), replied: true };
  if (error.message === 'Command timed out') return TIMED_OUT;
  return { error: kindOf(error), replied: false };
}

/** What a connection was lost for, in one line: the server's own message where there is one. */
export function reason(error: unknown): string {
  const first = error instanceof ConnectionFailed && error.cause !== undefined ? error.cause : error;
  const message = first instanceof Error ? first.message : String(first);
  const { code } = first as NodeJS.ErrnoException;
  // The time of a connection that is accepted and not greeted ends as that of one that is not accepted.
  if (code === 'ETIMEDOUT') return 'no answer to the connection in time (ETIMEDOUT)';
  return code ?? message.replace(/\s+/g, ' ');
}

function ofServer(message: string): string {
  const code = message.split(' ', 1)[0]!;
  const isKnown = /^[A-Z]+$/.test(code) && OF_SERVER.has(code.toLowerCase());
  return isKnown ? `server_${code.toLowerCase()}` : 'server_other';
}

function kindOf(error: unknown): string {
  const { code, message = '' } = (error ?? {}) as NodeJS.ErrnoException;
  // So ends the message of what its decoder cannot read.
  if (message.endsWith('Please report this.')) return 'protocol';
  const isClosed = code === undefined && /clos|writeable/i.test(message);
  return OF_SYSTEM[code ?? ''] ?? (isClosed ? 'connection_closed' : 'connection_failed');
}
