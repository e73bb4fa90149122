/** Wires the functions that also read external-worker runs. Apart from the other wiring, so that no other function bundles it. */
import { DynamoExternalLogs } from '../lib/aws/external-logs.ts';
import type { Decider } from '../lib/service/decider.ts';
import { deciderOf, depsOf } from './wiring.ts';

export const externalDeciderOf = (by: string): Decider =>
  deciderOf(by, depsOf({ makeExternalLogs: (table) => new DynamoExternalLogs(table) }));
