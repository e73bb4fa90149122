/** What a request is for, in the words of docs/BENCH.md: told by the prefixes of its keys. */
import type { WireItem } from './item-size.ts';

/** The first whose beginnings fit the keys is it. */
const parts: readonly { readonly part: string; readonly pk?: RegExp; readonly sk?: RegExp }[] = [
  { part: 'idempotency', pk: /#idempotency#/ },
  { part: 'audit', pk: /#audit#/ },
  { part: 'rate windows', pk: /^~rate#/ },
  { part: 'api keys', pk: /^~key#|#keys$/ },
  { part: 'sweep', pk: /^~sweep/ },
  // Read once by each process that needs one.
  { part: 'large settings', pk: /^~settings#/ },
  { part: 'deletions', pk: /^~deletions|#deletion#/ },
  { part: 'deaths of workers', pk: /^deaths#/ },
  { part: 'workflow', pk: /#workflow(s|#.*)$/ },
  { part: 'deployments', pk: /#deployment(s$|#)/ },
  { part: 'lenses', pk: /#lens(es$|#)/ },
  { part: 'queries', pk: /#quer(ies$|y#)/ },
  { part: 'schedules', pk: /#schedules$|^~schedules/ },
  { part: 'signals', pk: /#signal#/ },
  { part: 'places', pk: /#places#/ },
  { part: 'due', pk: /^due#/ },
  { part: 'head', pk: /#run#/, sk: /^head$/ },
  { part: 'commits', pk: /#run#/, sk: /^log#/ },
  { part: 'beats', pk: /#run#/, sk: /^beat#/ },
  { part: 'attachments', pk: /#run#/, sk: /^item#/ },
  { part: 'streams', pk: /#run#/, sk: /^stream#/ },
  { part: 'tickets', pk: /^~ticket#/ },
  { part: 'seats', pk: /^~seat#/ },
  { part: 'runs of openworkflow', pk: /^~openworkflow#/ },
  { part: 'snapshots', pk: /#run#/, sk: /^snapshot$/ },
];

/** @throws where the keys are of no known kind: a new one needs a name here */
export function partOf(pk: string, sk: string): string {
  const found = parts.find((one) => one.pk?.test(pk) !== false && one.sk?.test(sk) !== false);
  if (found === undefined) throw new Error(`the bill has no name for what lies under ${pk} / ${sk}`);
  return found.part;
}

export const textOf = (item: WireItem, name: string): string => {
  const value = item[name];
  return value !== undefined && 'S' in value ? value.S : '';
};
