/** The part of a bill that a request belongs to, by its key prefixes. docs/BENCH.md explains the parts. */
import { type ControlKind, type RunsKind, partitionOf } from '../lib/contract/record-kinds.ts';
import type { WireItem } from './item-size.ts';

/** The first entry that matches the keys applies. */
const parts: readonly { readonly part: string; readonly kinds: readonly (RunsKind | ControlKind)[]; readonly sk?: RegExp }[] = [
  { part: 'idempotency', kinds: ['idempotency'] },
  { part: 'audit', kinds: ['audit'] },
  { part: 'rate windows', kinds: ['rate'] },
  { part: 'api keys', kinds: ['key', 'keys'] },
  { part: 'sweep', kinds: ['sweep'] },
  // Each process reads a setting once.
  { part: 'large settings', kinds: ['setting'] },
  { part: 'deletions', kinds: ['deletions', 'deletion'] },
  { part: 'worker crashes', kinds: ['crashes', 'crashes-code'] },
  { part: 'workflow', kinds: ['workflow', 'workflows'] },
  { part: 'deployments', kinds: ['deployments', 'pin'] },
  { part: 'lenses', kinds: ['lens', 'lenses'] },
  { part: 'queries', kinds: ['query', 'queries'] },
  { part: 'schedules', kinds: ['schedules', 'schedule-sync'] },
  { part: 'signals', kinds: ['signal'] },
  { part: 'concurrency slots', kinds: ['slots'] },
  { part: 'due', kinds: ['due', 'due-code'] },
  { part: 'head', kinds: ['run', 'code', 'devkit'], sk: /^head$/ },
  { part: 'commits', kinds: ['run', 'code', 'devkit'], sk: /^log#/ },
  { part: 'heartbeats', kinds: ['run', 'code', 'devkit'], sk: /^heartbeat#/ },
  { part: 'attachments', kinds: ['run', 'code', 'devkit'], sk: /^item#/ },
  { part: 'streams', kinds: ['run', 'devkit'], sk: /^stream#/ },
  { part: 'names of the DevKit', kinds: ['devkit-name'] },
  { part: 'apps of the DevKit', kinds: ['devkit-app'] },
  { part: 'tickets', kinds: ['ticket'] },
  { part: 'sessions', kinds: ['session', 'session-link'] },
  { part: 'reader leases', kinds: ['reader-lease', 'streams'] },
  { part: 'runs of openworkflow', kinds: ['openworkflow'] },
  { part: 'snapshots', kinds: ['run', 'code', 'devkit'], sk: /^snapshot$/ },
];

/** @throws for an unknown record kind: add it to the list */
export function partOf(pk: string, sk: string): string {
  const found = parts.find(
    ({ kinds, sk: sort }) => kinds.some((kind) => pk.startsWith(partitionOf(kind))) && sort?.test(sk) !== false,
  );
  if (found === undefined)
    throw new Error(`no part of the bill matches the keys ${pk} / ${sk}: add the record kind to bench/parts.ts`);
  return found.part;
}

export const textOf = (item: WireItem, name: string): string => {
  const value = item[name];
  return value !== undefined && 'S' in value ? value.S : '';
};
