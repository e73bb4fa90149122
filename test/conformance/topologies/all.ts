/** All topologies, grouped by the headings of docs/CONFORMANCE.md. */
import type { Topology } from '../topology.ts';
import { budgets } from './budgets.ts';
import { disabledNodes, startAndEnd } from './run-start-and-end.ts';
import { failures } from './failures.ts';
import { joins } from './joins.ts';
import { lenses } from './lenses.ts';
import { loops } from './loops.ts';
import { merges } from './merges.ts';
import { patterns } from './patterns.ts';
import { recovery } from './recovery.ts';
import { retries } from './retries.ts';
import { stress } from './stress.ts';
import { subflows } from './subflows.ts';
import { signals, time } from './time.ts';

export const families: Readonly<Record<string, readonly Topology[]>> = {
  'The stress test of the graph document': stress,
  'Control-flow patterns': patterns,
  Joins: joins,
  Failures: failures,
  Merges: merges,
  'Retries and time limits': retries,
  Budgets: budgets,
  'Start and end of a run': startAndEnd,
  'Disabled nodes': disabledNodes,
  'Delays, deadlines, wakes and cancels': time,
  Signals: signals,
  Loops: loops,
  Subflows: subflows,
  Lenses: lenses,
  Recovery: recovery,
};

export const allTopologies: readonly Topology[] = Object.values(families).flat();
